import { readFileSync } from 'node:fs';
import type { Handler } from 'express';
import { openApiDocument } from '../../rest/v1/openapi/document.js';
import { ROUTES } from '../../rest/v1/routes.js';
import { API_CATALOG_PATH, apiCatalog } from './api-catalog.js';
import { assetHandlers } from './asset-files.js';
import { docsPage } from './docs-page.js';
import { fixedAnswer } from './fixed-answer.js';
import { graphiqlPage } from './graphiql-page.js';
import { type DocumentedService, startPage } from './start-page.js';

/** From src/ and from dist/ alike. */
const PACKAGE = new URL('../../../package.json', import.meta.url);

/** Answers the paths of the pages and documents that describe the APIs, for people and for programs. */
export function answerPages(service: DocumentedService): Handler {
  const handlers = pagesByPath(service);
  return (request, response, next) => {
    const handler = handlers.get(request.path);
    return handler === undefined ? next() : handler(request, response, next);
  };
}

function pagesByPath(service: DocumentedService): ReadonlyMap<string, Handler> {
  const { basePath, access, anyQuery } = service;
  const { version }: { readonly version: string } = JSON.parse(readFileSync(PACKAGE, 'utf8'));
  const assets = `${basePath}/assets`;
  const openApi = JSON.stringify(openApiDocument(ROUTES, { ...access, basePath, version }));
  const start = fixedAnswer(startPage(service));
  const catalog = fixedAnswer(apiCatalog(basePath, anyQuery));
  const handlers = new Map<string, Handler>([
    [`${basePath}/`, start],
    [basePath, start],
    [
      `${basePath}/api/v1/openapi.json`,
      fixedAnswer({ mediaType: 'application/json; charset=utf-8', body: openApi }),
    ],
    [`${basePath}/api/v1/docs`, fixedAnswer(docsPage(assets))],
    [API_CATALOG_PATH, catalog],
    // For a proxy that hands on nothing but the base path: it can map the root's to this one.
    [basePath + API_CATALOG_PATH, catalog],
    ...assetHandlers(assets),
  ]);
  if (anyQuery) handlers.set(`${basePath}/graphiql`, fixedAnswer(graphiqlPage(assets)));
  return handlers;
}
