import { AsyncResource } from 'node:async_hooks';
import type { Handler, NextFunction, Request, Response } from 'express';
import { PublicError } from '../model/errors.js';

/** In bytes; what GraphQL reads at most is the same. */
const MOST_BYTES = 512 * 1024;

/**
 * For how long, in milliseconds, what is refused is still read after its last byte, and in all: a connection
 * that is closed on unread data loses the answer. In all it is less than a whole request may take.
 */
const FAREWELL = 1_000;
const LONGEST_FAREWELL = 20_000;

/**
 * Refuses a body of more than 512 kB with PAYLOAD_TOO_LARGE, and ends the connection after that. A body whose
 * length is not announced, and that nobody would read, is read to its end before anything is answered, unless
 * the client waits to be asked for it (RFC 9110, section 10.1.1).
 *
 * @param isRead Whether who answers a request reads its body, and bounds it.
 */
export function limitBodies(isRead: (request: Request) => boolean): Handler {
  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (length !== undefined && Number(length) > MOST_BYTES) refuse(request, response, next);
    else if (coding === undefined || isRead(request) || waitsForContinue(request)) next();
    else readUnread(request, response, next);
  };
}

function readUnread(request: Request, response: Response, next: NextFunction): void {
  let bytes = 0;
  // What goes on belongs to the request's trace, and not to the event of the socket.
  const end = AsyncResource.bind(() => next());
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) return;
    request.off('data', count).off('end', end);
    refuse(request, response, next);
  };
  request.on('data', count).once('end', end);
}

/** Whether the body is sent only when a 100 Continue has come, or after some time. */
function waitsForContinue({ headers }: Request): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

function refuse(request: Request, response: Response, next: NextFunction): void {
  const began = performance.now();
  const wait = () => {
    if (performance.now() - began < LONGEST_FAREWELL) timer.refresh();
  };
  const answer = () => {
    clearTimeout(timer);
    request.off('end', answer).off('data', wait);
    response.setHeader('connection', 'close');
    next(new PublicError('PAYLOAD_TOO_LARGE', 'The body of the request is larger than 512 kB.'));
  };
  const timer = setTimeout(answer, waitsForContinue(request) ? 0 : FAREWELL);
  response.once('close', () => clearTimeout(timer));
  if (!waitsForContinue(request)) request.on('data', wait).once('end', answer);
}
