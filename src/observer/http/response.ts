import type { Duplex } from 'node:stream';
import { addHeaderField, isFieldName, joinHeaderFields, textOfOctets } from '../../model/header-fields.js';
import { type HeaderField, parseResponseHead, type ResponseHead } from '../../model/response-head.js';

/** In octets: all field lines of a response and its status line together. */
export const LARGEST_HEAD = 65_536;
export const MOST_INTERIM_RESPONSES = 10;
export const HEAD_TOO_LARGE = `its head is larger than ${LARGEST_HEAD / 1024} kB`;
export const TOO_MANY_INTERIM = `more than ${MOST_INTERIM_RESPONSES} interim responses came`;

export class InvalidResponseError extends Error {
  override readonly name = 'InvalidResponseError';
  readonly code: 'malformed' | 'too-large';

  constructor(code: 'malformed' | 'too-large', message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Requests `/` on a connected socket, and waits for the head of the final response. What comes after it
 * is not read.
 *
 * Node.js' own parser is not used: it rejects sites that curl reads, and takes RTSP for HTTP.
 *
 * @returns the head with a character for each octet.
 * @throws InvalidResponseError; InvalidObservationError for a head that cannot be parsed; the socket's error.
 */
export async function requestHead(
  socket: Duplex,
  fields: Readonly<Record<string, string>>,
): Promise<ResponseHead> {
  const lines = Object.entries({ ...fields, Accept: '*/*', Connection: 'close' });
  socket.write(`GET / HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  let interim = 0;
  for await (const text of headsIn(socket)) {
    const head = parseResponseHead(text);
    // The body is not read, so fields that contradict each other about its length do no harm.
    if (!/^1\.\d$/.test(head.version))
      throw new InvalidResponseError('malformed', `its version is HTTP/${head.version}`);
    if (head.status === 101) throw new InvalidResponseError('malformed', 'it switches protocols');
    if (head.status >= 200) return head;
    interim += 1;
    if (interim > MOST_INTERIM_RESPONSES) throw new InvalidResponseError('too-large', TOO_MANY_INTERIM);
  }
  throw new Error('the connection was closed');
}

const START_OF_HEAD = 'HTTP/';
const EMPTY_LINES = /^[\r\n]+/;

/** The heads that come in, one after the other. Empty lines before one are skipped. */
async function* headsIn(socket: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let text = '';
  for await (const octets of socket) {
    // Everything before was searched, except for the beginning of an end.
    const searched = Math.max(0, text.length - 2);
    text = (text + octets.toString('latin1')).replace(EMPTY_LINES, '');
    for (let end = endOfHead(text, searched); end !== -1; end = endOfHead(text, 0)) {
      checkBeginning(text.slice(0, end));
      yield text.slice(0, end);
      text = text.slice(end).replace(EMPTY_LINES, '');
    }
    checkBeginning(text);
  }
  // As for curl, the end of the connection ends a head of whole lines.
  if (text.endsWith('\n')) yield text;
}

/** Where the first head in the text ends: an empty line ends it (RFC 9112, section 2.1). -1: nowhere yet. */
function endOfHead(text: string, searched: number): number {
  const end = /\n\r?\n/.exec(text.slice(searched));
  return end === null ? -1 : searched + end.index + end[0].length;
}

/** What cannot become a head is rejected at once, without waiting for its end. */
function checkBeginning(text: string): void {
  const start = text.slice(0, START_OF_HEAD.length).toUpperCase();
  if (!START_OF_HEAD.startsWith(start)) throw new InvalidResponseError('malformed', 'it is not HTTP');
  if (text.length > LARGEST_HEAD) throw new InvalidResponseError('too-large', HEAD_TOO_LARGE);
}

/**
 * The fields of a response: lower-case names to trimmed values, those of one name joined by `, ` in their
 * order (RFC 9110, section 5.3), without the ignored ones. Texts are read as UTF-8 where they are, and otherwise as
 * ISO 8859-1. A field with an invalid name is skipped: no history has one, so its absence changes nothing.
 *
 * @param fields with a character for each octet.
 * @throws InvalidObservationError for a name that is longer than a name may be.
 */
export function responseFields(
  fields: readonly HeaderField[],
  ignored: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const values = new Map<string, string[]>();
  for (const [octets, value] of fields) {
    const name = textOfOctets(octets);
    if (ignored.has(name.toLowerCase()) || !isFieldName(name)) continue;
    addHeaderField(values, name, textOfOctets(value));
  }
  return joinHeaderFields(values);
}
