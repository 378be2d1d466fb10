import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Handler } from 'express';
import { requireGetOrHead } from '../../rest/v1/problem.js';
import { isUnmodified, validatorsOfText } from '../../rest/v1/validators.js';

/** A response that is the same for every client until the process ends. */
export interface StaticResponse {
  readonly mediaType: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client revalidates it each time, unless `headers` has another Cache-Control. Read at the first request. */
export function staticHandler(read: () => StaticResponse): Handler {
  let kept: ReturnType<typeof packed> | undefined;
  return (request, response) => {
    requireGetOrHead(request, response);
    kept ??= packed(read());
    const { mediaType, headers, validators, gzip, identity } = kept;
    response.set({ 'cache-control': 'no-cache', ...headers, etag: validators.etag });
    // Express would send all to fetch(), which asks with Cache-Control: no-cache.
    if (isUnmodified(request.headers, validators)) {
      response.status(304).end();
      return;
    }
    const isPacked = request.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (isPacked) response.set('content-encoding', 'gzip');
    response.set('content-type', mediaType).send(isPacked ? gzip : identity);
  };
}

/** All requests share both forms: a client that reads slowly holds no copy. */
function packed({ mediaType, headers, body }: StaticResponse) {
  const identity = Buffer.from(body);
  return { mediaType, headers, validators: validatorsOfText(identity), gzip: gzipSync(identity), identity };
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export type PageAt = readonly [path: string, read: () => StaticResponse];

/** The scripts, styles and pictures of a folder, as they are, or compressed with the ending `.gz`. */
export function filesIn(folder: URL, path: string, headers: Readonly<Record<string, string>> = {}) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    const name = file.replace(/\.gz$/, '');
    const mediaType = MEDIA_TYPES[extname(name)];
    if (mediaType === undefined) return [];
    const read = () => {
      const body = readFileSync(new URL(file, folder));
      return { mediaType, headers, body: file === name ? body : gunzipSync(body) };
    };
    return [[`${path}/${name}`, read] as const];
  });
}
