import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, PublicError } from '../model/errors.js';
import { problemOf } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';
import { DEFAULT_FIELDS, REQUEST_ID_FIELD, requestIdOf, VARY } from './response-fields.js';

export interface RejectionObserver {
  readonly log: Logger;
  readonly onRejected?: ((status: number) => void) | undefined;
}

export const MAX_HEADER_FIELDS = 2_000;

/** How long, in milliseconds, a rejected client may take to read the response. */
const LINGER_MS = 2_000;

/**
 * Responds to malformed requests with the body of all other errors; Accept is ignored. Complete requests before
 * it on the same connection get their responses first (RFC 9112, section 9.3.2), and none gets two: what is
 * wrong with the body of a request is the response to that request.
 *
 * @param exchangesOf Of a connection, in order: response not closed, or request not complete.
 */
export function handleClientErrors(
  server: Server,
  exchangesOf: (socket: Duplex) => ReadonlySet<ServerResponse>,
  observer: RejectionObserver,
): void {
  const failed = new WeakSet<Duplex>();
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    // What comes after the first error on a connection is the rest of the same.
    if (failed.has(socket)) return;
    failed.add(socket);
    const exchanges = exchangesOf(socket);
    const answer = () => {
      const current = [...exchanges].at(-1);
      if (code === 'ECONNRESET' || !socket.writable || current?.headersSent) socket.destroy();
      else if (current !== undefined) rejectRequest(current, code, observer);
      else endWith(socket, code, observer);
    };
    const before = [...exchanges].findLast(({ req, closed }) => req.complete && !closed);
    if (before === undefined || code === 'ECONNRESET') answer();
    else before.once('close', answer);
  });
}

/** What handles the request finds that its response has ended. @param reason As rejectionOf() takes it. */
export function rejectRequest(response: ServerResponse, reason: string, observer: RejectionObserver): void {
  const logged = response.getHeader(REQUEST_ID_FIELD);
  const requestId = String(logged ?? requestIdOf(response.req.headers));
  // A request that has its id in the response has a line in the log, too.
  const { status, fields, body } = rejectionOf(reason, requestId, logged ? undefined : observer);
  response.writeHead(status, fields).end(body);
}

const ERRORS: Readonly<Record<string, readonly [ErrorCode, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [
    'HEADERS_TOO_LARGE',
    `The request has more than ${MAX_HEADER_FIELDS} header fields, or they are larger than 16 KiB.`,
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    'PAYLOAD_TOO_LARGE',
    "The chunk extensions of the request's body are too large.",
  ],
};

/** @param reason Node.js' code of what is wrong with a request. */
function rejectionOf(reason: string, requestId: string, observer?: RejectionObserver) {
  const isLate = reason === 'ERR_HTTP_REQUEST_TIMEOUT';
  const [code, detail] = ERRORS[reason] ?? ['INVALID_PARAMETER', 'The request is not valid HTTP (RFC 9112).'];
  const problem = problemOf(new PublicError(code, detail), () => {}).body;
  const [status, body] = isLate ? [408, ''] : [problem.status, JSON.stringify(problem)];
  observer?.log.info({ requestId, status, reason }, 'request rejected');
  observer?.onRejected?.(status);
  const fields = {
    connection: 'close',
    [REQUEST_ID_FIELD]: requestId,
    ...DEFAULT_FIELDS,
    vary: VARY,
    ...(!isLate && { 'content-type': 'application/json; charset=utf-8' }),
    'content-length': String(Buffer.byteLength(body)),
  };
  return { status, fields, body };
}

/** Reads on while the client sends, since a connection closed on unread data loses the response. */
function endWith(socket: Duplex, reason: string, observer: RejectionObserver): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
  const { status, fields, body } = rejectionOf(reason, requestIdOf({}), observer);
  const lines = Object.entries(fields).map((field) => field.join(': '));
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
}
