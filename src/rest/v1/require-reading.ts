import type { IncomingMessage, ServerResponse } from 'node:http';
import { PublicError } from '../../model/errors.js';

/**
 * Lets GET and HEAD pass. The refusal of another method goes with what is allowed (RFC 9110, section
 * 15.5.6).
 *
 * @throws PublicError METHOD_NOT_ALLOWED.
 */
export function requireReading({ method }: IncomingMessage, response: ServerResponse): void {
  if (method === 'GET' || method === 'HEAD') return;
  response.setHeader('allow', 'GET, HEAD');
  throw new PublicError('METHOD_NOT_ALLOWED', 'This can only be read: use GET or HEAD.');
}
