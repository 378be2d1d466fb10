import { domainToASCII } from 'node:url';
import type { InvalidObservationError } from './errors.js';
import { memoized } from './memoized.js';
import { invalidText, octetEscape } from './text.js';

const MAX_LABEL = 63;
/** RFC 1035, section 3.1: a length octet before each label, the root's too. */
const MAX_WIRE_NAME = 255;
/** No name comes from a longer text: an octet takes up to four characters (`\DDD`). */
const MAX_TEXT = 4 * MAX_WIRE_NAME;
const TOO_LONG = `it is longer than ${MAX_WIRE_NAME} octets on the wire`;

const ORDINARY = /^[a-z0-9_*-]{1,63}(?:\.[a-z0-9_*-]{1,63})*$/;
const ESCAPE = /\\(\d{3})|\\(\D)|\\|\0/gs;
const ESCAPED = /[^!-~]|[".;\\()@$]/gs;

/**
 * The canonical text of any name that DNS allows, as owners and targets of records have it: lower case (ASCII),
 * no final dot, `.` for the root (which an empty text names too, as PHP's dns_get_record has it). The escapes
 * of RFC 1035, section 5.1, are read, and written in one way, so that equal names have equal text: a backslash
 * before `" . ; \ ( ) @ $`, and `\DDD` for octets outside 0x21 to 0x7e. UTS 46 converts what is outside ASCII.
 *
 * @throws InvalidObservationError for empty labels, labels over 63 octets, names over 255 octets on the wire,
 * malformed escapes, U+0000, and characters without a form in ASCII.
 */
export const canonicalHostName: (text: string) => string = memoized((text) => {
  if (text === '' || text === '.') return '.';
  const lower = /^[\w*.-]+$/.test(text) ? text.toLowerCase() : text;
  const name = lower.endsWith('.') ? lower.slice(0, -1) : lower;
  return name.length <= MAX_WIRE_NAME - 2 && ORDINARY.test(name) ? name : unusualName(text);
});

function unusualName(text: string): string {
  if (text.length > MAX_TEXT) throw invalid(text, TOO_LONG);
  const labels = splitLabels(text).map((label) => labelOctets(label, text));
  if (labels.includes('')) throw invalid(text, 'it has an empty label');
  const isLong = labels.some((octets) => octets.length > MAX_LABEL);
  if (isLong) throw invalid(text, `it has a label longer than ${MAX_LABEL} octets`);
  if (labels.join('.').length > MAX_WIRE_NAME - 2) throw invalid(text, TOO_LONG);
  return labels.map(labelText).join('.');
}

/** The full stop and the three that UTS 46 takes for it, after an even number of backslashes: not escaped. */
const SEPARATOR = /(?<=(?:^|[^\\])(?:\\\\)*)[.\u3002\uff0e\uff61]/;

/** Without the empty one after a final dot. */
function splitLabels(text: string): string[] {
  return text.split(SEPARATOR).filter((label, at, { length }) => label !== '' || at < length - 1);
}

/** A character for each. */
function labelOctets(label: string, text: string): string {
  const ascii = toALabel(label);
  const noForm = 'it has a label without a form in ASCII (UTS 46); write octets as \\DDD';
  if (ascii === undefined) throw invalid(text, noForm);
  return ascii.replace(ESCAPE, (found, decimal?: string, escaped?: string) => {
    if (found.endsWith('\0')) throw invalid(text, 'it contains U+0000; write it as \\000');
    const octet = decimal === undefined ? escaped?.charCodeAt(0) : Number(decimal);
    if (octet !== undefined && octet <= 255) return String.fromCharCode(octet);
    throw invalid(text, 'after "\\" comes a character or \\000 to \\255');
  });
}

/** In canonical form. @param octets A character for each. */
export function labelText(octets: string): string {
  const lower = octets.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return lower.replace(ESCAPED, (octet) =>
    /[!-~]/.test(octet) ? `\\${octet}` : octetEscape(octet.charCodeAt(0)),
  );
}

function invalid(text: string, reason: string): InvalidObservationError {
  return invalidText(text, `a host name: ${reason}`);
}

const NON_ASCII = /[^\p{ASCII}]/u;
const CONVERTIBLE = /^(?:[A-Za-z0-9_-]|[^\p{ASCII}])+$/u;

/** No label of at most 63 octets comes from a longer text; Punycode's cost grows with its square. */
const MAX_CONVERTED = 252;

/**
 * By UTS 46, non-transitional, of a label outside ASCII; undefined where it has none. Its ASCII characters must
 * be letters, digits, `-` or `_`: others mean something to the URL parser behind domainToASCII. The added label
 * `x` keeps that parser from reading an IPv4 address. Other labels are returned unchanged.
 */
export function toALabel(label: string): string | undefined {
  if (!NON_ASCII.test(label)) return label;
  if (label.length > MAX_CONVERTED || !CONVERTIBLE.test(label)) return undefined;
  const converted = domainToASCII(`${label}.x`);
  return /^[^.]+\.x$/.test(converted) ? converted.slice(0, -2) : undefined;
}

/** Of a canonical name, without compression: memoized, since all questions about a name have the same. */
export const hostNameOctets: (name: string) => Buffer = memoized((name) => {
  const labels = labelsOf(name).map((label) => Buffer.from(labelOctets(label, name), 'latin1'));
  return Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), label]), Buffer.of(0)]);
}, 1024);

/** The names above a canonical name, up to the root. */
export function ancestorsOf(name: string): string[] {
  const labels = labelsOf(name);
  return labels.map((_, at) => labels.slice(at + 1).join('.') || '.');
}

function labelsOf(name: string): string[] {
  return name === '.' ? [] : splitLabels(name);
}
