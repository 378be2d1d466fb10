import type { Handler } from 'express';
import { possibleTypes, schemaText } from '../../graphql/schema.js';
import { openApiDocument } from '../../rest/v1/openapi/document.js';
import { ROUTES } from '../../rest/v1/routes.js';
import { PACKAGE } from '../../rest/v1/validators.js';
import { type DocumentedService, docsPage, graphiqlPage, startPage } from './html-pages.js';
import { assetHandlers, type StaticResponse, staticHandler } from './static-files.js';
import { documentHandlers, iconHandler, webAssetHandlers, webPage } from './web-page.js';

/** Serves the pages and documents that describe the APIs, for people and for programs. */
export function answerPages(service: DocumentedService): Handler {
  const handlers = pagesByPath(service);
  const { basePath } = service;
  const web = service.webPage ? webPage(service, `${basePath}/assets`) : undefined;
  const domains = `${basePath}/domains/`;
  // One page for all of them: it reads the name from its address.
  const isWebPage = (path: string) =>
    path === basePath ||
    path === `${basePath}/` ||
    (path.startsWith(domains) && path.length > domains.length);
  return (request, response, next) => {
    const handler = web !== undefined && isWebPage(request.path) ? web : handlers.get(request.path);
    return handler === undefined ? next() : handler(request, response, next);
  };
}

function pagesByPath(service: DocumentedService): ReadonlyMap<string, Handler> {
  const { basePath, access, anyQuery } = service;
  const { version }: { readonly version: string } = JSON.parse(PACKAGE);
  const assets = `${basePath}/assets`;
  const openApi = JSON.stringify(openApiDocument(ROUTES, { ...access, basePath, version }));
  const start = staticHandler(startPage(service));
  const catalog = staticHandler(apiCatalog(basePath, anyQuery));
  const handlers = new Map<string, Handler>([
    [`${basePath}/`, start],
    [basePath, start],
    [
      `${basePath}/api/v1/openapi.json`,
      staticHandler({ mediaType: 'application/json; charset=utf-8', body: openApi }),
    ],
    [`${basePath}/api/v1/docs`, staticHandler(docsPage(assets))],
    [
      `${basePath}/schema.graphql`,
      staticHandler({ mediaType: `${SDL_TYPE}; charset=utf-8`, body: schemaText() }),
    ],
    [
      `${basePath}/possibleTypes.json`,
      staticHandler({ mediaType: 'application/json; charset=utf-8', body: JSON.stringify(possibleTypes()) }),
    ],
    [API_CATALOG_PATH, catalog],
    // For a proxy that forwards only the base path: it can map the root's to this one.
    [basePath + API_CATALOG_PATH, catalog],
    [ICON_PATH, iconHandler()],
    ...assetHandlers(assets),
    ...webAssetHandlers(assets),
    ...documentHandlers(basePath, assets),
  ]);
  if (anyQuery) handlers.set(`${basePath}/graphiql`, staticHandler(graphiqlPage(assets)));
  return handlers;
}

/** Where browsers look for an icon, whatever the base path. */
export const ICON_PATH = '/favicon.ico';

/** Where it is (RFC 9727, section 2): at the root of the host, whatever the base path. */
export const API_CATALOG_PATH = '/.well-known/api-catalog';

const PROFILE = 'https://www.rfc-editor.org/info/rfc9727';
const JSON_TYPE = 'application/json';
const HTML_TYPE = 'text/html';
/** There is no registered media type of schemas. */
const SDL_TYPE = 'text/plain';

/**
 * The list of the two APIs, with their descriptions (RFC 9727, section 4; RFC 9264, section 4.2). The
 * addresses have no host: what this server calls itself is not what it is called through a proxy.
 *
 * @param graphiql Whether there is GraphiQL.
 */
function apiCatalog(basePath: string, graphiql: boolean): StaticResponse {
  const rest = `${basePath}/api/v1`;
  const status = [{ href: '/readyz', type: JSON_TYPE, title: 'Whether the service is ready' }];
  const linkset = [
    {
      anchor: rest,
      'service-desc': [{ href: `${rest}/openapi.json`, type: JSON_TYPE, title: 'REST API v1: OpenAPI 3.1' }],
      'service-doc': [{ href: `${rest}/docs`, type: HTML_TYPE, title: 'REST API v1' }],
      status,
    },
    {
      anchor: `${basePath}/graphql`,
      'service-desc': [{ href: `${basePath}/schema.graphql`, type: SDL_TYPE, title: 'GraphQL API: schema' }],
      ...(graphiql ? { 'service-doc': [graphiqlOf(basePath)] } : {}),
      status,
    },
  ];
  return {
    mediaType: `application/linkset+json; profile="${PROFILE}"`,
    body: JSON.stringify({ linkset }),
    headers: { link: `<${API_CATALOG_PATH}>; rel="api-catalog"` },
  };
}

function graphiqlOf(basePath: string): object {
  return { href: `${basePath}/graphiql`, type: HTML_TYPE, title: 'GraphQL API: GraphiQL' };
}
