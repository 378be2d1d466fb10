import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BODY_LIMIT } from '../graphql/request.js';
import { PublicError } from '../model/errors.js';
import type { Next, Stage } from './stages.js';

/**
 * For how long, in milliseconds, a rejected body is still read after its last octet, and in all: a connection
 * that is closed on unread data loses the response. In all it is less than a whole request may take.
 */
const LINGER_MS = 1_000;
const MAX_LINGER_MS = 20_000;

/**
 * Rejects a body of more than 512 kB with PAYLOAD_TOO_LARGE, and closes the connection. A body without a
 * Content-Length that no handler would read is read to its end before the response, unless the client waits for
 * a 100 Continue (RFC 9110, section 10.1.1).
 *
 * @param isRead Whether the handler of a request reads its body, and limits it.
 */
export function limitBodies(isRead: (request: IncomingMessage) => boolean): Stage {
  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (length !== undefined && Number(length) > BODY_LIMIT) reject(request, response, next);
    else if (coding === undefined || isRead(request) || waitsForContinue(request)) next();
    else readUnread(request, response, next);
  };
}

function readUnread(request: IncomingMessage, response: ServerResponse, next: Next): void {
  let bytes = 0;
  // The rest of the request belongs to its trace, and not to the event of the socket.
  const end = AsyncResource.bind(() => next());
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= BODY_LIMIT) return;
    request.off('data', count).off('end', end);
    reject(request, response, next);
  };
  request.on('data', count).once('end', end);
}

/** Whether the client sends the body only after a 100 Continue, or after some time. */
function waitsForContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

function reject(request: IncomingMessage, response: ServerResponse, next: Next): void {
  const began = performance.now();
  const wait = () => {
    if (performance.now() - began < MAX_LINGER_MS) timer.refresh();
  };
  const answer = () => {
    clearTimeout(timer);
    request.off('end', answer).off('data', wait);
    response.setHeader('connection', 'close');
    next(new PublicError('PAYLOAD_TOO_LARGE', 'The body of the request is larger than 512 kB.'));
  };
  const timer = setTimeout(answer, waitsForContinue(request) ? 0 : LINGER_MS);
  response.once('close', () => clearTimeout(timer));
  if (!waitsForContinue(request)) request.on('data', wait).once('end', answer);
}
