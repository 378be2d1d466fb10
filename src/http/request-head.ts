import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { PublicError } from '../model/errors.js';

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
 * Refuses a request that does not say once which host it is for (RFC 9112, section 3.2).
 *
 * @throws PublicError INVALID_PARAMETER.
 */
export function requireHost(request: Request): void {
  const hosts = countHosts(request);
  if (hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')) return;
  throw new PublicError(
    'INVALID_PARAMETER',
    'The request must have one header field Host (RFC 9112, section 3.2).',
  );
}

/** Whether the question is what the server as a whole can do (RFC 9110, section 9.3.7). */
export function asksForMethods({ method, url }: Request): boolean {
  return method === 'OPTIONS' && url === '*';
}

/** Node.js keeps the first of several fields only. */
function countHosts({ rawHeaders }: Request): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
