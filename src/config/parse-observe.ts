import { canonicalType } from '../model/dns-types.js';
import { durationOf } from '../model/duration.js';
import { IGNORED_HEADERS } from '../model/ignored-headers.js';
import { invalidSetting, parsed, splitList } from './parse.js';

/** The types that are queried for every domain. */
const DNS_TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];

/** Every DNS type to query: the usual ones, and those between commas. */
export function observedDnsTypes(name: string, value: string): string[] {
  const further = splitList(value).map((part) => {
    const type = canonicalType(part);
    if (type !== undefined) return type;
    const advice = 'write mnemonics or numbers, such as SRV, HTTPS, TYPE65534';
    throw invalidSetting(name, value, `${part} is not a DNS type that can be queried; ${advice}`);
  });
  return [...new Set([...DNS_TYPES, ...further])];
}

const MAX_GRACE = 365n * 86_400_000_000n;

/** A duration in microseconds; `off` or `0s`: none. */
export const gracePeriod = parsed((value) => {
  const microseconds = value === 'off' || value === '0s' ? 0n : durationOf(value);
  return microseconds !== undefined && microseconds <= MAX_GRACE ? microseconds : undefined;
}, 'write a time up to 365d, such as 12h or 1d, or off');

/** RFC 9110, section 5.6.2. */
const FIELD_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/**
 * The header fields that are not recorded: those between commas; with `+` or `-` before each, the usual ones with and without them;
 * `none`: all are recorded; empty: the usual ones, which differ at every request.
 */
export function ignoredHeaders(name: string, value: string): ReadonlySet<string> {
  if (value === '') return new Set(IGNORED_HEADERS.keys());
  if (value === 'none') return new Set();
  const parts = splitList(value).map((part) => part.toLowerCase());
  const isSigned = parts.every((part) => /^[+-]/.test(part));
  const names = isSigned ? parts.map((part) => part.slice(1)) : parts;
  const invalid = names.find((part) => !FIELD_NAME.test(part));
  if (invalid !== undefined) {
    throw invalidSetting(name, value, `${invalid} is not a header name; write names between commas, or none`);
  }
  if (!isSigned && parts.some((part) => /^[+-]/.test(part))) {
    throw invalidSetting(name, value, 'write + or - before each name, to change the list, or before none');
  }
  if (!isSigned) return new Set(names);
  const ignored = new Set(IGNORED_HEADERS.keys());
  for (const [at, field] of names.entries()) {
    if (parts[at]?.startsWith('+')) ignored.add(field);
    else ignored.delete(field);
  }
  return ignored;
}
