import { fileURLToPath } from 'node:url';
import type { Handler } from 'express';
import { requireReading } from '../../rest/v1/require-reading.js';

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

/** What the pages load, by path: each compressed where the client takes that. */
export function assetHandlers(assets: string): readonly (readonly [path: string, handler: Handler])[] {
  return Object.entries(FILES).map(([name, mediaType]) => [
    `${assets}/${name}`,
    fileHandler(name, mediaType),
  ]);
}

function fileHandler(name: string, mediaType: string): Handler {
  return (request, response, next) => {
    requireReading(request, response);
    const compressed = request.acceptsEncodings('gzip', 'identity') === 'gzip';
    response.set({ 'content-type': mediaType, 'cache-control': 'no-cache' });
    if (compressed) response.setHeader('content-encoding', 'gzip');
    const options = { root: FOLDER, cacheControl: false, acceptRanges: false };
    response.sendFile(compressed ? `${name}.gz` : name, options, (error?: Error) => {
      if (error !== undefined && !response.headersSent) next(error);
    });
  };
}
