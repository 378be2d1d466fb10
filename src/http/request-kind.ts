import { pathMatcher, ROUTES } from '../rest/v1/routes.js';
import type { RequestKind } from '../telemetry/request-metrics.js';
import { API_CATALOG_PATH, ICON_PATH } from './pages/pages.js';

/** A kind of request, with the path of its route where there is one. */
export interface RoutedKind extends RequestKind {
  /** With the base path; a part that stands for any is in braces. */
  readonly route: string | undefined;
}

/** What a request is counted as by its path. */
export interface RequestKinds {
  /** @param path percent-encoded as it came, without the query. */
  of(path: string): RoutedKind;
  /** GraphQL's page for browsers, which is on the same path as GraphQL itself. */
  readonly graphqlPage: RoutedKind;
}

const UNKNOWN = 'unknown';

/** What is at no known path, or never had one. */
export const NOWHERE: RoutedKind = { api: 'none', operation: UNKNOWN, route: undefined };

const UNKNOWN_REST: RoutedKind = { api: 'rest', operation: UNKNOWN, route: undefined };

/** @param basePath '' or like `/dms`. */
export function requestKinds(basePath: string): RequestKinds {
  const api = `${basePath}/api/v1`;
  const graphqlPath = `${basePath}/graphql`;
  const assets = `${basePath}/assets/`;
  const domains = `${basePath}/domains/`;
  const domain: RoutedKind = { api: 'page', operation: 'domain', route: `${domains}{domain}` };
  const documents = `${basePath}/docs/`;
  const document: RoutedKind = { api: 'page', operation: 'document', route: `${documents}{document}` };
  const asset: RoutedKind = { api: 'page', operation: 'asset', route: `${assets}{file}` };
  const fixed = fixedKinds(basePath, api, graphqlPath);
  // Before REST's own handler: a request that is rejected earlier has a kind too, and a trace has its name from the start.
  const matchRest = pathMatcher(
    ROUTES.map(({ name, path }) => ({
      path,
      kind: { api: 'rest', operation: name, route: api + path } satisfies RoutedKind,
    })),
  );
  return {
    graphqlPage: { api: 'page', operation: 'sandbox', route: graphqlPath },
    of(path) {
      const kind = fixed.get(path);
      if (kind !== undefined) return kind;
      if (path.startsWith(`${api}/`)) return matchRest(path.slice(api.length))?.row.kind ?? UNKNOWN_REST;
      if (path.startsWith(domains)) return domain;
      if (path.startsWith(documents)) return document;
      return path.startsWith(assets) ? asset : NOWHERE;
    },
  };
}

/** What is on one path each; the start page is on two. */
function fixedKinds(basePath: string, api: string, graphqlPath: string): ReadonlyMap<string, RoutedKind> {
  const start: RoutedKind = { api: 'page', operation: 'start', route: `${basePath}/` };
  const pages: readonly (readonly [operation: string, path: string])[] = [
    ['openapi', `${api}/openapi.json`],
    ['docs', `${api}/docs`],
    ['graphiql', `${basePath}/graphiql`],
    ['asset', ICON_PATH],
    ['api-catalog', API_CATALOG_PATH],
    ['api-catalog', basePath + API_CATALOG_PATH],
  ];
  return new Map<string, RoutedKind>([
    [graphqlPath, { api: 'graphql', operation: 'query', route: graphqlPath }],
    ...pages.map(([operation, path]) => [path, { api: 'page', operation, route: path }] as const),
    [basePath, start],
    [`${basePath}/`, start],
  ]);
}
