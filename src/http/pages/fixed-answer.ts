import { createHash } from 'node:crypto';
import type { Handler } from 'express';
import { requireReading } from '../../rest/v1/require-reading.js';

/** What is answered to everybody, until the program ends. */
export interface FixedAnswer {
  readonly mediaType: string;
  readonly body: string;
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Answers GET and HEAD with a body that never changes. A client may keep it, and asks each time whether it
 * is still the same.
 */
export function fixedAnswer({ mediaType, body, headers = {} }: FixedAnswer): Handler {
  const bytes = Buffer.from(body);
  const fields = {
    'content-type': mediaType,
    'cache-control': 'no-cache',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    ...headers,
  };
  return (request, response) => {
    requireReading(request, response);
    response.set(fields);
    if (request.fresh) {
      response.removeHeader('content-type');
      response.status(304).end();
      return;
    }
    response.setHeader('content-length', bytes.length);
    response.end(bytes);
  };
}
