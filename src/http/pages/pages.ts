import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { possibleTypes, schemaText } from '../../graphql/schema.js';
import { attempt } from '../../model/attempt.js';
import { parseDomainName } from '../../model/domain-name.js';
import { nothingAtPath } from '../../model/errors.js';
import { openApiDocument } from '../../rest/v1/openapi/document.js';
import { ROUTES } from '../../rest/v1/routes.js';
import { PACKAGE } from '../../rest/v1/validators.js';
import {
  type DocumentedService,
  documentPages,
  icon,
  libraryPage,
  PAGES,
  readPage,
  startPage,
  WEB,
  webPage,
} from './html-pages.js';
import { filesIn, type PageAt, type StaticResponse, staticHandler } from './static-files.js';

export type OnFailure = (error: unknown, request: IncomingMessage, response: ServerResponse) => void;

/** The pages and documents that describe the APIs. @param onFailure Takes NOT_FOUND for any other path. */
export function createPages(service: DocumentedService, onFailure: OnFailure): RequestListener {
  const { basePath, webPage: hasWebPage } = service;
  const app = express().disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  const root = staticHandler(() => (hasWebPage ? webPage(service) : startPage(service)));
  app.all([basePath, `${basePath}/`].filter(Boolean), root);
  // The page reads the name from its address itself, where it may be invalid: that is told there.
  const page: RequestHandler = (request, response, next) => {
    if (request.path === '/') return next();
    const name = attempt(() => parseDomainName(decodeURIComponent(request.path.slice(1))));
    return (name === undefined ? root : staticHandler(() => webPage(service, name)))(request, response, next);
  };
  if (hasWebPage) app.use(`${basePath}/domains`, page);
  for (const [path, read] of pagesOf(service)) app.all(path, staticHandler(read));
  app.use((_request, _response, next) => next(nothingAtPath(basePath)));
  // Express knows an error handler by its four parameters.
  const handleError: ErrorRequestHandler = (error: unknown, request, response, _next) =>
    onFailure(error, request, response);
  return app.use(handleError);
}

function pagesOf({ basePath, access, anyQuery }: DocumentedService): readonly PageAt[] {
  const { version }: { readonly version: string } = JSON.parse(PACKAGE);
  const json = (body: unknown) => utf8('application/json', JSON.stringify(body));
  const openApi = () => json(openApiDocument(ROUTES, { ...access, basePath, version }));
  const catalog = () => apiCatalog(basePath, anyQuery);
  const pages: readonly PageAt[] = [
    [`${basePath}/api/v1/openapi.json`, openApi],
    [`${basePath}/api/v1/docs`, () => libraryPage('swagger-ui', basePath)],
    // There is no registered media type of schemas.
    [`${basePath}/schema.graphql`, () => utf8('text/plain', schemaText())],
    [`${basePath}/possibleTypes.json`, () => json(possibleTypes())],
    [API_CATALOG_PATH, catalog],
    // For a proxy that forwards only the base path: it can map the root's to this one.
    [basePath + API_CATALOG_PATH, catalog],
    // Where browsers look for an icon, whatever the base path.
    ['/favicon.ico', icon],
    ...filesIn(new URL('assets/', PAGES), `${basePath}/assets`),
    // Their names have a digest of the content: what was loaded is never requested again.
    ...filesIn(WEB, `${basePath}/assets/web`, { 'cache-control': 'public, max-age=31536000, immutable' }),
    ...documentPages(basePath),
  ];
  return anyQuery ? [...pages, [`${basePath}/graphiql`, () => libraryPage('graphiql', basePath)]] : pages;
}

function utf8(type: string, body: string): StaticResponse {
  return { mediaType: `${type}; charset=utf-8`, body };
}

/** Where it is (RFC 9727, section 2): at the root of the host, whatever the base path. */
const API_CATALOG_PATH = '/.well-known/api-catalog';

/** RFC 9727, section 4. The addresses have no host: a proxy calls this server otherwise than it does itself. */
function apiCatalog(basePath: string, graphiql: boolean): StaticResponse {
  const text = readPage('api-catalog.json', basePath);
  const { linkset }: { readonly linkset: readonly Record<string, unknown>[] } = JSON.parse(text);
  if (!graphiql) delete linkset[1]?.['service-doc'];
  return {
    mediaType: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    body: JSON.stringify({ linkset }),
    headers: { link: `<${API_CATALOG_PATH}>; rel="api-catalog"` },
  };
}
