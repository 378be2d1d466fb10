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
