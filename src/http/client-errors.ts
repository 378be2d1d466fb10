import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, PublicError } from '../model/errors.js';
import { problemOf } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';
import type { Connections } from './connections.js';
import { REQUEST_ID_FIELD, requestIdOf } from './identify-requests.js';
import { DEFAULT_FIELDS, VARY } from './response-fields.js';

/** Who is told of what is rejected here. */
export interface RejectionObserver {
  readonly log: Logger;
  /** Takes the status of what was rejected before it was a request; absent: nobody counts. */
  readonly onRejected?: ((status: number) => void) | undefined;
}

/** What a client was told by the socket itself, in place of a response. */
export interface SocketRejection {
  readonly status: number;
  /** Node.js' code of what was wrong with the request. */
  readonly reason: string | undefined;
}

/** The rejections that were sent in place of a response: the response itself never will be. */
export const socketRejections: WeakMap<ServerResponse, SocketRejection> = new WeakMap();

/** How long, in milliseconds, a rejected client may take to read why. */
const LINGER_MS = 2_000;

interface Rejection {
  readonly status: number;
  readonly body: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/**
 * Answers what is not valid HTTP, with the body that all other errors have; Accept is not looked at. Complete
 * requests that came before it on the same connection are answered first (RFC 9112, section 9.3.2), and none is
 * answered twice. An error within the body of a request is answered under the id of that request.
 */
export function handleClientErrors(
  server: Server,
  connections: Connections,
  observer: RejectionObserver,
): void {
  const failed = new WeakSet<Duplex>();
  const pendingOn = (socket: Duplex) => [...(connections.get(socket)?.pending ?? [])];
  const reject = (code: string | undefined, socket: Duplex) => {
    const pending = pendingOn(socket);
    const isBegun = pending.some(({ headersSent }) => headersSent);
    if (!socket.writable || isBegun || isAnswered(connections.get(socket)?.latest)) socket.destroy();
    else rejectOn(socket, rejectionOf(code), code, pending[0], observer);
  };
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    // What comes after the first error on a connection is the rest of the same.
    if (failed.has(socket)) return;
    failed.add(socket);
    if (code === 'ECONNRESET') socket.destroy();
    else afterResponses(pendingOn(socket), () => reject(code, socket));
  });
  // Node.js would close the connection without a response.
  server.on('connect', ({ headers }: IncomingMessage, socket) => {
    // Node.js has removed its own listener: without one, a client that resets would end the process.
    socket.on('error', () => socket.destroy());
    afterResponses(pendingOn(socket), () => {
      const requestId = logRejection(observer, NO_PROXY.status, 'CONNECT', headers);
      endWith(socket, textOf(NO_PROXY, requestId));
    });
  });
}

/** @param response To the request within whose body the error is; undefined: it is in none. */
function rejectOn(
  socket: Duplex,
  rejection: Rejection,
  reason: string | undefined,
  response: ServerResponse | undefined,
  observer: RejectionObserver,
): void {
  const { status } = rejection;
  const loggedId = response?.getHeader(REQUEST_ID_FIELD);
  const method = response?.req.method;
  if (response !== undefined && typeof loggedId === 'string') {
    socketRejections.set(response, { status, reason });
    endWith(socket, textOf(rejection, loggedId, method));
  } else {
    endWith(socket, textOf(rejection, logRejection(observer, status, reason, response?.req.headers), method));
  }
}

/**
 * Rejects a request with so many header fields that Node.js has dropped some: what they say must not count as
 * left out.
 *
 * @param limit How many a request may have.
 */
export function rejectTooManyFields(
  { headers }: IncomingMessage,
  response: ServerResponse,
  limit: number,
  observer: RejectionObserver,
): void {
  const detail = `The request has more than ${limit.toLocaleString('en')} header fields.`;
  const rejection = problem('HEADERS_TOO_LARGE', detail);
  const requestId = logRejection(observer, rejection.status, 'TOO_MANY_HEADER_FIELDS', headers);
  response.writeHead(rejection.status, fieldsOf(rejection, requestId));
  response.end(rejection.body);
}

/** Tells of a rejection that no other line of the log is about, and gives the id under which it does. */
function logRejection(
  { log, onRejected }: RejectionObserver,
  status: number,
  reason: string | undefined,
  headers?: IncomingMessage['headers'],
): string {
  const requestId = headers === undefined ? randomUUID() : requestIdOf(headers);
  log.info({ requestId, status, reason }, 'request rejected');
  onRejected?.(status);
  return requestId;
}

/** Whether the error is in the rest of a request that has been answered. */
function isAnswered(latest: ServerResponse | undefined): boolean {
  return latest?.writableFinished === true && !latest.req.complete;
}

/** Responses go in their requests' order. A request that is not complete is what the error is about. */
function afterResponses(pending: readonly ServerResponse[], then: () => void): void {
  const last = pending.findLast(({ req }) => req.complete);
  if (last === undefined) then();
  else last.once('close', then);
}

function rejectionOf(code: string | undefined): Rejection {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem('HEADERS_TOO_LARGE', 'The header fields of the request are larger than 16 KiB.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return problem('PAYLOAD_TOO_LARGE', "The chunk extensions of the request's body are too large.");
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, body: '' };
    default:
      return problem('INVALID_PARAMETER', 'The request is not valid HTTP (RFC 9112).');
  }
}

const NO_PROXY: Rejection = {
  ...problem('METHOD_NOT_ALLOWED', 'Method not allowed: use GET, HEAD or POST.'),
  fields: { allow: 'GET, HEAD, POST' },
};

function problem(code: ErrorCode, detail: string): Rejection {
  const { body } = problemOf(new PublicError(code, detail), () => {});
  return { status: body.status, body: JSON.stringify(body) };
}

function fieldsOf({ body, fields = {} }: Rejection, requestId: string): Record<string, string> {
  return {
    connection: 'close',
    [REQUEST_ID_FIELD]: requestId,
    ...DEFAULT_FIELDS,
    vary: VARY,
    ...fields,
    ...(body === '' ? {} : { 'content-type': 'application/json; charset=utf-8' }),
    'content-length': String(Buffer.byteLength(body)),
  };
}

/** @param method The request's, where it is known: a response to HEAD has no body (RFC 9110, section 9.3.2). */
function textOf(rejection: Rejection, requestId: string, method?: string): string {
  const { status, body } = rejection;
  const fields = Object.entries(fieldsOf(rejection, requestId)).map(([name, value]) => `${name}: ${value}`);
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...fields];
  return `${lines.join('\r\n')}\r\n\r\n${method === 'HEAD' ? '' : body}`;
}

/** Reads on while the client sends, since a connection closed on unread data loses the response. */
function endWith(socket: Duplex, text: string): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
  socket.end(text);
  socket.resume();
}
