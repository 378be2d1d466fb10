import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { attempt } from '../model/attempt.js';
import { hostOfUrl, isLoopback } from '../model/ip-address.js';
import { InvalidValue, IS_SECRET, matching, parsed, parseUrl, splitList } from './parse.js';

const PATH_SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/;

/** The prefix of all paths, as '' or `/a/b`, of segments that need no escapes. */
export const basePath = parsed((value) => {
  const path = value.replace(/^\/|\/$/g, '');
  if (path === '') return '';
  return path.split('/').every((part) => PATH_SEGMENT.test(part)) ? `/${path}` : undefined;
}, 'write a path of letters, digits, ".", "_", "~" and "-", such as /dms');

/** libpq takes several hosts, and finds the primary among them: the driver would take them for one name. */
const SEVERAL_HOSTS = /^[^/]*\/\/(?:[^/?#]*@)?[^/?#@]*,[^/?#@]*(?:[/?#]|$)|[?&]host=[^&#]*(?:,|%2C)/i;

export const postgresUrl = parsed(
  (value) => {
    const hasScheme = /^postgres(?:ql)?:$/.test(parseUrl(value)?.protocol ?? '');
    return hasScheme && !SEVERAL_HOSTS.test(value) ? value : undefined;
  },
  'write postgresql://user:password@host:5432/name, with special characters in the password percent-encoded, and one ' +
    'host that leads to the primary, also after a fail-over: a virtual address, or a proxy such as HAProxy',
  IS_SECRET,
);

function credentialsIn(url: URL) {
  return attempt(() => ({ user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }));
}

export const redisUrl = parsed(
  (value) => {
    const url = parseUrl(value);
    if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '') return undefined;
    return /^\/?\d{0,4}$/.test(url.pathname) && credentialsIn(url) ? value : undefined;
  },
  'write redis://user:password@host:6379, with special characters in the password percent-encoded, or rediss://… for ' +
    'TLS, or leave it unset to count in each process',
  IS_SECRET,
);

/** A mail server as nodemailer takes it, and the address to send from. */
export const smtpUrl = parsed(
  (value) => {
    const url = parseUrl(value);
    if (url === undefined || !/^smtps?:$/.test(url.protocol) || url.hostname === '') return undefined;
    const auth = credentialsIn(url);
    const from = url.searchParams.get('from') ?? auth?.user ?? '';
    if (auth === undefined || !/^[^\s@]+@[^\s@]+$/.test(from)) return undefined;
    const host = hostOfUrl(url);
    const secure = url.protocol === 'smtps:';
    const port = Number(url.port) || (secure ? 465 : 587);
    // A password does not leave this machine in the clear.
    const requireTLS = auth.user !== '' && !secure && !isLoopback(host);
    return { from, host, port, secure, requireTLS, ...(auth.user !== '' && { auth }) };
  },
  'write smtp://user:password@host:587?from=dms@example.com, with special characters in the password percent-encoded, ' +
    'or smtps://… for TLS from the beginning',
  IS_SECRET,
);

/** Where an identity provider has its keys. Without TLS they could be from anyone. */
export const jwksUrl = parsed(
  (value) => {
    const url = parseUrl(value);
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(hostOfUrl(url)));
    return isSafe && url.username === '' && url.password === '' ? url : undefined;
  },
  'write an https address without user and password, such as https://id.example.com/jwks.json (http is for this ' +
    'machine only)',
  IS_SECRET,
);

export const tokenClaim = matching(
  /^[\x21-\x7e]{1,1000}$/,
  'write it as in the tokens: printable characters without blanks',
);

/** `*` for all origins, or a list of origins as browsers send them (RFC 6454, section 6.2). */
export function corsOrigins(value: string): '*' | readonly string[] {
  if (value === '*') return '*';
  const parts = splitList(value);
  const invalid = parts.find((part) => part.includes('*') || parseUrl(part)?.origin !== part);
  if (invalid === undefined) return [...new Set(parts)];
  throw new InvalidValue(
    `${invalid} is not an origin; write origins as browsers send them, between commas, such as ` +
      'https://app.example, http://localhost:3000, or * alone for all',
  );
}

export const dnsServer = parsed((value) => {
  const bare = value.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return { address: bare, port: 53 };
  const [, bracketed, plain, digits] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(value) ?? [];
  const address = bracketed ?? plain ?? '';
  const port = Number(digits);
  const isValid = bracketed === undefined ? isIP(address) === 4 : isIPv6(address);
  return isValid && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}, 'write addresses of resolvers between commas, such as 192.0.2.53, 192.0.2.54:5353, [2001:db8::53]:53');

const NAMED_SUBNETS = ['loopback', 'linklocal', 'uniquelocal'];

/** A number of hops, or addresses, subnets and Express' names of subnets between commas. */
export const trustProxy = parsed<number | readonly string[]>((value) => {
  if (/^\d{1,3}$/.test(value)) return Number(value);
  const parts = splitList(value);
  const known = parts.flatMap((part) =>
    NAMED_SUBNETS.includes(part) ? part : (canonicalSubnet(part) ?? []),
  );
  return known.length > 0 && known.length === parts.length ? known : undefined;
}, 'write the number of proxies before this server, such as 1, or their addresses, such as 10.0.0.0/8, 192.0.2.1, ' +
  'loopback, linklocal or uniquelocal');

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
