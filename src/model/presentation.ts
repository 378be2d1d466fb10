import { InvalidObservationError } from './errors.js';
import { refuseUnstorable } from './storable-text.js';

/** How many fields stand before the hexadecimal of a type: RFC 4034 (5.3), 7344, 6698 (2.2), 4255 (3.2). */
const FIELDS_BEFORE_HEXADECIMAL: ReadonlyMap<string, number> = new Map([
  ['DS', 3],
  ['CDS', 3],
  ['TLSA', 3],
  ['SSHFP', 2],
]);

/** Whether a type's rdata ends in hexadecimal that is kept in one piece and upper case. */
export function isDigestType(type: string): boolean {
  return FIELDS_BEFORE_HEXADECIMAL.has(type);
}

const CANONICAL_DIGEST = /^\d+ \d+(?: \d+)? [0-9A-F]+$/;
const HEXADECIMAL = /^[0-9A-Fa-f]+$/;
/** White space, a string in double quotes (or what is left of one), an escaped character, other text. */
const TOKEN = /([ \t\r\n\f\v]+)|"(?:[^"\\]|\\.)*(?:"|\\?$)|\\.?|[^ \t\r\n\f\v"\\]+/gs;

/**
 * The canonical text of rdata in the presentation of master files: no white space at the ends, single
 * spaces elsewhere but inside double quotes; for DS, CDS, TLSA and SSHFP the hexadecimal, which may be
 * split (RFC 4034, section 5.3), in one piece and upper case.
 *
 * @throws InvalidObservationError for a text that is empty or that the database cannot hold.
 */
export function canonicalPresentation(type: string, text: string): string {
  const fieldsBefore = FIELDS_BEFORE_HEXADECIMAL.get(type);
  if (fieldsBefore !== undefined && CANONICAL_DIGEST.test(text)) return text;
  refuseUnstorable(text);
  const spaced = withSingleSpaces(text);
  if (spaced === '') throw new InvalidObservationError('it is empty.');
  return fieldsBefore === undefined ? spaced : withJoinedHexadecimal(spaced, fieldsBefore);
}

function withSingleSpaces(text: string): string {
  let spaced = '';
  let pending = '';
  for (const [token, space] of text.matchAll(TOKEN)) {
    if (space !== undefined) {
      pending = spaced === '' ? '' : ' ';
    } else {
      spaced += pending + token;
      pending = '';
    }
  }
  return spaced;
}

/** RFC 3597, section 5, writes any type as `\# length hexadecimal`. */
function withJoinedHexadecimal(text: string, fieldsBefore: number): string {
  const parts = text.split(' ');
  const leading = parts.splice(0, parts[0] === '\\#' ? 2 : fieldsBefore);
  const hexadecimal = parts.join('');
  return HEXADECIMAL.test(hexadecimal) ? [...leading, hexadecimal.toUpperCase()].join(' ') : text;
}
