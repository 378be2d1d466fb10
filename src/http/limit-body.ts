import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BODY_LIMIT } from '../graphql/request.js';
import { PublicError } from '../model/errors.js';

/** How long, in milliseconds, a rejected body is still read: a connection that is closed on unread data loses the response. */
const LINGER_MS = 1_000;

/**
 * Rejects a body that is announced as larger than 512 kB, and closes the connection. What reads a body limits
 * it itself; one that nothing reads, Node.js drops.
 *
 * @throws PublicError PAYLOAD_TOO_LARGE, at the end of the body or after a second of it.
 */
export async function limitBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) <= BODY_LIMIT) return;
  response.setHeader('connection', 'close');
  await once(request.resume(), 'end', { signal: AbortSignal.timeout(LINGER_MS) }).catch(() => {});
  throw new PublicError('PAYLOAD_TOO_LARGE', 'The body of the request is larger than 512 kB.');
}
