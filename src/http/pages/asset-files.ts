import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createGunzip } from 'node:zlib';
import type { Handler, Response } from 'express';
import { requireGetOrHead } from '../../rest/v1/problem.js';
import { opaqueTagOf, sendIfKept } from './fixed-answer.js';

/** Where the build puts them (scripts/pages.js): of the checkout, whether this runs from src/ or dist/. */
const FOLDER = fileURLToPath(new URL('../../../dist/pages', import.meta.url));

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

/** All that the pages load, with its media type. */
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
 * What the pages load, by path: compressed for a client that takes gzip, and unpacked for others.
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

interface Asset {
  readonly compressed: Buffer;
  /** Of what is unpacked, in bytes. */
  readonly size: number;
  /** Of opaqueTagOf(). */
  readonly tag: string;
}

function assetHandler(file: string, mediaType: string): Handler {
  // Read when it is first asked for: most processes never show a page.
  let read: Asset | undefined;
  return (request, response) => {
    requireGetOrHead(request, response);
    read ??= readAsset(file);
    const { compressed, size, tag } = read;
    if (sendIfKept(request, response, tag)) return;
    response.setHeader('content-type', mediaType);
    if (request.acceptsEncodings('gzip', 'identity') === 'gzip') {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': compressed.length });
      response.end(compressed);
      return;
    }
    response.writeHead(200, { 'content-length': size });
    if (request.method === 'HEAD') response.end();
    else sendUnpacked(response, compressed);
  };
}

/** @throws what reading throws, where the build has not been run; it is tried again at the next request. */
function readAsset(file: string): Asset {
  const compressed = readFileSync(file);
  // The last field of a gzip file (RFC 1952, section 2.3.1: ISIZE).
  const size = compressed.readUInt32LE(compressed.length - 4);
  return { compressed, size, tag: opaqueTagOf(compressed) };
}

/** In parts, so that many clients that read slowly do not each hold a whole file in memory. */
function sendUnpacked(response: Response, compressed: Buffer): void {
  // It fails where the client goes away, and then nobody is left to be told.
  pipeline(Readable.from([compressed]), createGunzip(), response, () => {});
}
