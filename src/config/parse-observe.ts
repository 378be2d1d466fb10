import { isIP, isIPv6 } from 'node:net';
import { canonicalType } from '../model/dns-types.js';
import { durationOf } from '../model/duration.js';
import { IGNORED_HEADERS } from '../model/ignored-headers.js';
import { parseSourceName } from '../model/text.js';
import { badSetting, splitList } from './parse.js';

const DNS_PORT = 53;

/**
 * Resolvers between commas: addresses, with a port where it is not 53. None: an empty list.
 *
 * @throws UsageError for anything else.
 */
export function parseDnsServers(name: string, value: string): { address: string; port: number }[] {
  return splitList(value).map((part) => parseDnsServer(name, value, part));
}

function parseDnsServer(name: string, value: string, part: string): { address: string; port: number } {
  const bare = part.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return { address: bare, port: DNS_PORT };
  const [, bracketed, plain, digits] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(part) ?? [];
  const address = bracketed ?? plain ?? '';
  const port = Number(digits);
  const valid = bracketed === undefined ? isIP(address) === 4 : isIPv6(address);
  if (valid && port >= 1 && port <= 65_535) return { address, port };
  throw badSetting(
    name,
    value,
    `${part} is no address of a resolver; write addresses between commas, such as 192.0.2.53, 192.0.2.54:5353, [2001:db8::53]:53`,
  );
}

/** What every domain is asked for. */
const DNS_TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];

/**
 * Every DNS type to ask for: those that every domain is asked for, and further ones between commas.
 *
 * @throws UsageError for a type that cannot be asked for.
 */
export function parseFurtherDnsTypes(name: string, value: string): string[] {
  const further = splitList(value).map((part) => canonicalType(part) ?? unknownType(name, value, part));
  return [...new Set([...DNS_TYPES, ...further])];
}

function unknownType(name: string, value: string, part: string): never {
  const advice = 'write mnemonics or numbers, such as SRV, HTTPS, TYPE65534';
  throw badSetting(name, value, `${part} is no DNS type that can be asked for; ${advice}`);
}

const LONGEST_TIMEOUT = 60_000_000n;

/** A time limit as a duration, in milliseconds. @throws UsageError for none, and for more than a minute. */
export function parseTimeout(name: string, value: string): number {
  const duration = durationOf(value);
  if (duration !== undefined && duration <= LONGEST_TIMEOUT) return Number(duration / 1000n);
  throw badSetting(name, value, 'write a time up to a minute, such as 500ms or 10s');
}

const SHORTEST_LEASE = 5_000_000n;
const LONGEST_LEASE = 3_600_000_000n;

/** A lease as a duration, in milliseconds. @throws UsageError for less than 5 seconds or more than an hour. */
export function parseLease(name: string, value: string): number {
  const duration = durationOf(value);
  if (duration !== undefined && duration >= SHORTEST_LEASE && duration <= LONGEST_LEASE) {
    return Number(duration / 1000n);
  }
  throw badSetting(name, value, 'write a time from 5s to 1h, such as 2m');
}

const LONGEST_GRACE = 365n * 86_400_000_000n;

/** A time as a duration, in microseconds; `off` or `0s`: none. @throws UsageError for more than a year. */
export function parseGrace(name: string, value: string): bigint {
  if (value === 'off' || value === '0s') return 0n;
  const duration = durationOf(value);
  if (duration !== undefined && duration <= LONGEST_GRACE) return duration;
  throw badSetting(name, value, 'write a time up to 365d, such as 12h or 1d, or off');
}

/** RFC 9110, section 5.6.2. */
const FIELD_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/**
 * The header fields that are not recorded: those named between commas; `none`: all are recorded; empty:
 * those that differ at every request.
 *
 * @throws UsageError for what is no field name.
 */
export function parseIgnoredHeaders(name: string, value: string): ReadonlySet<string> {
  if (value === '') return new Set(IGNORED_HEADERS.keys());
  if (value === 'none') return new Set();
  const names = splitList(value).map((part) => part.toLowerCase());
  const invalid = names.find((part) => !FIELD_NAME.test(part));
  if (invalid === undefined) return new Set(names);
  throw badSetting(name, value, `${invalid} is no name of a header; write names between commas, or none`);
}

/** RFC 9110, section 5.5, in ASCII. @throws UsageError for a text that cannot be sent in a header. */
export function parseFieldValue(name: string, value: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/.test(value)) return value;
  throw badSetting(name, value, 'write up to 256 printable characters of ASCII');
}

/** Who observes. @throws UsageError for anything but 1 to 64 printable characters. */
export function parseSource(name: string, value: string): string {
  try {
    return parseSourceName(value);
  } catch {
    throw badSetting(name, value, 'write 1 to 64 printable characters');
  }
}
