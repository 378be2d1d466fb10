import DataLoader from 'dataloader';
import type { PrismaClient } from '../database/generated/client.js';
import {
  BATCH_SIZE,
  type DomainHistory,
  type DomainHistoryKey,
  loadDomainHistories,
} from './domain-history.js';

/** What the resolvers read from. */
export interface Loaders {
  /** Null: nothing is recorded of the domain. */
  readonly domainHistory: DataLoader<DomainHistoryKey, DomainHistory | null>;
}

/**
 * Makes the loaders of a process. They hold nothing between calls, so that all requests can share them:
 * what is asked in one turn of the event loop, by whatever request, goes into the same statements.
 */
export function createLoaders(prisma: PrismaClient): Loaders {
  return {
    domainHistory: new DataLoader((keys) => loadDomainHistories(prisma, keys), {
      cache: false,
      maxBatchSize: BATCH_SIZE,
      batchScheduleFn: (dispatch) => setImmediate(dispatch),
    }),
  };
}
