import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Handler } from 'express';
import { requireGetOrHead } from '../../rest/v1/problem.js';
import { isUnmodified } from '../../rest/v1/validators.js';
import { COMPRESSION_THRESHOLD } from '../compression.js';

/** A response that is the same for every client until the process ends. */
export interface StaticResponse {
  readonly mediaType: string;
  /** A Buffer may be compressed by gzip: then `isPacked`. */
  readonly body: string | Buffer;
  readonly isPacked?: boolean;
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response in its content codings, which all requests share: a client that reads slowly holds no copy. */
interface Representation extends Pick<StaticResponse, 'mediaType' | 'headers'> {
  readonly etag: string;
  readonly identity: Buffer;
  /** Undefined: it is too small to be compressed. */
  readonly gzip: Buffer | undefined;
}

/**
 * Responds to GET and HEAD with a body that never changes. A client may cache it, and revalidates it each time
 * unless `headers` has another Cache-Control.
 *
 * @param read Gives the response, at the first request: most processes never show a page.
 */
export function staticHandler(read: () => StaticResponse): Handler {
  let kept: Representation | undefined;
  return (request, response) => {
    requireGetOrHead(request, response);
    kept ??= representationOf(read());
    const { mediaType, headers, etag, gzip, identity } = kept;
    response.set({ 'cache-control': 'no-cache', ...headers, etag });
    // Nothing here has a date. Express would send all to fetch(), which asks with Cache-Control: no-cache.
    if (isUnmodified(request.headers, { etag, lastModified: Number.POSITIVE_INFINITY }, 0)) {
      response.status(304).end();
      return;
    }
    const packed = gzip && request.acceptsEncodings('gzip', 'identity') === 'gzip' ? gzip : undefined;
    if (packed !== undefined) response.set('content-encoding', 'gzip');
    response.set('content-type', mediaType).send(packed ?? identity);
  };
}

function representationOf({ mediaType, headers = {}, isPacked, ...read }: StaticResponse): Representation {
  const body = Buffer.from(read.body);
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 22);
  // Weak: one tag stands for every content coding (RFC 9110, section 8.8.3.3).
  const shared = { mediaType, headers, etag: `W/"${digest}"` };
  if (isPacked) return { ...shared, gzip: body, identity: gunzipSync(body) };
  return {
    ...shared,
    gzip: body.length < COMPRESSION_THRESHOLD ? undefined : gzipSync(body),
    identity: body,
  };
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export type PageAt = readonly [path: string, read: () => StaticResponse];

/**
 * The scripts, styles and pictures of a folder.
 *
 * @param folder Of files as they are, or compressed with the ending `.gz`.
 */
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
