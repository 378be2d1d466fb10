import { ROUTES } from '../rest/v1/routes.js';
import type { RequestKind } from '../telemetry/request-metrics.js';
import { API_CATALOG_PATH } from './pages/api-catalog.js';

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

interface RestKind extends RoutedKind {
  readonly segments: readonly string[];
}

const UNKNOWN = 'unknown';

/** What is at no path that there is, or never said which one. */
export const NOWHERE: RoutedKind = { door: 'none', operation: UNKNOWN, route: undefined };

/** @param basePath '' or like `/dms`. */
export function requestKinds(basePath: string): RequestKinds {
  const api = `${basePath}/api/v1`;
  const graphqlPath = `${basePath}/graphql`;
  const rest = ROUTES.map(({ name, path }) => restKind(name, api + path, path));
  const unknownRest: RoutedKind = { door: 'rest', operation: UNKNOWN, route: undefined };
  const graphql: RoutedKind = { door: 'graphql', operation: 'query', route: graphqlPath };
  const graphqlPage: RoutedKind = { door: 'page', operation: 'sandbox', route: graphqlPath };
  const startPage: RoutedKind = { door: 'page', operation: 'start', route: `${basePath}/` };
  const pages = pageKinds(basePath, api);
  const assets = `${basePath}/assets/`;
  const asset: RoutedKind = { door: 'page', operation: 'asset', route: `${assets}{file}` };
  return {
    graphqlPage,
    of(path) {
      if (path === graphqlPath) return graphql;
      const page = pages.get(path);
      if (page !== undefined) return page;
      if (path.startsWith(`${api}/`)) {
        const segments = path.slice(api.length).split('/');
        return rest.find((kind) => matches(kind.segments, segments)) ?? unknownRest;
      }
      if (path.startsWith(assets)) return asset;
      return path === `${basePath}/` || path === basePath ? startPage : NOWHERE;
    },
  };
}

/** The documents: each is on one path. */
function pageKinds(basePath: string, api: string): ReadonlyMap<string, RoutedKind> {
  const paths: readonly (readonly [operation: string, path: string])[] = [
    ['openapi', `${api}/openapi.json`],
    ['docs', `${api}/docs`],
    ['graphiql', `${basePath}/graphiql`],
    ['api-catalog', API_CATALOG_PATH],
    ['api-catalog', basePath + API_CATALOG_PATH],
  ];
  return new Map(paths.map(([operation, path]) => [path, { door: 'page', operation, route: path }]));
}

function restKind(operation: string, route: string, path: string): RestKind {
  return { door: 'rest', operation, route, segments: path.split('/') };
}

/** What stands in braces in the table fits any segment. */
function matches(wanted: readonly string[], segments: readonly string[]): boolean {
  if (segments.length !== wanted.length) return false;
  return wanted.every((pattern, place) => pattern.startsWith('{') || pattern === segments[place]);
}
