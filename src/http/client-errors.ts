import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, PublicError } from '../model/errors.js';
import { problemOf } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';
import type { Connections } from './connections.js';
import { DEFAULT_FIELDS, VARY } from './default-fields.js';
import { REQUEST_ID_FIELD, requestIdOf } from './identify-requests.js';
import { markRefused } from './refused-responses.js';

/** Who is told of what is refused here. */
export interface RefusalFollowers {
  readonly log: Logger;
  /** Takes the status of what was refused without becoming a request; absent: nobody counts. */
  readonly onRefused?: ((status: number) => void) | undefined;
}

/** How long, in milliseconds, a client may take to read why it was refused. */
const FAREWELL = 2_000;

interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly fields?: readonly string[];
}

/**
 * Answers what is not HTTP enough to become a request, or to be one to its end, in the shape that all other
 * refusals have; Accept is not looked at. Whole requests that came before it on the same connection are
 * answered first (RFC 9112, section 9.3.2), and none has two answers. What is refused amid the body of a
 * request is refused under the id of that, and whoever follows it tells of it.
 */
export function answerClientErrors(
  server: Server,
  connections: Connections,
  { log, onRefused = () => {} }: RefusalFollowers,
): void {
  const refused = new WeakSet<Duplex>();
  const unansweredOf = (socket: Duplex) => [...(connections.get(socket)?.unanswered ?? [])];
  const refuse = (code: string | undefined, socket: Duplex) => {
    const unanswered = unansweredOf(socket);
    const midway = unanswered.some(({ headersSent }) => headersSent);
    if (!socket.writable || midway || isAnswered(connections.get(socket)?.latest)) {
      socket.destroy();
      return;
    }
    const refusal = refusalOf(code);
    const { status } = refusal;
    const [response] = unanswered;
    const followed = response?.getHeader(REQUEST_ID_FIELD);
    if (response !== undefined && typeof followed === 'string') {
      markRefused(response, { status, reason: code });
      sayFarewell(socket, textOf(refusal, followed, response.req.method));
      return;
    }
    const requestId = response === undefined ? randomUUID() : requestIdOf(response.req.headers);
    log.info({ requestId, status, reason: code }, 'request refused');
    onRefused(status);
    sayFarewell(socket, textOf(refusal, requestId, response?.req.method));
  };
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    // What comes after the first error on a connection is the rest of the same.
    if (refused.has(socket)) return;
    refused.add(socket);
    if (code === 'ECONNRESET') socket.destroy();
    else afterAnswers(unansweredOf(socket), () => refuse(code, socket));
  });
  // Node.js would close the connection without a word.
  server.on('connect', (request: IncomingMessage, socket) => {
    // Node.js has taken its own listener away: without one, a client that resets would end the process.
    socket.on('error', () => socket.destroy());
    const requestId = requestIdOf(request.headers);
    afterAnswers(unansweredOf(socket), () => {
      log.info({ requestId, method: request.method, status: NO_PROXY.status }, 'request refused');
      onRefused(NO_PROXY.status);
      sayFarewell(socket, textOf(NO_PROXY, requestId));
    });
  });
}

/** Whether the rest of a request's body is what the error is about, and the request has its answer already. */
function isAnswered(latest: ServerResponse | undefined): boolean {
  return latest?.writableFinished === true && !latest.req.complete;
}

/** Responses go in their requests' order. A request that is not whole is what the error is about. */
function afterAnswers(unanswered: readonly ServerResponse[], then: () => void): void {
  const last = unanswered.findLast(({ req }) => req.complete);
  if (last === undefined) then();
  else last.once('close', then);
}

function refusalOf(code: string | undefined): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refusal('HEADERS_TOO_LARGE', 'The header fields of the request are larger than 16 KiB.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusal('PAYLOAD_TOO_LARGE', "The chunk extensions of the request's body are too large.");
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, body: '' };
    default:
      return refusal('INVALID_PARAMETER', 'The request is not valid HTTP (RFC 9112).');
  }
}

const NO_PROXY: Refusal = {
  ...refusal('METHOD_NOT_ALLOWED', 'This is no proxy: use GET, HEAD or POST.'),
  fields: ['allow: GET, HEAD, POST'],
};

function refusal(code: ErrorCode, detail: string): Refusal {
  const { body } = problemOf(new PublicError(code, detail), () => {});
  return { status: body.status, body: JSON.stringify(body) };
}

/** @param method The request's, where it is known: a response to HEAD has no body (RFC 9110, section 9.3.2). */
function textOf({ status, body, fields: further = [] }: Refusal, requestId: string, method?: string): string {
  const fields = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    `${REQUEST_ID_FIELD}: ${requestId}`,
    ...Object.entries({ ...DEFAULT_FIELDS, vary: VARY }).map(([name, value]) => `${name}: ${value}`),
    ...further,
    ...(body === '' ? [] : ['content-type: application/json; charset=utf-8']),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${fields.join('\r\n')}\r\n\r\n${method === 'HEAD' ? '' : body}`;
}

/**
 * Rejects a request with so many header fields that Node.js has dropped some: what they say must not count as
 * left out.
 *
 * @param most How many a request may have.
 */
export function rejectTooManyFields(
  { headers }: IncomingMessage,
  response: ServerResponse,
  most: number,
  { log, onRefused = () => {} }: RefusalFollowers,
): void {
  const detail = `The request has more than ${most.toLocaleString('en')} header fields.`;
  const { status, body } = refusal('HEADERS_TOO_LARGE', detail);
  const requestId = requestIdOf(headers);
  log.info({ requestId, status, reason: 'TOO_MANY_HEADER_FIELDS' }, 'request refused');
  onRefused(status);
  response.writeHead(status, {
    ...DEFAULT_FIELDS,
    vary: VARY,
    connection: 'close',
    [REQUEST_ID_FIELD]: requestId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

/** Reads on while the client does, since a connection closed on unread data loses what was said last. */
function sayFarewell(socket: Duplex, text: string): void {
  const timer = setTimeout(() => socket.destroy(), FAREWELL);
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
  socket.end(text);
  socket.resume();
}
