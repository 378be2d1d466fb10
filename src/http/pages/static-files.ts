import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Handler } from 'express';
import { requireGetOrHead } from '../../rest/v1/problem.js';
import { isUnmodified, validatorsOfText } from '../../rest/v1/validators.js';
import { COMPRESSION_THRESHOLD } from '../compression.js';

/** A response that is the same for every client until the process ends. */
export interface StaticResponse {
  readonly mediaType: string;
  /** A Buffer may be compressed by gzip: then `isPacked`. */
  readonly body: string | Buffer;
  readonly isPacked?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A client may cache the response, and revalidates it each time unless `headers` has another Cache-Control.
 *
 * @param read Is called at the first request: most processes never show a page.
 */
export function staticHandler(read: () => StaticResponse): Handler {
  let kept: ReturnType<typeof representationOf> | undefined;
  return (request, response) => {
    requireGetOrHead(request, response);
    kept ??= representationOf(read());
    const { mediaType, headers, validators, gzip, identity } = kept;
    response.set({ 'cache-control': 'no-cache', ...headers, etag: validators.etag });
    // Express would send all to fetch(), which asks with Cache-Control: no-cache.
    if (isUnmodified(request.headers, validators)) {
      response.status(304).end();
      return;
    }
    const packed = gzip && request.acceptsEncodings('gzip', 'identity') === 'gzip' ? gzip : undefined;
    if (packed !== undefined) response.set('content-encoding', 'gzip');
    response.set('content-type', mediaType).send(packed ?? identity);
  };
}

/** A response in its content codings, which all requests share: a client that reads slowly holds no copy. */
function representationOf({ mediaType, headers, isPacked = false, ...read }: StaticResponse) {
  const body = Buffer.from(read.body);
  const isSmall = body.length < COMPRESSION_THRESHOLD;
  return {
    mediaType,
    headers,
    validators: validatorsOfText(body),
    identity: isPacked ? gunzipSync(body) : body,
    gzip: isPacked ? body : isSmall ? undefined : gzipSync(body),
  };
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export type PageAt = readonly [path: string, read: () => StaticResponse];

/** The scripts, styles and pictures of a folder, as they are, or compressed with the ending `.gz`. */
export function filesIn(
  folder: URL,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): readonly PageAt[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    const name = file.replace(/\.gz$/, '');
    const mediaType = MEDIA_TYPES[extname(name)];
    if (mediaType === undefined) return [];
    const isPacked = file !== name;
    const read = () => ({ mediaType, headers, isPacked, body: readFileSync(new URL(file, folder)) });
    return [[`${path}/${name}`, read] as const];
  });
}
