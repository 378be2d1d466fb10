import { memoized } from './bounded-cache.js';
import { InvalidObservationError } from './errors.js';
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

/** RFC 3597, section 5: the classes that have a mnemonic, by the form that any class has. */
const CLASSES: Readonly<Record<string, string>> = { CLASS1: 'IN', CLASS3: 'CH', CLASS4: 'HS' };

/**
 * The one name of a class: `IN` for `in` and `CLASS1`.
 *
 * @throws InvalidObservationError as canonicalMnemonic does.
 */
export const canonicalClass: (text: string) => string = memoized((text) => {
  const mnemonic = canonicalMnemonic(text);
  return CLASSES[mnemonic] ?? mnemonic;
}, 1024);
