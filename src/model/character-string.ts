import { isUtf8 } from 'node:buffer';
import { InvalidObservationError } from './errors.js';
import { isWellFormed, octetEscape, quoted } from './text.js';

const OCTET_ESCAPE = /\\(25[0-5]|2[0-4]\d|[01]\d\d)/g;
const BACKSLASH = 0x5c;

/**
 * The octets of a text of TXT data: `\DDD` up to 255 is an octet, as in a master file (RFC 1035, section
 * 5.1); everything else, a backslash without such digits too, is its own UTF-8. @throws InvalidObservationError
 */
export function characterStringOctets(text: string): Buffer {
  if (!isWellFormed(text)) throw new InvalidObservationError(`${quoted(text)} contains a lone surrogate.`);
  const parts: Buffer[] = [];
  let start = 0;
  for (const found of text.matchAll(OCTET_ESCAPE)) {
    parts.push(Buffer.from(text.slice(start, found.index)), Buffer.of(Number(found[1])));
    start = found.index + found[0].length;
  }
  parts.push(Buffer.from(text.slice(start)));
  return Buffer.concat(parts);
}

/**
 * The canonical text of octets of TXT data: UTF-8 as characters; NUL and octets that are not UTF-8 as
 * `\DDD`; a backslash before three digits up to 255 as `\092`, so that it is not read as an escape.
 */
export function characterStringText(octets: Buffer): string {
  if (isUtf8(octets) && !octets.includes(0) && !octets.includes(BACKSLASH)) return octets.toString();
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < octets.length; ) {
    const length = characterLength(octets, at);
    if (length === 0) {
      parts.push(octets.toString('utf8', start, at), octetEscape(octets[at] ?? 0));
      start = at + 1;
    }
    at += Math.max(length, 1);
  }
  parts.push(octets.toString('utf8', start));
  return parts.join('');
}

/** RFC 1035, section 3.3: the longest character-string. */
const LONGEST_STRING = 255;

/** Octets divided into character-strings, at least one, each but the last as long as it can be. */
export function stringsOf(octets: Buffer): Buffer[] {
  const count = Math.max(1, Math.ceil(octets.length / LONGEST_STRING));
  return Array.from({ length: count }, (_, at) =>
    octets.subarray(at * LONGEST_STRING, (at + 1) * LONGEST_STRING),
  );
}

/** The canonical text of a text of TXT data: equal octets have equal text. */
export function canonicalCharacterString(text: string): string {
  const plain = !text.includes('\\') && !text.includes('\0') && isWellFormed(text);
  return plain ? text : characterStringText(characterStringOctets(text));
}

/** How many octets the character at this place has; 0 for an octet that must be escaped. */
function characterLength(octets: Buffer, at: number): number {
  const first = octets[at] ?? 0;
  if (first === 0) return 0;
  if (first === BACKSLASH) return beginsEscape(octets, at) ? 0 : 1;
  if (first < 0x80) return 1;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const character = octets.subarray(at, at + length);
  return character.length === length && isUtf8(character) ? length : 0;
}

function beginsEscape(octets: Buffer, at: number): boolean {
  const digits = octets.toString('latin1', at + 1, at + 4);
  return /^\d{3}$/.test(digits) && Number(digits) <= 255;
}
