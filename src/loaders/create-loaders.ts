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
 * Makes the loaders of a process. They hold nothing between calls, so that all requests can share them:
 * what is asked in one turn of the event loop, by whatever request, goes into the same statements.
 */
export function createLoaders(prisma: PrismaClient): Loaders {
  const options = {
    cache: false,
    maxBatchSize: BATCH_SIZE,
    batchScheduleFn: (dispatch: () => void) => setImmediate(dispatch),
  };
  const histories = new DataLoader(
    (keys: readonly DomainHistoryKey[]) => loadDomainHistories(prisma, keys),
    options,
  );
  const rows = new DataLoader((names: readonly string[]) => loadDomainRows(prisma, names), options);
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
