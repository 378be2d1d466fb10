import { connect } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { errorCode, InvalidObservationError } from '../../model/errors.js';
import { addHeaderField, isFieldName, joinHeaderFields, textOfOctets } from '../../model/header-fields.js';
import { type HeaderField, parseResponseHead, type ResponseHead } from '../../model/response-head.js';

/** In octets: all field lines of a response and its status line together. */
const MAX_HEAD = 65_536;
const MAX_INTERIM_RESPONSES = 10;

export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
}

const headTooLarge = () => new TooLargeError(`its head is larger than ${MAX_HEAD / 1024} kB`);
const tooManyInterim = () => new TooLargeError(`more than ${MAX_INTERIM_RESPONSES} interim responses came`);

/**
 * Requests `/` on a connected socket, and reads no further than the head of the final response. Node.js' own
 * parser is not used: it rejects sites that curl reads, and takes RTSP for HTTP.
 *
 * @returns the head with a character for each octet.
 * @throws TooLargeError; InvalidObservationError for a head that cannot be parsed; the socket's error.
 */
export async function requestHead(socket: Duplex, host: string, userAgent: string): Promise<ResponseHead> {
  const lines = [`Host: ${host}`, `User-Agent: ${userAgent}`, 'Accept: */*', 'Connection: close'];
  socket.write(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  let interim = 0;
  for await (const text of headsIn(socket)) {
    const head = parseResponseHead(text);
    // The body is not read, so fields that contradict each other about its length do no harm.
    if (!/^1\.\d$/.test(head.version) || head.status === 101) {
      throw new InvalidObservationError('it goes on in another protocol.');
    }
    if (head.status >= 200) return head;
    interim += 1;
    if (interim > MAX_INTERIM_RESPONSES) throw tooManyInterim();
  }
  throw new Error('the connection was closed');
}

const EMPTY_LINES = /^[\r\n]+/;

/** Empty lines before a head are skipped. */
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
  if (!'HTTP/'.startsWith(text.slice(0, 5).toUpperCase()))
    throw new InvalidObservationError('it is not HTTP.');
  if (text.length > MAX_HEAD) throw headTooLarge();
}

/** 64 kB of the shortest lines are so many fields; each counts 32 octets more (RFC 9113, section 6.5.2). */
const MAX_FIELDS = MAX_HEAD / ':\r\n'.length;
const MAX_SECTION = MAX_HEAD + 32 * MAX_FIELDS;

/** Any URL will do: `:authority` has the domain's name, and not every name can be in a URL. */
const ANY_URL = 'https://domain.invalid';

/**
 * Like requestHead(), by HTTP/2 on a socket that has agreed on it. The socket is destroyed.
 *
 * @param authority The domain, with the port where it is not the scheme's own.
 */
export async function requestHeadByHttp2(socket: TLSSocket, authority: string, userAgent: string) {
  const session = connect(ANY_URL, {
    createConnection: () => socket,
    settings: { enablePush: false, maxHeaderListSize: MAX_SECTION },
    maxHeaderListPairs: MAX_FIELDS,
  });
  try {
    return await new Promise<Pick<ResponseHead, 'status' | 'fields'>>((resolve, reject) => {
      const fail = (error: Error) => reject(meaningOf(error));
      session.on('error', fail);
      const request = { ':path': '/', ':scheme': 'https', ':authority': authority };
      const stream = session.request({ ...request, 'user-agent': userAgent, accept: '*/*' });
      let interim = 0;
      stream.on('headers', () => {
        interim += 1;
        if (interim > MAX_INTERIM_RESPONSES) reject(tooManyInterim());
      });
      // Node.js gives the fields as they came, too; its types do not know it.
      stream.on('response', ({ ':status': status = 0 }, _flags, raw: readonly string[] = []) => {
        // Pseudo-header fields are no header fields (RFC 9113, section 8.3).
        const fields = raw.flatMap((name, at): HeaderField[] =>
          at % 2 === 1 || name.startsWith(':') ? [] : [[name, raw[at + 1] ?? '']],
        );
        const length = fields.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
        if (length <= MAX_HEAD) resolve({ status, fields });
        else reject(headTooLarge());
      });
      stream.on('error', fail);
      stream.on('close', () => reject(new Error('the connection was closed')));
    });
  } finally {
    session.destroy();
  }
}

/** Node.js ends a stream with too many fields with ENHANCE_YOUR_CALM, and takes nine frames for them. */
function meaningOf(error: Error): Error {
  if (!/^ERR_HTTP2_/.test(errorCode(error))) return error;
  return /ENHANCE_YOUR_CALM|Too many CONTINUATION frames/.test(error.message)
    ? headTooLarge()
    : new InvalidObservationError(error.message);
}

/**
 * The fields of a response: lower-case names to trimmed values, those of one name joined by `, ` in their order
 * (RFC 9110, section 5.3), without the ignored ones. Texts are read as UTF-8 where they are, and otherwise as
 * ISO 8859-1. A field with an invalid name is skipped: no history has one, so its absence changes nothing.
 *
 * @param fields with a character for each octet.
 * @throws InvalidObservationError for a name that is longer than a name may be.
 */
export function responseFields(fields: readonly HeaderField[], ignored: ReadonlySet<string>) {
  const values = new Map<string, string[]>();
  for (const [octets, value] of fields) {
    const name = textOfOctets(octets);
    if (ignored.has(name.toLowerCase()) || !isFieldName(name)) continue;
    addHeaderField(values, name, textOfOctets(value));
  }
  return joinHeaderFields(values);
}
