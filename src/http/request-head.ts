import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { PublicError } from '../model/errors.js';

const HOST = 'host';
const AUTHORIZATION = 'authorization';

/**
 * Brings every form of a request's target (RFC 9112, section 3.2) into the one that is answered: the path.
 * A fragment has no place in a target, and clients leave it out: it is passed over. A router remembers the
 * first form that it sees, so this comes before.
 */
export function readTarget(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.startsWith('/')) {
    const fragment = url.indexOf('#');
    if (fragment !== -1) request.url = url.slice(0, fragment);
    return;
  }
  if (!URL.canParse(url)) return;
  const { pathname, search } = new URL(url);
  request.url = pathname + search;
}

/**
 * Refuses a request that does not say once which host it is for (RFC 9112, section 3.2), or says twice who asks:
 * Authorization is no list, so it may come once only (RFC 9110, section 5.3).
 *
 * @throws PublicError INVALID_PARAMETER.
 */
export function requireSingleFields(request: Request): void {
  const { hosts, authorizations } = countFields(request);
  if (hosts !== 1 && (hosts !== 0 || request.httpVersion !== '1.0')) {
    throw new PublicError(
      'INVALID_PARAMETER',
      'The request must have one header field Host (RFC 9112, section 3.2).',
    );
  }
  if (authorizations > 1) {
    throw new PublicError(
      'INVALID_PARAMETER',
      'The request must not have more than one header field Authorization (RFC 9110, section 5.3).',
    );
  }
}

/** Whether the question is what the server as a whole can do (RFC 9110, section 9.3.7). */
export function asksForMethods({ method, url }: Request): boolean {
  return method === 'OPTIONS' && url === '*';
}

/** Node.js keeps the first of several fields only. */
function countFields({ rawHeaders }: Request): { readonly hosts: number; readonly authorizations: number } {
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts += 1;
    else if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION)
      authorizations += 1;
  }
  return { hosts, authorizations };
}
