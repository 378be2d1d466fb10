import type { Handler, NextFunction, Request, Response } from 'express';

/** What a page of another site may read of an answer, besides its body and the fields of no interest. */
const EXPOSED = [
  ...['Deprecation', 'ETag', 'Link', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'Sunset'],
  'X-Request-Id',
].join(', ');

const METHODS = 'GET, HEAD, POST';

/** The asterisk stands for every field but Authorization (Fetch, section 3.3.3). */
const REQUEST_FIELDS = 'Authorization, *';

/** For how many seconds a browser may remember what it was permitted: the most that any takes. */
const PERMISSION_AGE = '7200';

/**
 * Lets pages of other sites read answers (Fetch, section 3.3), and answers what their browsers ask before.
 * Credentials that a browser adds by itself are never asked for: a page sends its token itself.
 *
 * @param origins All, or those that may. Others are answered as if there were no such thing.
 */
export function allowOrigins(origins: '*' | readonly string[]): Handler {
  return origins === '*' ? allowAll : allowListed(new Set(origins));
}

/** The same to everybody, whether a page asks or not: a cache gives one's answer to the other (Fetch, section 3.3.6). */
const allowAll: Handler = (request, response, next) => {
  allow(request, response, '*', next);
};

function allowListed(allowed: ReadonlySet<string>): Handler {
  return (request, response, next) => {
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) next();
    else allow(request, response, origin, next);
  };
}

function allow(request: Request, response: Response, origin: string, next: NextFunction): void {
  response.setHeader('access-control-allow-origin', origin);
  if (isPreflight(request)) answerPreflight(response);
  else {
    response.setHeader('access-control-expose-headers', EXPOSED);
    next();
  }
}

/** Fetch, section 3.3.2: both fields make it one. */
function isPreflight({ method, headers }: Request): boolean {
  if (method !== 'OPTIONS' || headers.origin === undefined) return false;
  return headers['access-control-request-method'] !== undefined;
}

function answerPreflight(response: Response): void {
  response.statusCode = 204;
  response.setHeader('access-control-allow-methods', METHODS);
  response.setHeader('access-control-allow-headers', REQUEST_FIELDS);
  response.setHeader('access-control-max-age', PERMISSION_AGE);
  response.end();
}
