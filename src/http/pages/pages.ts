import { readFileSync } from 'node:fs';
import type { Handler } from 'express';
import type { AnonymousAccess } from '../../rest/v1/anonymous-access.js';
import { openApiDocument } from '../../rest/v1/openapi/document.js';
import { ROUTES } from '../../rest/v1/routes.js';
import { API_CATALOG_PATH, apiCatalog } from './api-catalog.js';
import { assetHandlers } from './asset-files.js';
import { docsPage } from './docs-page.js';
import { fixedAnswer } from './fixed-answer.js';
import { graphiqlPage } from './graphiql-page.js';

/** From src/ and from dist/ alike. */
const PACKAGE = new URL('../../../package.json', import.meta.url);

/**
 * Answers the paths of the documents: what describes the APIs, for people and for programs.
 *
 * @param basePath '' or like `/dms`; of characters that need no escaping.
 * @param access What a client without a token may do, as the documents say.
 */
export function answerPages(basePath: string, access: AnonymousAccess): Handler {
  const handlers = pagesByPath(basePath, access);
  return (request, response, next) => {
    const handler = handlers.get(request.path);
    return handler === undefined ? next() : handler(request, response, next);
  };
}

function pagesByPath(basePath: string, access: AnonymousAccess): ReadonlyMap<string, Handler> {
  const { version }: { readonly version: string } = JSON.parse(readFileSync(PACKAGE, 'utf8'));
  const assets = `${basePath}/assets`;
  const openApi = JSON.stringify(openApiDocument(ROUTES, { ...access, basePath, version }));
  const catalog = fixedAnswer(apiCatalog(basePath));
  return new Map<string, Handler>([
    [
      `${basePath}/api/v1/openapi.json`,
      fixedAnswer({ mediaType: 'application/json; charset=utf-8', body: openApi }),
    ],
    [`${basePath}/api/v1/docs`, fixedAnswer(docsPage(assets))],
    [`${basePath}/graphiql`, fixedAnswer(graphiqlPage(assets))],
    [API_CATALOG_PATH, catalog],
    // For a proxy that hands on nothing but the base path: it can map the root's to this one.
    [basePath + API_CATALOG_PATH, catalog],
    ...assetHandlers(assets),
  ]);
}
