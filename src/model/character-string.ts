import { invalidValue } from './errors.js';
import { isWellFormed, octetEscape, quoted } from './text.js';

const OCTET_ESCAPE = /\\(25[0-5]|2[0-4]\d|[01]\d\d)/g;

/**
 * `\DDD` up to 255 is an octet, as in a master file (RFC 1035, section 5.1); everything else, a backslash
 * without such digits too, is its own UTF-8. @throws InvalidObservationError
 */
export function characterStringOctets(text: string): Buffer {
  if (!isWellFormed(text)) throw invalidValue(`${quoted(text)} contains a lone surrogate.`);
  if (!text.includes('\\')) return Buffer.from(text);
  const octets = Buffer.from(text).toString('latin1');
  return Buffer.from(
    octets.replace(OCTET_ESCAPE, (_, octet) => String.fromCharCode(octet)),
    'latin1',
  );
}

/**
 * Of octets, as one character each: a character of several octets (RFC 3629, section 4); a backslash that would
 * be read as an escape; NUL, and others that are not ASCII.
 */
const NOT_PLAIN =
  /([\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})|\\(?=25[0-5]|2[0-4]\d|[01]\d\d)|[\0\x80-\xff]/g;

/**
 * The canonical text of octets of TXT data: UTF-8 as characters; NUL and octets that are not UTF-8 as `\DDD`; a
 * backslash before three digits up to 255 as `\092`, so that it is not read as an escape.
 */
export function characterStringText(octets: Buffer): string {
  const text = octets.toString('latin1');
  return text.replace(NOT_PLAIN, (found, character) =>
    character === undefined ? octetEscape(found.charCodeAt(0)) : Buffer.from(found, 'latin1').toString(),
  );
}

/** RFC 1035, section 3.3. */
const MAX_STRING = 255;

/** Divides octets into character-strings, at least one, each but the last as long as it can be. */
export function stringsOf(octets: Buffer): Buffer[] {
  const count = Math.max(1, Math.ceil(octets.length / MAX_STRING));
  return Array.from({ length: count }, (_, at) => octets.subarray(at * MAX_STRING, (at + 1) * MAX_STRING));
}

/** Equal octets have equal text. */
export function canonicalCharacterString(text: string): string {
  const plain = !text.includes('\\') && !text.includes('\0') && isWellFormed(text);
  return plain ? text : characterStringText(characterStringOctets(text));
}
