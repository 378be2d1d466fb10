import type { Request, Response } from 'express';
import { PublicError } from '../model/errors.js';

/** In bytes; what GraphQL reads at most is the same. */
const MOST_BYTES = 512 * 1024;

/** For how long, in milliseconds, what is refused is still read: a connection closed on unread data loses the answer. */
const FAREWELL = 1_000;

/**
 * Refuses a body of more than 512 kB with PAYLOAD_TOO_LARGE, and ends the connection after that. A body whose
 * length is not announced, and that nobody would read, is read to its end before anything is answered.
 *
 * @param isRead Whether who answers at a path reads the body, and bounds it.
 * @returns whether it has taken the request over, and calls `next` itself.
 */
export function limitBody(
  request: Request,
  response: Response,
  next: (error?: unknown) => void,
  isRead: (path: string) => boolean,
): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (length !== undefined && Number(length) > MOST_BYTES) refuse(request, response, next);
  else if (coding !== undefined && !isRead(request.path)) readUnread(request, response, next);
  else return false;
  return true;
}

function readUnread(request: Request, response: Response, next: (error?: unknown) => void): void {
  let bytes = 0;
  const end = () => next();
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) return;
    request.off('data', count).off('end', end);
    refuse(request, response, next);
  };
  request.on('data', count).once('end', end);
}

function refuse(request: Request, response: Response, next: (error: unknown) => void): void {
  const answer = () => {
    clearTimeout(timer);
    request.off('end', answer);
    response.setHeader('connection', 'close');
    next(new PublicError('PAYLOAD_TOO_LARGE', 'The body of the request is larger than 512 kB.'));
  };
  const timer = setTimeout(answer, FAREWELL);
  response.once('close', () => clearTimeout(timer));
  request.once('end', answer).resume();
}
