import { pathMatcher, ROUTES } from '../rest/v1/routes.js';
import type { RequestKind } from '../telemetry/request-metrics.js';
import { API_CATALOG_PATH, ICON_PATH } from './pages/pages.js';

/** A kind of request, with the path of its route where there is one. */
export interface RoutedKind extends RequestKind {
  /** With the base path; a part that stands for any is in braces. */
  readonly route: string | undefined;
  /** Whether its clients may be readers of feeds, which know HTTP Basic alone. */
  readonly isFeed?: boolean;
}

/** What is at no known path, or never had one. */
export const NOWHERE: RoutedKind = { api: 'none', operation: 'unknown', route: undefined };

/** What requests are counted as by their paths. @param basePath '' or like `/dms`. */
export function requestKinds(basePath: string) {
  const page = (operation: string, path: string) =>
    ({ api: 'page', operation, route: basePath + path }) as const;
  const pages: readonly RoutedKind[] = [
    page('start', '/'),
    page('openapi', '/api/v1/openapi.json'),
    page('docs', '/api/v1/docs'),
    page('graphiql', '/graphiql'),
    page('schema', '/schema.graphql'),
    page('schema', '/possibleTypes.json'),
    page('api-catalog', API_CATALOG_PATH),
    { api: 'page', operation: 'api-catalog', route: API_CATALOG_PATH },
    { api: 'page', operation: 'asset', route: ICON_PATH },
    { api: 'graphql', operation: 'query', route: `${basePath}/graphql` },
  ];
  const fixed = new Map(pages.map((kind) => [kind.route, kind]));
  const below = [
    page('domain', '/domains/{domain}'),
    page('document', '/docs/{document}'),
    page('asset', '/assets/{file}'),
  ].map((kind) => [kind.route.replace(/\{.*/, ''), kind] as const);
  // Before REST's own handler: a request that is rejected earlier has a kind too, and a trace has its name from the start.
  const api = `${basePath}/api/v1`;
  const matchRest = pathMatcher(
    ROUTES.map(
      ({ path, summary: operation, body }) =>
        ({ path, api: 'rest', operation, route: api + path, isFeed: body.feed !== undefined }) as const,
    ),
  );
  const unknown: RoutedKind = { ...NOWHERE, api: 'rest' };
  return {
    /** GraphQL's page for browsers, which is on the same path as GraphQL itself. */
    graphqlPage: page('sandbox', '/graphql'),
    /** @param path percent-encoded as it came, without the query. */
    of(path: string): RoutedKind {
      const kind = fixed.get(path === basePath ? `${path}/` : path);
      if (kind !== undefined) return kind;
      if (path.startsWith(`${api}/`)) return matchRest(path.slice(api.length))?.row ?? unknown;
      return below.find(([prefix]) => path.startsWith(prefix))?.[1] ?? NOWHERE;
    },
  };
}
