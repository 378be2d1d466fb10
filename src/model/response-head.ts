import { type InvalidObservationError, invalidValue } from './errors.js';
import { trimmed } from './header-fields.js';

/** Without the blanks around them. */
export type HeaderField = readonly [name: string, value: string];

export interface ResponseHead {
  /** As written, such as `1.1`; tools write `2` and `3` too, which have no status line. */
  readonly version: string;
  readonly status: number;
  /** In the order of the lines; the names are not checked. */
  readonly fields: readonly HeaderField[];
}

/** RFC 9112, section 4. curl reads one in lower case, with more blanks, or with the phrase at the code, too. */
const STATUS_LINE = /^HTTP\/(\d(?:\.\d)?) +([1-9]\d\d)(?!\d)/i;
const NUL_OR_CR = /[\0\r]/;

/**
 * A status line, then a field on each line, up to an empty line or the end (RFC 9112, section 2.1). Lines end
 * with CRLF or LF. A line that begins with a blank continues the field before it (section 5.2), or is skipped
 * (section 2.2). Blanks before the colon are not part of the name (section 5.1).
 *
 * @param head As text, or with an octet for each character.
 * @throws InvalidObservationError for any other text, and for NUL or CR inside a line.
 */
export function parseResponseHead(head: string): ResponseHead {
  const [statusLine = '', ...lines] = head.split(/\r?\n/);
  const [, version = '', status] = STATUS_LINE.exec(statusLine) ?? [];
  if (status === undefined) throw invalidValue('it does not begin with a status line (RFC 9112, 4).');
  if (NUL_OR_CR.test(trimmed(statusLine))) throw invalidValue('its status line contains NUL or CR.');
  const end = lines.indexOf('');
  const fields = unfolded(end === -1 ? lines : lines.slice(0, end)).map(fieldOf);
  return { version, status: Number(status), fields };
}

/** One blank takes the place of each line end. */
function unfolded(lines: readonly string[]): string[] {
  const fields: string[][] = [];
  for (const line of lines) {
    if (!/^[ \t]/.test(line)) fields.push([]);
    fields.at(-1)?.push(trimmed(line));
  }
  return fields.map((pieces) => pieces.filter((piece) => piece !== '').join(' '));
}

function fieldOf(line: string, index: number): HeaderField {
  const colon = line.indexOf(':');
  if (colon === -1) throw invalid(index, 'has no colon after its name (RFC 9112, 5)');
  const [name, value] = [trimmed(line.slice(0, colon)), trimmed(line.slice(colon + 1))];
  if (NUL_OR_CR.test(name + value)) throw invalid(index, 'contains NUL, or CR without LF (RFC 9110, 5.5)');
  return [name, value];
}

function invalid(index: number, reason: string): InvalidObservationError {
  return invalidValue(`field ${index + 1} ${reason}.`);
}
