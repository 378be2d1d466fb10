import { SCOPES, type Viewer } from './auth/viewer.js';
import type { Database } from './database/client.js';
import { createGraphqlExecutor } from './graphql/execute.js';
import { createLoaders } from './loaders/create-loaders.js';
import {
  type Ask,
  createAsk,
  createLastSeen,
  type FollowedPage,
  type LastSeen,
  listenToChanges,
  type Question,
} from './rest/v1/ask.js';

export type { Ask, LastSeen, Question };

/** What the command line asks with. */
export interface Asking {
  readonly ask: Ask;
  readonly lastSeen: LastSeen;
  /** The changes of all domains, as they are recorded, until the signal is aborted: see listenToChanges(). */
  follow(parameters: Question['parameters'], signal: AbortSignal): AsyncGenerator<FollowedPage, void, void>;
}

/** Who has the database has no limit. */
const VIEWER: Viewer = { kind: 'token', rateLimitKey: 'command line', scopes: new Set(SCOPES) };
const UNLIMITED = { anonymous: Number.MAX_SAFE_INTEGER, token: Number.MAX_SAFE_INTEGER };

/** Assembles the parts that answer questions without HTTP. */
export function createAsking({ prisma, distribution }: Pick<Database, 'prisma' | 'distribution'>): Asking {
  const loaders = createLoaders(prisma, { acrossShards: distribution.kind === 'shards' });
  const executor = createGraphqlExecutor({ loaders, rateLimits: UNLIMITED });
  return {
    ask: createAsk(executor, VIEWER),
    lastSeen: createLastSeen(executor, VIEWER),
    follow: (parameters, signal) => listenToChanges(executor, VIEWER, parameters, signal),
  };
}
