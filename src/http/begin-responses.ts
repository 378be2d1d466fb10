import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import { METHODS } from '../graphql/request.js';
import { invalidParameter } from '../model/errors.js';
import { DEFAULT_FIELDS, VARY } from './response-fields.js';

/**
 * Sets the fields that all responses have, rejects malformed requests, and answers preflights and `OPTIONS *`.
 *
 * @param origins Whose pages may read responses: all, or these. Requests of others get no CORS fields.
 */
export function beginResponses(origins: '*' | readonly string[]) {
  const variesByOrigin = origins !== '*' && origins.length > 0;
  const fields = Object.entries({ ...DEFAULT_FIELDS, vary: variesByOrigin ? `${VARY}, Origin` : VARY });
  const allow = origins.length > 0 ? allowOrigins(origins) : undefined;
  /** @throws PublicError INVALID_PARAMETER. */
  return (request: IncomingMessage, response: ServerResponse): void => {
    for (const [name, value] of fields) response.setHeader(name, value);
    requireSingleFields(request);
    // A server may ignore what a client prefers (RFC 9110, sections 12.5.1 and 12.5.3).
    for (const name of ['accept', 'accept-encoding'] as const)
      if ((request.headers[name]?.length ?? 0) > MAX_PREFERENCE) delete request.headers[name];
    if (request.method === 'OPTIONS' && request.url === '*') {
      // What the server as a whole can do (RFC 9110, section 9.3.7).
      response.writeHead(204, { allow: METHODS }).end();
    } else allow?.(request, response);
  };
}

/**
 * Rejects a request without exactly one Host (RFC 9112, section 3.2), or with more than one Authorization,
 * which is not a list (RFC 9110, section 5.3): `headers` has the first of several only.
 */
function requireSingleFields({ rawHeaders, httpVersion }: IncomingMessage): void {
  const hosts = countFields(rawHeaders, 'host');
  if (hosts !== 1 && (hosts !== 0 || httpVersion !== '1.0')) {
    throw invalidParameter('The request must have one header field Host (RFC 9112, section 3.2).');
  }
  if (countFields(rawHeaders, 'authorization') > 1) {
    const reason = 'have more than one header field Authorization (RFC 9110, section 5.3)';
    throw invalidParameter(`The request must not ${reason}.`);
  }
}

/** Not by `headersDistinct`: up to Node.js 20.19, it fails for a field named `constructor`. */
function countFields(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter(
    (sent, index) => index % 2 === 0 && sent.length === name.length && sent.toLowerCase() === name,
  ).length;
}

/** In characters. Negotiation takes longer than a request otherwise. */
const MAX_PREFERENCE = 1_000;

/** Credentials that a browser adds are not used: a page sends its token itself (Fetch, section 3.3). */
function allowOrigins(origins: '*' | readonly string[]) {
  const allow = cors({
    methods: METHODS,
    // The asterisk stands for every field but Authorization (Fetch, section 3.3.3).
    allowedHeaders: 'Authorization, *',
    exposedHeaders: 'Deprecation, ETag, Link, RateLimit, RateLimit-Policy, Retry-After, Sunset, X-Request-Id',
    // In seconds: the most that any browser takes.
    maxAge: 7200,
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
