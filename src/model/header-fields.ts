import { isUtf8 } from 'node:buffer';
import { invalidValue } from './errors.js';
import { addTo } from './groups.js';
import { memoized } from './memoized.js';
import { invalidText, quoted, requireStorable } from './text.js';

const MAX_NAME = 1024;
/** Characters of a token (RFC 9110, section 5.6.2), and non-ASCII characters, which some sites send. */
const FIELD_NAME = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]|[^\0-\x7f])+$/;

export function isFieldName(name: string): boolean {
  return FIELD_NAME.test(name);
}

/** @throws InvalidObservationError */
export const canonicalFieldName: (name: string) => string = memoized((name) => {
  if (!isFieldName(name)) throw invalidText(name, 'the name of a header field (RFC 9110, 5.1)');
  if (name.length > MAX_NAME) throw invalidValue(`${quoted(name)} is longer than ${MAX_NAME} characters.`);
  // Names are equal without regard to case in ASCII only (RFC 9110, section 5.1): U+212A is no "k".
  return requireStorable(name).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}, 4096);

/** Without the white space around it (RFC 9110, section 5.5). @throws InvalidObservationError */
export function canonicalFieldValue(value: string): string {
  return trimmed(requireStorable(value));
}

/** The text without SP, HTAB, CR and LF at its ends; trim() would take other characters too. */
export function trimmed(value: string): string {
  const start = value.search(/[^ \t\r\n]/);
  let end = value.length;
  while (end > start && ' \t\r\n'.includes(value.charAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

/** @throws InvalidObservationError also for CR or LF in the value (RFC 9110, section 5.5). */
export function addHeaderField(fields: Map<string, string[]>, name: string, value: string): void {
  if (/[\r\n]/.test(value))
    throw invalidValue(
      `${quoted(value)} contains CR or LF (RFC 9110, 5.5): remove it, or write several values as a list.`,
    );
  addTo(fields, canonicalFieldName(name), canonicalFieldValue(value));
}

/** Several values are joined by `, ` (RFC 9110, section 5.3), without the blank where the last is empty. */
export function joinHeaderFields(fields: ReadonlyMap<string, readonly string[]>): Map<string, string> {
  return new Map(Array.from(fields, ([name, values]) => [name, trimmed(values.join(', '))]));
}

/**
 * The text of octets, a character for each. Those over 0x7f have no meaning of their own (RFC 9110, section
 * 5.5): what is UTF-8 as a whole is read so, anything else as ISO 8859-1, which loses nothing.
 */
export function textOfOctets(octets: string): string {
  if (!/[\u0080-\u00ff]/.test(octets)) return octets;
  const bytes = Buffer.from(octets, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : octets;
}
