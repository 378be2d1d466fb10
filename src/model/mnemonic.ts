import { InvalidObservationError } from './errors.js';
import { memoized } from './memoized.js';
import { quoted } from './quoted.js';

const MNEMONIC = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

/**
 * A DNS type or class in upper case (`MX`, `TYPE65534`, `IN`): RFC 1035, section 3.2, and RFC 3597.
 *
 * @throws InvalidObservationError for anything but a letter and up to 31 letters, digits and `-`.
 */
export const canonicalMnemonic: (text: string) => string = memoized((text) => {
  if (MNEMONIC.test(text)) return text.toUpperCase();
  throw new InvalidObservationError(`${quoted(text)} is not a mnemonic of DNS, such as MX or IN.`);
}, 1024);

/** RFC 3597, section 5: the classes that have names, by their numbers (RFC 6895, section 3.2). */
const NUMBERED_CLASSES: Readonly<Record<string, string>> = { CLASS1: 'IN', CLASS3: 'CH', CLASS4: 'HS' };

/** The one name of a DNS class, in upper case: `IN` for `in` and `CLASS1`. @throws as canonicalMnemonic does. */
export function canonicalClass(text: string): string {
  const name = canonicalMnemonic(text);
  return NUMBERED_CLASSES[name] ?? name;
}
