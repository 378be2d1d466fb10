import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Handler, Request, Response } from 'express';
import { requireGetOrHead } from '../../rest/v1/problem.js';
import { COMPRESSION_THRESHOLD, encodedResponses } from '../begin-responses.js';

/** A response that is the same for every client until the process ends. */
export interface StaticResponse {
  readonly mediaType: string;
  readonly body: string | Buffer;
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Responds to GET and HEAD with a body that never changes. A client may cache it, and revalidates it each time unless
 * `headers` has another Cache-Control.
 */
export function staticHandler({ mediaType, body, headers = {} }: StaticResponse): Handler {
  const identity = typeof body === 'string' ? Buffer.from(body) : body;
  let compressed: Buffer | undefined;
  const representation: Representation = {
    tag: opaqueTagOf(identity),
    length: identity.length,
    gzip() {
      compressed ??= gzipSync(identity);
      return compressed;
    },
    identity: () => identity,
  };
  return (request, response) => {
    requireGetOrHead(request, response);
    send(request, response.set({ ...REVALIDATED, ...headers }), mediaType, representation);
  };
}

const REVALIDATED = { 'cache-control': 'no-cache' };

/** A body in its content codings, which all responses share: a client that reads slowly holds no copy. */
interface Representation {
  /** Of opaqueTagOf(). */
  readonly tag: string;
  /** Of the identity, in octets. */
  readonly length: number;
  gzip(): Buffer;
  identity(): Buffer;
}

function send(
  request: Request,
  response: Response,
  mediaType: string,
  { tag, length, gzip, identity }: Representation,
): void {
  encodedResponses.add(response);
  if (sendNotModified(request, response, tag)) return;
  const takesGzip =
    length >= COMPRESSION_THRESHOLD && request.acceptsEncodings('gzip', 'identity') === 'gzip';
  const body = takesGzip ? gzip() : identity();
  if (takesGzip) response.setHeader('content-encoding', 'gzip');
  response.writeHead(200, { 'content-type': mediaType, 'content-length': body.length }).end(body);
}

/** The opaque tag of an entity tag, in its quotes (RFC 9110, section 8.8.3). */
function opaqueTagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}

/**
 * Sets the entity tag, and responds with 304 to a client that has the body. If-None-Match is the only
 * precondition: nothing here has a date, or is written by clients.
 *
 * @param tag of opaqueTagOf().
 * @returns whether it has responded.
 */
function sendNotModified(request: Request, response: Response, tag: string): boolean {
  // Weak: one tag stands for every content coding (RFC 9110, section 8.8.3.3).
  response.set({ etag: `W/${tag}` });
  if (!names(request.headers['if-none-match'], tag)) return false;
  response.writeHead(304).end();
  return true;
}

/**
 * Whether If-None-Match has a validator (RFC 9110, section 13.1.2). Express' own check sends the body again for
 * `Cache-Control: no-cache` in the request, which fetch() adds.
 */
function names(field: string | undefined, tag: string): boolean {
  if (field === undefined) return false;
  return field.split(',').some((named) => named.trim() === '*' || named.trim().replace(/^W\//, '') === tag);
}

/** Written by the build (scripts/pages.js); the same from src/ and from dist/. */
const FOLDER = fileURLToPath(new URL('../../../dist/pages', import.meta.url));

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

/** All files that pages load, with their media types. */
const FILES: Readonly<Record<string, string>> = {
  'swagger-ui/swagger-ui-bundle.js': JAVASCRIPT,
  'swagger-ui/swagger-ui.css': CSS,
  'graphiql/graphiql.js': JAVASCRIPT,
  'graphiql/graphiql.css': CSS,
  'graphiql/editor-worker.js': JAVASCRIPT,
  'graphiql/json-worker.js': JAVASCRIPT,
  'graphiql/graphql-worker.js': JAVASCRIPT,
};

/**
 * The files that pages load, by path: compressed for a client that accepts gzip, and unpacked for others.
 *
 * @param folder Of the compressed files; absent: the build's.
 */
export function assetHandlers(
  assets: string,
  folder = FOLDER,
): readonly (readonly [path: string, handler: Handler])[] {
  return Object.entries(FILES).map(([name, mediaType]) => [
    `${assets}/${name}`,
    assetHandler(join(folder, `${name}.gz`), mediaType),
  ]);
}

function assetHandler(file: string, mediaType: string): Handler {
  // Read at the first request: most processes never show a page.
  let read: Representation | undefined;
  return (request, response) => {
    requireGetOrHead(request, response);
    read ??= readAsset(file);
    send(request, response.set(REVALIDATED), mediaType, read);
  };
}

/** @throws what reading throws where the build has not been run; the next request tries again. */
function readAsset(file: string): Representation {
  const compressed = readFileSync(file);
  let unpacked: Buffer | undefined;
  return {
    tag: opaqueTagOf(compressed),
    // The last field of a gzip file (RFC 1952, section 2.3.1: ISIZE).
    length: compressed.readUInt32LE(compressed.length - 4),
    gzip: () => compressed,
    identity() {
      unpacked ??= gunzipSync(compressed);
      return unpacked;
    },
  };
}
