import { InvalidObservationError } from './errors.js';
import { quoted } from './quoted.js';

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u;

/**
 * The name of who observed, as it is.
 *
 * @throws InvalidObservationError for anything but 1 to 64 printable characters.
 */
export function parseSourceName(text: string): string {
  if (PRINTABLE.test(text)) return text;
  throw new InvalidObservationError(`${quoted(text)} is not 1 to 64 printable characters.`);
}
