import { attempt } from '../model/attempt.js';
import { canonicalType } from '../model/dns-types.js';
import { IGNORED_HEADERS } from '../model/ignored-headers.js';
import { durationOf } from '../model/requested-time.js';
import { parseSourceName } from '../model/text.js';

/** @throws InvalidValue */
export type Parse<Value> = (value: string) => Value;

/** The message is the advice: what to write instead, such as `write a whole number from 0 to 65535`. */
export class InvalidValue extends Error {
  /** Whether no message may show the value, which may contain a password. */
  readonly isSecret: boolean;

  constructor(advice: string, isSecret = false) {
    super(advice);
    this.isSecret = isSecret;
  }
}

export const IS_SECRET = true;

export function parsed<Value>(
  read: (value: string) => Value | undefined,
  advice: string,
  isSecret = false,
): Parse<Value> {
  return (value) => {
    const result = read(value);
    if (result === undefined) throw new InvalidValue(advice, isSecret);
    return result;
  };
}

export function matching(pattern: RegExp, advice: string): Parse<string> {
  return parsed((value) => (pattern.test(value) ? value : undefined), advice);
}

/** Undefined for other texts. Once it is optimized, URL.canParse() of Node.js 20 rejects what is not ASCII. */
export function parseUrl(value: string): URL | undefined {
  return attempt(() => new URL(value));
}

export function optional<Value>(parse: Parse<Value>): Parse<Value | undefined> {
  return (value) => (value === '' ? undefined : parse(value));
}

export function list<Value>(parse: Parse<Value>): Parse<Value[]> {
  return (value) => splitList(value).map(parse);
}

/** The parts of a list between commas or blanks. */
export function splitList(value: string): string[] {
  return value.split(/[\s,]+/).filter(Boolean);
}

export function integer(least: number, most: number): Parse<number> {
  return parsed((value) => {
    const number = Number(value);
    return /^\d+$/.test(value) && number >= least && number <= most ? number : undefined;
  }, `write a whole number from ${least} to ${most}`);
}

const BYTES_OF_UNIT: Readonly<Record<string, number>> = { '': 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** In bytes, of a size such as `512`, `16kB`, `4MB` or `1GB`. */
export function size(least: number, most: number): Parse<number> {
  return parsed((value) => {
    const [, digits, unit = ''] = /^(\d{1,15}) ?((?:[kmg]b)?)$/i.exec(value) ?? [];
    const bytes = Number(digits) * (BYTES_OF_UNIT[unit.toLowerCase()] ?? Number.NaN);
    return bytes >= least && bytes <= most ? bytes : undefined;
  }, `write a size from ${least} to ${most} bytes, such as 65536, 64kB or 4MB`);
}

/** In milliseconds. Bounds and example are durations as users write them. */
export function duration(least: string | undefined, most: string, example: string): Parse<number> {
  const range = least === undefined ? `up to ${most}` : `from ${least} to ${most}`;
  const lowest = durationOf(least ?? '') ?? 0n;
  const highest = durationOf(most) ?? 0n;
  return parsed((value) => {
    const microseconds = durationOf(value) ?? -1n;
    return microseconds >= lowest && microseconds <= highest ? Number(microseconds / 1000n) : undefined;
  }, `write a time ${range}, such as ${example}`);
}

export function durationOrOff(least: string, most: string, example: string): Parse<number | undefined> {
  const parse = duration(least, most, `${example}, or off`);
  return (value) => (value === 'off' ? undefined : parse(value));
}

/** In microseconds. */
export function gracePeriod(value: string): bigint {
  if (value === 'off' || value === '0s') return 0n;
  return BigInt(duration(undefined, '365d', '12h or 1d, or off')(value)) * 1000n;
}

export function choice<Choice extends string>(...choices: readonly Choice[]): Parse<Choice> {
  return parsed((value) => choices.find((candidate) => candidate === value), `write ${choices.join(' or ')}`);
}

export function onOff(value: string): boolean {
  return choice('on', 'off')(value) === 'on';
}

/** The value of a header field in ASCII (RFC 9110, section 5.5). */
export const printableAscii = matching(
  /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/,
  'write up to 256 printable characters of ASCII',
);

export const sourceName = parsed(
  (value) => attempt(() => parseSourceName(value)),
  'write 1 to 64 printable characters',
);

/** Queried for every domain. */
const DNS_TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];

const dnsTypes = list(
  parsed(
    canonicalType,
    'write DNS types that can be queried, by mnemonic or number, such as SRV, HTTPS, TYPE65534',
  ),
);

export function observedDnsTypes(value: string): string[] {
  return [...new Set([...DNS_TYPES, ...dnsTypes(value)])];
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
  const signs = new Set(parts.map((part) => /^[+-]/.test(part)));
  const names = parts.map((part) => part.replace(/^[+-]/, ''));
  if (!names.every((name) => FIELD_NAME.test(name)) || signs.size > 1) {
    throw new InvalidValue('write header names between commas, each with + or - to change the list, or none');
  }
  if (signs.has(false)) return new Set(names);
  for (const [place, name] of names.entries()) {
    if (parts[place]?.startsWith('+')) ignored.add(name);
    else ignored.delete(name);
  }
  return ignored;
}
