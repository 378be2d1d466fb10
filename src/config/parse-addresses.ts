import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { attempt } from '../model/attempt.js';
import { UsageError } from '../model/errors.js';
import { hostOfUrl, isLoopback } from '../model/ip-address.js';
import { invalidSecret, invalidSetting, type Parse, parsed, parseUrl, splitList } from './parse.js';

const PATH_SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/;

/** The prefix of all paths, as '' or `/a/b`, of segments that need no escapes: slashes at its ends do not matter. */
export const basePath = parsed((value) => {
  const path = value.replace(/^\/|\/$/g, '');
  if (path === '') return '';
  return path.split('/').every((part) => PATH_SEGMENT.test(part)) ? `/${path}` : undefined;
}, 'write a path of letters, digits, ".", "_", "~" and "-", such as /dms');

/** The URL of a PostgreSQL database. The error does not show it. */
export const databaseUrl = postgresUrl(
  'a valid PostgreSQL URL',
  'write postgresql://user:password@host:5432/name, or leave it unset for the embedded database',
);

/** The URL of a replica in a list. The error does not show it. */
export const replicaUrl = postgresUrl(
  'a list of valid PostgreSQL URLs',
  'write postgresql://user:password@host:5432/name for each replica, with special characters in the password percent-encoded, and a comma between two',
);

/** What libpq takes for several hosts, of which a client is to find the primary: the driver here would take it for one name. */
const SEVERAL_HOSTS = /^[^/]*\/\/(?:[^/?#]*@)?[^/?#@]*,[^/?#@]*(?:[/?#]|$)|[?&]host=[^&#]*(?:,|%2C)/i;

function postgresUrl(what: string, advice: string): Parse<string> {
  return (name, value) => {
    if (SEVERAL_HOSTS.test(value)) {
      throw invalidSecret(
        name,
        'the URL of one PostgreSQL server',
        'write one host that leads to the primary, also after a fail-over: a virtual address, or a proxy such as HAProxy',
      );
    }
    if (/^postgres(?:ql)?:$/.test(parseUrl(value)?.protocol ?? '')) return value;
    throw invalidSecret(name, what, advice);
  };
}

/** The URL of a Redis. The error does not show it. */
export function redisUrl(name: string, value: string): string {
  const url = parseUrl(value);
  const hasScheme = url?.protocol === 'redis:' || url?.protocol === 'rediss:';
  const isValid = hasScheme && url.hostname !== '' && /^\/?\d{0,4}$/.test(url.pathname);
  if (isValid && attempt(() => decodeURIComponent(`${url.username} ${url.password}`)) !== undefined)
    return value;
  throw invalidSecret(
    name,
    'a valid Redis URL',
    'write redis://user:password@host:6379, with special characters in the password percent-encoded, or ' +
      'rediss://… for TLS, or leave it unset to count in each process',
  );
}

/** A mail server as nodemailer takes it, and the address to send from. The error does not show it. */
export function smtpUrl(name: string, value: string) {
  const url = parseUrl(value);
  const secure = url?.protocol === 'smtps:';
  const [user, pass] = [url?.username ?? '', url?.password ?? ''].map((text) =>
    attempt(() => decodeURIComponent(text)),
  );
  const from = url?.searchParams.get('from') ?? user ?? '';
  const hasScheme = secure || url?.protocol === 'smtp:';
  if (
    hasScheme &&
    url.hostname !== '' &&
    user !== undefined &&
    pass !== undefined &&
    /^[^\s@]+@[^\s@]+$/.test(from)
  ) {
    const host = hostOfUrl(url);
    return {
      ...{ from, host, port: Number(url.port) || (secure ? 465 : 587), secure },
      ...(user !== '' && { auth: { user, pass } }),
      // A password does not leave this machine in the clear.
      requireTLS: user !== '' && !secure && !isLoopback(host),
    };
  }
  throw invalidSecret(
    name,
    'the URL of a mail server with the address to send from',
    'write smtp://user:password@host:587?from=dms@example.com, with special characters in the password percent-encoded, or smtps://… for TLS from the beginning',
  );
}

/** Where an identity provider has its keys. Without TLS they could be from anyone. */
export function jwksUrl(name: string, value: string): URL {
  const url = parseUrl(value);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(hostOfUrl(url)));
  if (url !== undefined && isSafe && url.username === '' && url.password === '') return url;
  throw invalidSetting(
    name,
    url === undefined ? value : `${url.protocol}//${url.host}${url.pathname}`,
    'write an https address without user and password, such as https://id.example.com/jwks.json (http is for this machine only)',
  );
}

/**
 * Replicas; undefined where none is set.
 *
 * @param mostBehind In milliseconds.
 * @throws UsageError without a primary.
 */
export function readReplicas(databaseUrl: string | undefined, urls: readonly string[], mostBehind: number) {
  if (urls.length === 0) return undefined;
  if (databaseUrl !== undefined) return { databaseUrl, urls, mostBehind };
  throw new UsageError(
    'DATABASE_READ_URLS is set, and DATABASE_URL is not: set it to the primary of these replicas.',
  );
}

export const tokenClaim = parsed(
  (value) => (/^[\x21-\x7e]{1,1000}$/.test(value) ? value : undefined),
  'write it as in the tokens: printable characters without blanks',
);

/** An identity provider; undefined where none of its settings is set. @throws UsageError where only some are. */
export function identityProvider(
  jwksUrl: URL | undefined,
  issuer: string | undefined,
  audience: string | undefined,
) {
  if (jwksUrl !== undefined && issuer !== undefined && audience !== undefined) {
    return { jwksUrl, issuer, audience };
  }
  const parts = { AUTH_JWKS_URL: jwksUrl, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience };
  const missing = Object.entries(parts).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length === 3) return undefined;
  throw new UsageError(
    `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not set: AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong together, set all three or none.`,
  );
}

