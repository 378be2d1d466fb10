import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import * as graphiql from '@graphql-yoga/render-graphiql/graphiql';

// Puts what the pages for people load into dist/pages, so that they need no other host. Each file is there
// compressed, which would cost the server time later; for a client that takes no gzip it is unpacked.

const OUTPUT = new URL('../dist/pages/', import.meta.url);

/** @param {string} name of a package's file, as an import names it */
const fileOf = (name) => readFileSync(fileURLToPath(import.meta.resolve(name)), 'utf8');

/** @param {string} name of a package's file: an import would go by the package's exports */
const licenseOf = (name) => readFileSync(new URL(`../node_modules/${name}`, import.meta.url), 'utf8');

/** @type {Record<string, string>} */
const FILES = {
  'swagger-ui/swagger-ui-bundle.js': fileOf('swagger-ui-dist/swagger-ui-bundle.js'),
  'swagger-ui/swagger-ui.css': fileOf('swagger-ui-dist/swagger-ui.css'),
  'graphiql/graphiql.js': graphiql.js,
  'graphiql/graphiql.css': graphiql.css,
  'graphiql/editor-worker.js': graphiql.editorWorkerService,
  'graphiql/json-worker.js': graphiql.jsonWorker,
  'graphiql/graphql-worker.js': graphiql.graphqlWorker,
};

rmSync(OUTPUT, { recursive: true, force: true });
for (const [name, text] of Object.entries(FILES)) {
  // What maps lines to the sources is not among the files.
  const served = text.replace(/\n(\/\/|\/\*)# sourceMappingURL=\S+( \*\/)?\s*$/, '\n');
  const file = new URL(`${name}.gz`, OUTPUT);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, gzipSync(served, { level: constants.Z_BEST_COMPRESSION }));
}

// Written last: that it is there says that all are.
const LICENSES = [
  'swagger-ui-dist/LICENSE',
  'swagger-ui-dist/NOTICE',
  'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt',
  '@graphql-yoga/render-graphiql/LICENSE',
];
writeFileSync(
  new URL('LICENSES.txt', OUTPUT),
  LICENSES.map((name) => `${name}\n\n${licenseOf(name)}`).join('\n'),
);
