import type { IncomingMessage, ServerResponse } from 'node:http';
import { BODY_LIMIT } from '../graphql/request.js';
import { PublicError } from '../model/errors.js';
import type { Stage } from './stages.js';

/** How long, in milliseconds, a rejected body is still read: a connection that is closed on unread data loses the response. */
const LINGER_MS = 1_000;

/**
 * Rejects a body that is announced as larger than 512 kB with PAYLOAD_TOO_LARGE, and closes the connection. What reads a body limits it itself; one that nothing reads, Node.js drops.
 */
export const limitBodies: Stage = (request, response, next) => {
  if (Number(request.headers['content-length'] ?? 0) <= BODY_LIMIT) return next();
  response.setHeader('connection', 'close');
  const error = new PublicError('PAYLOAD_TOO_LARGE', 'The body of the request is larger than 512 kB.');
  void drain(request, response).then(() => next(error));
};

/** Resolves at the end of the body, or after a second of it. */
function drain(request: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, LINGER_MS);
    response.once('close', () => clearTimeout(timer));
    request.once('end', resolve).resume();
  });
}
