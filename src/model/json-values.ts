import { InvalidDomainError, InvalidObservationError, invalidValue } from './errors.js';
import { quoted } from './text.js';

export type Json = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws InvalidObservationError */
export function requireText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw invalidValue(value === undefined ? 'it is missing.' : 'it is not a string.');
}

/** At least one. @throws InvalidObservationError */
export function requireTexts(value: unknown): readonly string[] {
  if (value === undefined) throw invalidValue('it is missing.');
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw invalidValue('it is not an array of strings.');
  if (value.length === 0) throw invalidValue('it is empty; write at least one string.');
  return value;
}

/** @param owner As `in a record of type A`. @throws InvalidObservationError for a key that is not known. */
export function requireKey(key: string, known: ReadonlySet<string>, owner = ''): void {
  if (!known.has(key)) throw unknownKey(key, known, owner);
}

function unknownKey(key: string, known: ReadonlySet<string>, owner: string): InvalidObservationError {
  const plain = (name: string) => name.toLowerCase().replace(/[-_]/g, '');
  const meant = [...known].find((name) => plain(name) === plain(key));
  const advice =
    meant === undefined ? `remove it, or write one of ${[...known].join(', ')}` : `write ${meant}`;
  return invalidValue(`unknown key ${`${quoted(key)} ${owner}`.trimEnd()}: ${advice}.`);
}

function isInvalidValue(error: unknown): error is Error {
  return error instanceof InvalidObservationError || error instanceof InvalidDomainError;
}

/** The reason of an invalid value begins with the place (`dnsRecords[3]: …`): a function where it costs to tell. */
export function readAt<Result>(place: string | (() => string), read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!isInvalidValue(error)) throw error;
    throw invalidValue(`${typeof place === 'string' ? place : place()}: ${error.message}`);
  }
}

/** The result of `read`; of an invalid value, what `otherwise` makes of the reason. Other errors are thrown. */
export function readOr<Result, Other>(read: () => Result, otherwise: (reason: string) => Other) {
  try {
    return read();
  } catch (error) {
    if (isInvalidValue(error)) return otherwise(error.message);
    throw error;
  }
}

/** A name that an object may not have is told with the whole object, and with names that are like it. */
const SIZE_OF_NAME = 50;

/** The characters in a JSON value, one more for each value in it, and more for each name in an object. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length;
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + sizeOf(each), 1);
  const sizes = Object.entries(value).map(([name, each]) => SIZE_OF_NAME + name.length + sizeOf(each));
  return sizes.reduce((sum, size) => sum + size, 1);
}
