import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import * as graphiql from '@graphql-yoga/render-graphiql/graphiql';
import { Marked } from 'marked';

// Puts the pages for people, with the documents, into dist/pages, and what they load into dist/pages/assets, so that they need no other
// host. What is loaded is there compressed, which would cost the server time later; for a client that takes no gzip it is unpacked.
// In a page, {{base}} stands for the base path, and {{style}} for the style sheet of the page at the root.

const OUTPUT = new URL('../dist/pages/', import.meta.url);

/** @param {string} name of a package's file, as an import names it */
const fileOf = (name) => readFileSync(fileURLToPath(import.meta.resolve(name)), 'utf8');

/** @param {string} name of a package's file: an import would go by the package's exports */
const licenseOf = (name) => readFileSync(new URL(`../node_modules/${name}`, import.meta.url), 'utf8');

/** @param {string} name of a file of web/pages */
const ownOf = (name) => readFileSync(new URL(`../web/pages/${name}`, import.meta.url), 'utf8');

const READY_QUERIES = readFileSync(new URL('../samples/queries.graphql', import.meta.url), 'utf8');

/** @type {Record<string, string>} */
const FILES = {
  'swagger-ui/swagger-ui-bundle.js': fileOf('swagger-ui-dist/swagger-ui-bundle.js'),
  'swagger-ui/swagger-ui.css': fileOf('swagger-ui-dist/swagger-ui.css'),
  'swagger-ui/start.js': ownOf('swagger-ui.js'),
  'graphiql/graphiql.js': graphiql.js,
  'graphiql/graphiql.css': graphiql.css,
  'graphiql/editor-worker.js': graphiql.editorWorkerService,
  'graphiql/json-worker.js': graphiql.jsonWorker,
  'graphiql/graphql-worker.js': graphiql.graphqlWorker,
  'graphiql/start.js': `const READY_QUERIES = ${JSON.stringify(READY_QUERIES)};\n${ownOf('graphiql.js')}`,
};

rmSync(OUTPUT, { recursive: true, force: true });
for (const [name, text] of Object.entries(FILES)) {
  // What maps lines to the sources is not among the files.
  const served = text.replace(/\n(\/\/|\/\*)# sourceMappingURL=\S+( \*\/)?\s*$/, '\n');
  const file = new URL(`assets/${name}.gz`, OUTPUT);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, gzipSync(served, { level: constants.Z_BEST_COMPRESSION }));
}

for (const name of ['service.html', 'swagger-ui.html', 'graphiql.html', 'api-catalog.json'])
  writeFileSync(new URL(name, OUTPUT), ownOf(name));

const DOCUMENTS = new URL('../docs/', import.meta.url);

/** The documents by their names below `docs/`; '' is the README. */
const documents = {
  '': new URL('../README.md', import.meta.url),
  ...Object.fromEntries(
    readdirSync(DOCUMENTS, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => [name.replace(/\.md$/, ''), new URL(name, DOCUMENTS)]),
  ),
};

/** @param {string} document that is made HTML of */
const markedFor = (document) =>
  new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const content = this.parser.parseInline(tokens);
        return `<h${depth} id="${slugOf(text)}">${content}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const address = /^https?:/.test(href) ? href : addressOf(href, document);
        return address === undefined ? text : `<a href="${address}">${text}</a>`;
      },
      // The only HTML are pictures, which show the pages themselves.
      html: () => '',
    },
  });

/**
 * The anchor of a heading, as GitHub makes it.
 *
 * @param {string} text
 */
function slugOf(text) {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/**
 * Where a link to a document leads; undefined: to a file that is not served.
 *
 * @param {string} href
 * @param {string} document that has it
 */
function addressOf(href, document) {
  if (href.startsWith('#')) return href;
  const [, path = '', anchor = ''] = /^(?:docs\/)?(.+)\.md(#.*)?$/.exec(href) ?? [];
  return posix.join(posix.dirname(document), path) in documents && path !== '' ? path + anchor : undefined;
}

/** Where the documents say that the service is: in theirs, it is the one that serves them. */
const EXAMPLE = 'http://127.0.0.1:4000/';

for (const [name, file] of Object.entries(documents)) {
  const target = new URL(`documents/${name || 'index'}.html`, OUTPUT);
  mkdirSync(new URL('.', target), { recursive: true });
  const html = await markedFor(name).parse(readFileSync(file, 'utf8'));
  // What may be wider than the screen is scrolled by keys, too.
  const root = '../'.repeat(name.split('/').length);
  const scrolled = html
    .replaceAll(`href="${EXAMPLE}`, `href="${root}`)
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
  const [, title = ''] = /<h1[^>]*>(.*?)<\/h1>/.exec(html) ?? [];
  const page = ownOf('document.html').replace('{{title}}', () => title);
  writeFileSync(
    target,
    page.replace('{{text}}', () => scrolled),
  );
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
