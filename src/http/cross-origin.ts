import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import { METHODS } from '../graphql/request.js';

const OPTIONS = {
  methods: METHODS,
  // The asterisk stands for every field but Authorization (Fetch, section 3.3.3).
  allowedHeaders: 'Authorization, *',
  exposedHeaders: 'Deprecation, ETag, Link, RateLimit, RateLimit-Policy, Retry-After, Sunset, X-Request-Id',
  // In seconds: the most that any browser takes.
  maxAge: 7200,
};

/**
 * Lets pages of other sites read responses, and responds to their browsers' preflights (Fetch, section 3.3).
 * Credentials that a browser adds by itself are not used: a page sends its token itself.
 *
 * @param origins All, or those that may. Requests of others get no CORS fields.
 */
export function allowOrigins(origins: '*' | readonly string[]) {
  const allow = cors({
    ...OPTIONS,
    // For all origins, the response is the same without Origin, so that caches may share it (section 3.3.6).
    origin:
      origins === '*'
        ? '*'
        : (origin, callback) => callback(null, origin !== undefined && origins.includes(origin) && origin),
  });
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { method, headers } = request;
    const asked = headers['access-control-request-method'];
    // For cors(), every OPTIONS is a preflight: both fields make it one (Fetch, section 3.3.2).
    if (method === 'OPTIONS' && (headers.origin === undefined || asked === undefined)) return;
    allow(request, response, () => {});
  };
}
