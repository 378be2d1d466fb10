import { SCOPES, type Scope } from '../auth/viewer.js';
import { attempt } from '../model/attempt.js';
import { durationOf } from '../model/duration.js';
import { UsageError } from '../model/errors.js';
import { parseSourceName } from '../model/text.js';

/** Parses the value of a setting. @throws UsageError, as invalidSetting() makes it. */
export type Parse<Value> = (name: string, value: string) => Value;

/** The error for a setting's value. @param advice What to write instead, such as `write a port from 0 to 65535`. */
export function invalidSetting(name: string, value: string, advice: string): UsageError {
  return new UsageError(`${name} is ${JSON.stringify(value)}: ${advice}.`);
}

/** The error for a setting whose value no message may show. @param what What it is not, such as `a valid Redis URL`. */
export function invalidSecret(name: string, what: string, advice: string, secret = 'password'): UsageError {
  return new UsageError(
    `${name} is not ${what} (it is not shown, since it may contain a ${secret}): ${advice}.`,
  );
}

/** What `read` makes of a value. @param read Returns undefined for an invalid one. @param advice What to write instead. */
export function parsed<Value>(read: (value: string) => Value | undefined, advice: string): Parse<Value> {
  return (name, value) => {
    const result = read(value);
    if (result !== undefined) return result;
    throw invalidSetting(name, value, advice);
  };
}

/** A URL; undefined for any other text. Once it is optimized, URL.canParse() of Node.js 20 rejects what is not ASCII. */
export function parseUrl(value: string): URL | undefined {
  return attempt(() => new URL(value));
}

export function text(_name: string, value: string): string {
  return value;
}

/** Undefined for a setting that is not set. */
export function optional<Value>(parse: Parse<Value>): Parse<Value | undefined> {
  return (name, value) => (value === '' ? undefined : parse(name, value));
}

/** Undefined for `off`. */
export function unlessOff<Value>(parse: Parse<Value>): Parse<Value | undefined> {
  return (name, value) => (value === 'off' ? undefined : parse(name, value));
}

/**
 * The parts of a list between commas or blanks.
 *
 * @param parse Parses one part; its third argument is the whole list, for the message.
 */
export function list<Value>(parse: (name: string, part: string, value: string) => Value): Parse<Value[]> {
  return (name, value) => splitList(value).map((part) => parse(name, part, value));
}

/** The parts of a list between commas or blanks. */
export function splitList(value: string): string[] {
  return value.split(/[\s,]+/).filter((part) => part !== '');
}

/** A whole number within the bounds. */
export function integer(least: number, most: number): Parse<number> {
  return parsed((value) => {
    const number = Number(value);
    return /^\d+$/.test(value) && number >= least && number <= most ? number : undefined;
  }, `write a whole number from ${least} to ${most}`);
}

const BYTES_OF_UNIT: Readonly<Record<string, number>> = { '': 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** A size such as `512`, `16kB`, `4MB` or `1GB`, in bytes. */
export function size(least: number, most: number): Parse<number> {
  return parsed((value) => {
    const [, digits, unit = ''] = /^(\d{1,15}) ?((?:[kmg]b)?)$/i.exec(value) ?? [];
    const bytes = Number(digits) * (BYTES_OF_UNIT[unit.toLowerCase()] ?? Number.NaN);
    return bytes >= least && bytes <= most ? bytes : undefined;
  }, `write a size from ${least} to ${most} bytes, such as 65536, 64kB or 4MB`);
}

/** The bounds of a duration, and examples, as they are written. */
interface DurationBounds {
  readonly least?: string;
  readonly most: string;
  readonly example: string;
}

/** A duration within the bounds, in milliseconds. */
export function duration({ least, most, example }: DurationBounds): Parse<number> {
  const range = least === undefined ? `up to ${most}` : `from ${least} to ${most}`;
  const lowest = durationOf(least ?? '') ?? 0n;
  const highest = durationOf(most) ?? 0n;
  return parsed((value) => {
    const microseconds = durationOf(value) ?? -1n;
    return microseconds >= lowest && microseconds <= highest ? Number(microseconds / 1000n) : undefined;
  }, `write a time ${range}, such as ${example}`);
}

export function choice<Choice extends string>(...choices: readonly Choice[]): Parse<Choice> {
  return parsed((value) => choices.find((candidate) => candidate === value), `write ${choices.join(' or ')}`);
}

export function onOff(name: string, value: string): boolean {
  return choice('on', 'off')(name, value) === 'on';
}

export function scope(name: string, part: string, value: string): Scope {
  const found = SCOPES.find((candidate) => candidate === part);
  if (found !== undefined) return found;
  throw invalidSetting(name, value, `${part} is not a scope; write some of ${SCOPES.join(', ')}, or nothing`);
}

/** The value of a header field in ASCII (RFC 9110, section 5.5). */
export const printableAscii = parsed(
  (value) => (/^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/.test(value) ? value : undefined),
  'write up to 256 printable characters of ASCII',
);

export const sourceName = parsed(
  (value) => attempt(() => parseSourceName(value)),
  'write 1 to 64 printable characters',
);
