import { SCOPES, type Viewer } from './auth/viewer.js';
import type { Database } from './database/client.js';
import { tablesOf } from './database/tables.js';
import { Feed } from './feed/feed.js';
import { GraphqlExecutor } from './graphql/execute.js';
import { createLoaders } from './loaders/create-loaders.js';
import type { QueryParameters } from './model/request-target.js';
import { type Ask, createAsk, listenToChanges, type Question } from './rest/v1/ask.js';
import type { EventPage } from './rest/v1/presenters/changes.js';

export type { Ask, Question };

export interface Asking {
  readonly ask: Ask;
  /** The changes of all domains, as they are recorded, until the signal is aborted: see listenToChanges(). */
  follow(parameters: QueryParameters, signal: AbortSignal): AsyncGenerator<EventPage, void, void>;
}

/** Local access is unlimited. */
const VIEWER: Viewer = { kind: 'token', rateLimitKey: 'command line', scopes: new Set(SCOPES) };
const UNLIMITED = { anonymous: Number.MAX_SAFE_INTEGER, token: Number.MAX_SAFE_INTEGER };

export function createAsking(database: Pick<Database, 'prisma' | 'searchPrisma' | 'distribution'>): Asking {
  const tables = tablesOf(database.distribution);
  const loaders = createLoaders(database, { tables });
  const feed = new Feed(database.prisma, { tables });
  const executor = new GraphqlExecutor({ loaders, feed, rateLimits: UNLIMITED });
  return {
    ask: createAsk(executor, VIEWER),
    follow: (parameters, signal) => listenToChanges(executor, VIEWER, parameters, signal),
  };
}