/** `*` for all origins, or a list of origins as browsers send them (RFC 6454, section 6.2). */
export function corsOrigins(name: string, value: string): '*' | readonly string[] {
  const parts = splitList(value);
  if (parts.length === 1 && parts[0] === '*') return '*';
  for (const part of parts) {
    const advice = adviceOnOrigin(part);
    if (advice !== null) throw invalidSetting(name, value, advice);
  }
  return [...new Set(parts)];
}

function adviceOnOrigin(part: string): string | null {
  if (part.includes('*')) {
    return `${part} is not a single origin; list each one, or write * alone for all`;
  }
  const origin = parseUrl(part)?.origin ?? 'null';
  if (origin === 'null') {
    return `${part} is not an origin; write origins between commas, such as https://app.example, http://localhost:3000, or * alone`;
  }
  return origin === part ? null : `write ${origin} instead of ${part}`;
}

/** A resolver in a list: an address, with a port where it is not 53. */
export function dnsServer(name: string, part: string, value: string): { address: string; port: number } {
  const bare = part.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return { address: bare, port: 53 };
  const [, bracketed, plain, digits] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(part) ?? [];
  const address = bracketed ?? plain ?? '';
  const port = Number(digits);
  const isValid = bracketed === undefined ? isIP(address) === 4 : isIPv6(address);
  if (isValid && port >= 1 && port <= 65_535) return { address, port };
  throw invalidSetting(
    name,
    value,
    `${part} is not the address of a resolver; write addresses between commas, such as 192.0.2.53, 192.0.2.54:5353, [2001:db8::53]:53`,
  );
}

const NAMED_SUBNETS = ['loopback', 'linklocal', 'uniquelocal'];

/** A number of hops, or addresses, subnets and Express' names of subnets between commas. */
export const trustProxy = parsed<number | readonly string[]>((value) => {
  if (/^\d{1,3}$/.test(value)) return Number(value);
  const parts = splitList(value).map((part) => (NAMED_SUBNETS.includes(part) ? part : canonicalSubnet(part)));
  const known = parts.filter((part) => part !== undefined);
  return known.length > 0 && known.length === parts.length ? known : undefined;
}, 'write the number of proxies before this server, such as 1, or their addresses, such as 10.0.0.0/8, 192.0.2.1, loopback, linklocal or uniquelocal');

/** Undefined for any other text. Express does not parse every form of an address. */
function canonicalSubnet(text: string): string | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || !ipaddr.isValid(address) || rest.length > 0) return undefined;
  const canonical = ipaddr.parse(address).toString();
  if (length === undefined) return canonical;
  // Length 0 is every address: then a client could name any address as its own.
  const isValid = /^[1-9]\d{0,2}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
  return isValid ? `${canonical}/${length}` : undefined;
}
