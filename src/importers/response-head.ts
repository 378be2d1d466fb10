import { InvalidObservationError } from '../model/errors.js';

/** A field's name and its value, as they were written. */
export type HeaderField = readonly [name: string, value: string];

/** RFC 9112, section 4. Tools write one for HTTP/2 and 3, too, which have none. */
const STATUS_LINE = /^HTTP\/\d(?:\.\d)? \d{3}(?: |$)/;

/**
 * The fields of a response's head: a status line, then a field on each line, up to an empty line or the
 * end (RFC 9112, section 2.1). Lines end with CRLF or LF; one that begins with white space goes on with
 * the field before it, after a space (section 5.2).
 *
 * @throws InvalidObservationError for any other text; names and values are not checked.
 */
export function parseResponseHead(head: string): HeaderField[] {
  const [statusLine = '', ...lines] = head.split(/\r?\n/);
  if (!STATUS_LINE.test(statusLine)) {
    throw new InvalidObservationError('it does not begin with a status line (RFC 9112, 4).');
  }
  const end = lines.indexOf('');
  return unfolded(end === -1 ? lines : lines.slice(0, end)).map(fieldOf);
}

function unfolded(lines: readonly string[]): string[] {
  const whole: string[] = [];
  for (const line of lines) {
    const before = /^[ \t]/.test(line) ? whole.pop() : undefined;
    whole.push(before === undefined ? line : `${before} ${line.trimStart()}`);
  }
  return whole;
}

function fieldOf(line: string, index: number): HeaderField {
  const colon = line.indexOf(':');
  if (colon !== -1) return [line.slice(0, colon), line.slice(colon + 1)];
  throw new InvalidObservationError(`field ${index + 1} has no colon after its name (RFC 9112, 5).`);
}
