import { pathMatcher, ROUTES } from '../rest/v1/routes.js';
import type { RequestKind } from '../telemetry/request-metrics.js';

export interface RoutedKind extends RequestKind {
  /** Of an API, with the base path; a part that stands for any is in braces. */
  readonly route?: string;
  /** Whether its clients may be readers of feeds, which know HTTP Basic alone. */
  readonly isFeed?: boolean;
}

/** What never had a path that is known. */
export const NOWHERE: RoutedKind = { api: 'none', operation: 'unknown' };

/** What people read, and all that is not there. */
export const PAGE: RoutedKind = { api: 'page', operation: 'page' };

/** Before REST's handler: a request that is rejected earlier has a kind, and its trace a name, too. */
export function requestKinds(basePath: string): (path: string) => RoutedKind {
  const api = `${basePath}/api/v1`;
  const matchRest = pathMatcher(
    ROUTES.map(
      ({ path, summary: operation, body }) =>
        ({ path, api: 'rest', operation, route: api + path, isFeed: body.feed !== undefined }) as const,
    ),
  );
  const fixed = new Map<string, RoutedKind>([
    [`${basePath}/graphql`, { api: 'graphql', operation: 'query', route: `${basePath}/graphql` }],
    // Pages among the operations that they describe.
    [`${api}/openapi.json`, PAGE],
    [`${api}/docs`, PAGE],
  ]);
  return (path) => {
    const kind = fixed.get(path);
    if (kind !== undefined) return kind;
    if (!path.startsWith(`${api}/`)) return PAGE;
    return matchRest(path.slice(api.length))?.row ?? { api: 'rest', operation: 'unknown' };
  };
}
