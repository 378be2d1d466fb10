import DataLoader from 'dataloader';
import type { PrismaClient } from '../database/generated/client.js';
import {
  BATCH_SIZE,
  type DomainHistory,
  type DomainHistoryKey,
  loadDomainHistories,
} from './domain-history.js';
import { Turns } from './turns.js';

/** What the resolvers read from. */
export interface Loaders {
  /** Null: nothing is recorded of the domain. */
  readonly domainHistory: DataLoader<DomainHistoryKey, DomainHistory | null>;
}

/** How much is asked of the database at once. */
export interface LoadingLimits {
  /** Statements; 10 if absent. */
  readonly statementsAtOnce?: number | undefined;
}

const STATEMENTS_AT_ONCE = 10;
/** Batches that wait for their turn: half a second's work of a database that answers. */
const MOST_WAITING = 500;
/** In milliseconds, from the question to the answer. */
const ANSWER_LIMIT = 10_000;

/**
 * Makes the loaders of a process. They hold nothing between calls, so that all requests can share them:
 * what is asked in one turn of the event loop, by whatever request, goes into the same statements.
 *
 * They throw UnavailableError where the database is so slow that too much waits, or waits for too long.
 */
export function createLoaders(prisma: PrismaClient, { statementsAtOnce }: LoadingLimits = {}): Loaders {
  const turns = new Turns({
    atOnce: statementsAtOnce ?? STATEMENTS_AT_ONCE,
    mostWaiting: MOST_WAITING,
    milliseconds: ANSWER_LIMIT,
  });
  const histories = turns.inTurn((keys: readonly DomainHistoryKey[]) => loadDomainHistories(prisma, keys));
  return {
    domainHistory: new DataLoader(histories, {
      cache: false,
      maxBatchSize: BATCH_SIZE,
      batchScheduleFn: (dispatch) => setImmediate(dispatch),
    }),
  };
}
