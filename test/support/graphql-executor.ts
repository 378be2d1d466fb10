import type { Viewer } from '../../src/auth/viewer.js';
import type { Database } from '../../src/database/client.js';
import { tablesOf } from '../../src/database/tables.js';
import { Feed } from '../../src/feed/feed.js';
import { GraphqlExecutor, type GraphqlExecutorOptions } from '../../src/graphql/execute.js';
import { type Caller, NEVER_GONE } from '../../src/limits/caller.js';
import { createLoaders } from '../../src/loaders/create-loaders.js';

export function anonymous(address = '192.0.2.1'): Viewer {
  return { kind: 'anonymous', rateLimitKey: address, scopes: new Set() };
}

export function withToken(digest = 'digest'): Viewer {
  return { kind: 'token', rateLimitKey: digest, scopes: new Set() };
}

export function callerOf(viewer: Viewer = anonymous()): Caller {
  return { viewer, signal: NEVER_GONE };
}

/** The door to a test's database, with limits that no test meets unless it sets its own. */
export function openExecutor(
  database: Database,
  rateLimits = { anonymous: 100_000, token: 100_000 },
  options: Partial<GraphqlExecutorOptions> = {},
): GraphqlExecutor {
  const tables = tablesOf(database.distribution);
  return new GraphqlExecutor({
    loaders: createLoaders(database, { tables }),
    feed: new Feed(database.prisma, { tables }),
    rateLimits,
    ...options,
  });
}

/** Executes an operation as this program does its own: without limits. */
export function executeFreely(
  executor: GraphqlExecutor,
  source: string,
  variables: Readonly<Record<string, unknown>> = {},
  viewer = anonymous(),
) {
  return executor.prepare(source).execute(variables, callerOf(viewer), executor.primary);
}
