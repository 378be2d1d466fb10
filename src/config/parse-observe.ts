import { canonicalType } from '../model/dns-types.js';
import { IGNORED_HEADERS } from '../model/ignored-headers.js';
import { duration, InvalidValue, list, parsed, splitList } from './parse.js';

/** The types that are queried for every domain. */
const DNS_TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];

const dnsType = parsed(
  canonicalType,
  'write DNS types that can be queried, by mnemonic or number, such as SRV, HTTPS, TYPE65534',
);

/** Every DNS type to query: the usual ones, and those between commas. */
export function observedDnsTypes(value: string): string[] {
  return [...new Set([...DNS_TYPES, ...list(dnsType)(value)])];
}

/** A duration in microseconds; `off` or `0s`: none. */
export function gracePeriod(value: string): bigint {
  if (value === 'off' || value === '0s') return 0n;
  return BigInt(duration(undefined, '365d', '12h or 1d, or off')(value)) * 1000n;
}

/** RFC 9110, section 5.6.2. */
const FIELD_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/**
 * The header fields that are not recorded: those between commas; with `+` or `-` before each, the usual ones
 * with and without them; `none`: all are recorded; empty: the usual ones, which differ at every request.
 */
export function ignoredHeaders(value: string): ReadonlySet<string> {
  const ignored = new Set(IGNORED_HEADERS.keys());
  if (value === 'none') return new Set();
  const parts = splitList(value.toLowerCase());
  if (parts.length === 0) return ignored;
  const signed = parts.filter((part) => /^[+-]/.test(part));
  const names = parts.map((part) => part.replace(/^[+-]/, ''));
  if (!names.every((name) => FIELD_NAME.test(name)) || ![0, parts.length].includes(signed.length)) {
    throw new InvalidValue('write header names between commas, each with + or - to change the list, or none');
  }
  if (signed.length === 0) return new Set(names);
  for (const part of signed) {
    if (part.startsWith('+')) ignored.add(part.slice(1));
    else ignored.delete(part.slice(1));
  }
  return ignored;
}
