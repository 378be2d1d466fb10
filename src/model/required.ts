import { InvalidObservationError } from './errors.js';

/**
 * A value of parsed JSON that must be a string.
 *
 * @throws InvalidObservationError for one that is absent (undefined) or something else.
 */
export function requireText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new InvalidObservationError(value === undefined ? 'it is missing.' : 'it is not a string.');
}

/**
 * A value of parsed JSON that must be a list of strings, at least one.
 *
 * @throws InvalidObservationError for anything else.
 */
export function requireTexts(value: unknown): readonly string[] {
  if (value === undefined) throw new InvalidObservationError('it is missing.');
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw new InvalidObservationError('it is not an array of strings.');
  }
  if (value.length === 0) throw new InvalidObservationError('it is empty; write at least one string.');
  return value;
}
