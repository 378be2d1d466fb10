import type { IncomingMessage, ServerResponse } from 'node:http';
import compression from 'compression';
import express, { type Request } from 'express';
import { PublicError } from '../model/errors.js';
import { defaultFields } from './response-fields.js';
import type { Stage } from './stages.js';

/** Bodies of fewer octets go into one packet anyway. */
export const COMPRESSION_THRESHOLD = 1_024;

/** Responses that their handler has encoded as the client accepts it: they are not compressed for each request. */
export const encodedResponses: WeakSet<object> = new WeakSet();

/** Unknown to the list of types that `compression` has. */
const NDJSON = /^application\/x-ndjson\b/;

const compressing = compression({
  threshold: COMPRESSION_THRESHOLD,
  filter(request, response) {
    if (encodedResponses.has(response)) return false;
    const isCompressible =
      compression.filter(request, response) || NDJSON.test(String(response.getHeader('content-type')));
    if (isCompressible && request.method === 'HEAD') omitLength(response);
    return isCompressible;
  },
});
// It uses nothing of Express; its types are those of Express' handlers.
const compress = compressing as unknown as (...parameters: Parameters<Stage>) => void;

/** The length of a compressed body is not known, and that of HEAD must be the same (RFC 9110, section 8.6). */
function omitLength(response: ServerResponse): void {
  const isCompressed = response.hasHeader('content-encoding');
  const isSmall = Number(response.getHeader('content-length')) < COMPRESSION_THRESHOLD;
  if (!isCompressed && !isSmall) response.removeHeader('content-length');
}

/**
 * Begins every response: its header fields, its content coding, and the rejection of malformed requests. It is one
 * stage, since a stage costs more than each of these.
 *
 * @param variesByOrigin Whether the response depends on Origin.
 */
export function beginResponses({ variesByOrigin }: { readonly variesByOrigin: boolean }): Stage {
  const setFields = defaultFields(variesByOrigin);
  return (request, response, next) => {
    setFields(response);
    requireSingleFields(request);
    ignoreLongPreferences(request);
    if (request.method === 'OPTIONS' && request.url === '*') sendMethods(response);
    else if (acceptsCompression(request)) compress(request, response, next);
    else next();
  };
}

/** In characters. Negotiation takes longer than a request otherwise. */
const LONGEST_PREFERENCE = 1_000;

/** A server may ignore what a client prefers (RFC 9110, sections 12.5.1 and 12.5.3). */
function ignoreLongPreferences({ headers }: IncomingMessage): void {
  if ((headers.accept?.length ?? 0) > LONGEST_PREFERENCE) delete headers.accept;
  if (String(headers['accept-encoding'] ?? '').length > LONGEST_PREFERENCE) delete headers['accept-encoding'];
}

function acceptsCompression({ headers }: IncomingMessage): boolean {
  if (headers['accept-encoding'] === undefined) return false;
  const request: Pick<Request, 'acceptsEncodings'> = Object.assign(Object.create(express.request), {
    headers,
  });
  const coding = request.acceptsEncodings('br', 'gzip', 'deflate', 'identity');
  return coding !== false && coding !== 'identity';
}

/**
 * Rejects a request without exactly one Host (RFC 9112, section 3.2), or with more than one Authorization, which is
 * not a list (RFC 9110, section 5.3).
 *
 * @throws PublicError INVALID_PARAMETER.
 */
function requireSingleFields({ headersDistinct, httpVersion }: IncomingMessage): void {
  // `headers` has the first of several fields only.
  const hosts = headersDistinct['host']?.length ?? 0;
  if (hosts !== 1 && (hosts !== 0 || httpVersion !== '1.0')) {
    throw new PublicError(
      'INVALID_PARAMETER',
      'The request must have one header field Host (RFC 9112, section 3.2).',
    );
  }
  if ((headersDistinct['authorization']?.length ?? 0) > 1) {
    throw new PublicError(
      'INVALID_PARAMETER',
      'The request must not have more than one header field Authorization (RFC 9110, section 5.3).',
    );
  }
}

/** What the server as a whole can do (RFC 9110, section 9.3.7). */
function sendMethods(response: ServerResponse): void {
  response.writeHead(204, { allow: 'GET, HEAD, POST' });
  response.end();
}
