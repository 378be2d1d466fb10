import type { IncomingMessage, ServerResponse } from 'node:http';
import compression from 'compression';
import type { Request, Response } from 'express';
import Negotiator from 'negotiator';

/** Bodies of fewer octets go into one packet anyway. */
const COMPRESSION_THRESHOLD = 1_024;

/** Unknown to the list of types that `compression` has. */
const NDJSON = /^application\/x-ndjson\b/;

const compress = compression({
  threshold: COMPRESSION_THRESHOLD,
  filter(request, response) {
    const isCompressible =
      compression.filter(request, response) || NDJSON.test(String(response.getHeader('content-type')));
    if (isCompressible && request.method === 'HEAD') omitLength(request, response);
    return isCompressible;
  },
});

export function compressResponse(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['accept-encoding'] === undefined) return;
  // It uses nothing of Express; its types are those of Express' handlers.
  compress(request as Request, response as Response, () => {});
}

/** The length of a compressed body is not known, and that of HEAD must be the same (RFC 9110, section 8.6). */
function omitLength(request: IncomingMessage, response: ServerResponse): void {
  const coding = new Negotiator(request).encoding(['br', 'gzip', 'deflate', 'identity']) ?? 'identity';
  const isSmall = Number(response.getHeader('content-length')) < COMPRESSION_THRESHOLD;
  if (coding !== 'identity' && !isSmall) response.removeHeader('content-length');
}
