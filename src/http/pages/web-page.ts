import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Handler } from 'express';
import { pagePolicy } from '../response-fields.js';
import { type DocumentedService, withoutScript } from './html-pages.js';
import { staticHandler } from './static-files.js';

/** Written by the build (web/vite.config.ts); the same from src/ and from dist/. */
const FOLDER = new URL('../../../dist/web/', import.meta.url);

/** Nothing from other hosts, and no script or style that is not a file of this server. */
const POLICY = pagePolicy({
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
});

/** The page that shows the history: it reads it with GraphQL, as any other client. */
export function webPage(service: DocumentedService, assets: string): Handler {
  const { basePath, anyQuery } = service;
  const text = readFileSync(new URL('index.html', FOLDER), 'utf8');
  const body = text
    .replaceAll('="./', `="${assets}/web/`)
    .replace('data-base-path=""', `data-base-path="${basePath}"`)
    .replace('data-any-query="true"', `data-any-query="${anyQuery}"`)
    .replace('<noscript></noscript>', () => `<noscript>\n${withoutScript(service)}\n</noscript>`);
  return staticHandler({
    mediaType: 'text/html; charset=utf-8',
    body,
    headers: { 'content-security-policy': POLICY },
  });
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** What the page loads, by path. The names have a digest of the content, so that what was loaded is never requested again. */
export function webAssetHandlers(assets: string): readonly (readonly [path: string, handler: Handler])[] {
  return readdirSync(FOLDER).flatMap((name) => {
    const mediaType = MEDIA_TYPES[extname(name)];
    if (mediaType === undefined) return [];
    const body = readFileSync(new URL(name, FOLDER));
    const headers = { 'cache-control': 'public, max-age=31536000, immutable' };
    return [[`${assets}/web/${name}`, staticHandler({ mediaType, body, headers })] as const];
  });
}

/** The page's icon, for what has none of its own, as JSON has. */
export function iconHandler(): Handler {
  const name = readdirSync(FOLDER).find((file) => file.endsWith('.svg')) ?? '';
  return staticHandler({ mediaType: 'image/svg+xml', body: readFileSync(new URL(name, FOLDER)) });
}

/** The documents as HTML, of the same build. */
const DOCUMENTS = new URL('../../../dist/pages/documents/', import.meta.url);

/** The documents of the project as pages, by path. They have the style of the page, and no script. */
export function documentHandlers(
  basePath: string,
  assets: string,
): readonly (readonly [path: string, handler: Handler])[] {
  const style = readdirSync(FOLDER).find((name) => name.endsWith('.css'));
  return readdirSync(DOCUMENTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.html'))
    .map((name) => {
      const path = `${basePath}/docs/${name.replace(/(?:^index)?\.html$/, '')}`;
      // Most processes never show it.
      let handler: Handler | undefined;
      return [
        path,
        (...request) => {
          handler ??= documentPage(name, basePath, `${assets}/web/${style}`);
          return handler(...request);
        },
      ] as const;
    });
}

function documentPage(name: string, basePath: string, style: string): Handler {
  const text = readFileSync(new URL(name, DOCUMENTS), 'utf8');
  const [, title = ''] = /<h1[^>]*>(.*?)<\/h1>/.exec(text) ?? [];
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<div id="page">
<header class="page-head"><a class="brand" href="${basePath}/">Domain Metadata Service</a>
<nav aria-label="Documents"><a href="${basePath}/docs/">All documents</a></nav></header>
<main class="card document">
${text}
</main>
</div>
</html>
`;
  const policy = pagePolicy({ 'style-src': ["'self'"], 'img-src': ['data:'] });
  return staticHandler({
    mediaType: 'text/html; charset=utf-8',
    body,
    headers: { 'content-security-policy': policy },
  });
}

/** The documents of the operations that the page sends. */
export function webOperations(): readonly string[] {
  const listed: Readonly<Record<string, string>> = JSON.parse(
    readFileSync(new URL('operations.json', FOLDER), 'utf8'),
  );
  return Object.values(listed);
}
