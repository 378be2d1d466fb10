import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { UsageError } from '../model/errors.js';
import { badSetting } from './parse.js';
import type { IdentityProviderSettings } from './settings.js';

/** The three settings of an identity provider, as they are written; undefined where one is not. */
export interface IdentityProviderTexts {
  readonly AUTH_JWKS_URL: string | undefined;
  readonly AUTH_ISSUER: string | undefined;
  readonly AUTH_AUDIENCE: string | undefined;
}

/**
 * An identity provider, or none where none of its settings is written.
 *
 * @throws UsageError where one of them is bad, or missing beside the others.
 */
export function parseIdentityProvider(texts: IdentityProviderTexts): IdentityProviderSettings | undefined {
  const { AUTH_JWKS_URL: jwksUrl, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = texts;
  if (jwksUrl !== undefined && issuer !== undefined && audience !== undefined) {
    return {
      jwksUrl: parseKeysUrl('AUTH_JWKS_URL', jwksUrl),
      issuer: parseClaim('AUTH_ISSUER', issuer),
      audience: parseClaim('AUTH_AUDIENCE', audience),
    };
  }
  const missing = Object.entries(texts).filter(([, text]) => text === undefined);
  if (missing.length === 3) return undefined;
  const names = missing.map(([name]) => name).join(' and ');
  throw new UsageError(
    `${names} ${missing.length === 1 ? 'is' : 'are'} not set: AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong together, set all three or none.`,
  );
}

/** Keys that come over plain HTTP could be anybody's. */
function parseKeysUrl(name: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url !== undefined && safe && url.username === '' && url.password === '') return url;
  throw badSetting(
    name,
    url === undefined ? value : `${url.protocol}//${url.host}${url.pathname}`,
    'write an https address without user and password, such as https://id.example.com/jwks.json (http is for this machine only)',
  );
}

function isLoopback(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (isIP(address) !== 0 && ipaddr.process(address).range() === 'loopback');
}

function parseClaim(name: string, value: string): string {
  if (/^[\x21-\x7e]{1,1000}$/.test(value)) return value;
  throw badSetting(name, value, 'write it as the tokens hold it: printable characters without blanks');
}

/** @throws UsageError, which never shows the value, for anything but the address of a Redis. */
export function parseRedisUrl(name: string, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const known = url?.protocol === 'redis:' || url?.protocol === 'rediss:';
  const isAddress = known && url?.hostname !== '' && /^\/?\d{0,4}$/.test(url?.pathname ?? '');
  if (isAddress && isDecodable(url?.username) && isDecodable(url?.password)) return value;
  throw new UsageError(
    `${name} is not a valid Redis URL (it is not shown, since it may hold a password): ` +
      'write redis://user:password@host:6379, with special characters in the password percent-encoded, or ' +
      'rediss://… for TLS, or leave it unset to count in each process.',
  );
}

function isDecodable(text = ''): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
