import type { IncomingMessage } from 'node:http';
import type { Handler, Request } from 'express';
import { PublicError } from '../model/errors.js';

/**
 * Brings every form of a request's target (RFC 9112, section 3.2) into the one that is answered: the path.
 * A router remembers the first form that it sees, so this comes before.
 */
export function readTarget(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.startsWith('/') || !URL.canParse(url)) return;
  const { pathname, search } = new URL(url);
  request.url = pathname + search;
}

/**
 * Refuses a request that does not say once which host it is for (RFC 9112, section 3.2), and answers the
 * question what the server as a whole can do (RFC 9110, section 9.3.7).
 *
 * @throws PublicError INVALID_PARAMETER.
 */
export const checkHead: Handler = (request, response, next) => {
  const hosts = countHosts(request);
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) {
    throw new PublicError(
      'INVALID_PARAMETER',
      'The request must have one header field Host (RFC 9112, section 3.2).',
    );
  }
  if (request.method === 'OPTIONS' && request.url === '*') {
    response.writeHead(204, { allow: 'GET, HEAD, POST' });
    response.end();
  } else next();
};

/** Node.js keeps the first of several fields only. */
function countHosts({ rawHeaders }: Request): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
