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
 * Does the loading of a batch, and tells of it.
 *
 * @param loader its name in Loaders.
 */
export type AroundBatch = <Result>(
  loader: keyof Loaders,
  size: number,
  load: () => Promise<Result>,
) => Promise<Result>;

/**
 * Makes the loaders of a process. They hold nothing between calls, so that all requests can share them:
 * what is asked in one turn of the event loop, by whatever request, goes into the same statements.
 */
export function createLoaders(
  prisma: PrismaClient,
  aroundBatch: AroundBatch = (_loader, _size, load) => load(),
): Loaders {
  const loadHistories = (keys: readonly DomainHistoryKey[]) =>
    aroundBatch('domainHistory', keys.length, () => loadDomainHistories(prisma, keys));
  return {
    domainHistory: new DataLoader(loadHistories, {
      cache: false,
      maxBatchSize: BATCH_SIZE,
      batchScheduleFn: (dispatch) => setImmediate(dispatch),
    }),
  };
}
