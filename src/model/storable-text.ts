import { InvalidObservationError } from './errors.js';
import { quoted } from './quoted.js';

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether the text is well-formed Unicode: a UTF-16 surrogate stands only in a pair. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/**
 * Refuses a text that PostgreSQL cannot hold.
 *
 * @throws InvalidObservationError for U+0000 and for surrogates without their other half.
 */
export function refuseUnstorable(text: string): void {
  if (text.includes('\0')) throw new InvalidObservationError(`${quoted(text)} contains U+0000.`);
  if (!isWellFormed(text)) throw new InvalidObservationError(`${quoted(text)} contains a lone surrogate.`);
}
