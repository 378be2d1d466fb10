import { type InvalidObservationError, invalidValue } from './errors.js';

const MAX_SHOWN = 64;
const INVISIBLE = /\p{C}|(?! )\p{Z}/gu;

/** For an error's message: in double quotes, on one line, with invisible characters as escapes, and cut. */
export function quoted(text: string): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return JSON.stringify(shown).replace(INVISIBLE, escaped);
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** The error for a text that is not what it has to be: `"fe80" is not an IPv6 address.` */
export function invalidText(text: string, what: string): InvalidObservationError {
  return invalidValue(`${quoted(text)} is not ${what}.`);
}

/** `\DDD` (RFC 1035, section 5.1). */
export function octetEscape(octet: number): string {
  return `\\${String(octet).padStart(3, '0')}`;
}

/** Whether UTF-16 surrogates are only in pairs. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** For PostgreSQL. @throws InvalidObservationError for U+0000 and lone surrogates. */
export function requireStorable(text: string): string {
  if (text.includes('\0')) throw invalidValue(`${quoted(text)} contains U+0000.`);
  if (!isWellFormed(text)) throw invalidValue(`${quoted(text)} contains a lone surrogate.`);
  return text;
}

export function parseSourceName(text: string): string {
  if (/^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(text)) return text;
  throw invalidText(text, '1 to 64 printable characters');
}

/** What a server sends must not move the cursor of a terminal, turn what follows around, or look like lines. */
export function printable(line: string): string {
  return line.replace(/\p{C}/gu, escaped);
}
