import DataLoader from 'dataloader';
import type { PrismaClient } from '../database/generated/client.js';
import { type DomainHistory, type DomainHistoryKey, loadDomainHistories } from './domain-history.js';
import { BATCH_SIZE, loadDomainRows } from './domain-row.js';

/** What the resolvers read from. */
export interface Loaders {
  readonly domainHistory: {
    /** Null: nothing is recorded of the domain. Without any part, nothing but the domain's row is read. */
    load(key: DomainHistoryKey): Promise<DomainHistory | null>;
  };
}

/**
 * Does the loading of a batch, and tells of it.
 *
 * @param loader What is loaded: domains with parts of their history, or nothing but their rows.
 */
export type AroundBatch = <Result>(
  loader: 'domainHistory' | 'domainRow',
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
  const options = {
    cache: false,
    maxBatchSize: BATCH_SIZE,
    batchScheduleFn: (dispatch: () => void) => setImmediate(dispatch),
  };
  const loadHistories = (keys: readonly DomainHistoryKey[]) =>
    aroundBatch('domainHistory', keys.length, () => loadDomainHistories(prisma, keys));
  const loadRows = (names: readonly string[]) =>
    aroundBatch('domainRow', names.length, () => loadDomainRows(prisma, names));
  const histories = new DataLoader(loadHistories, options);
  const rows = new DataLoader(loadRows, options);
  return {
    domainHistory: {
      async load(key) {
        if (key.dnsRecords || key.httpHeaders || key.counts) return histories.load(key);
        const row = await rows.load(key.name);
        return row && { ...row, dnsRecords: null, httpHeaders: null, counts: null };
      },
    },
  };
}
