import DataLoader from 'dataloader';
import pLimit, { type LimitFunction } from 'p-limit';
import type { PrismaClient } from '../database/generated/client.js';
import { ON_SERVER, type Tables } from '../database/tables.js';
import { ClientGoneError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { loadChanges } from './changes.js';
import { type DomainHistory, type DomainHistoryKey, loadDomainHistories } from './domain-history.js';
import { BATCH_SIZE, type DomainRowKey } from './domain-row.js';
import { loadHeaderPage } from './header-entries.js';
import { loadAttempts } from './observed-parts.js';
import { loadRRsets } from './rrsets.js';
import type { SearchReader } from './search.js';
import { searchDomains } from './search-domains.js';
import { searchHeaders } from './search-headers.js';
import { searchRecords } from './search-records.js';
import { loadDiff } from './state-diff.js';
import { loadStatistics } from './statistics.js';

/** Who waits for what is loaded: the Caller of a request. */
interface Reader {
  /** Destroyed once it is gone. */
  readonly signal: { readonly destroyed: boolean };
  /** Set here: how many keys it has loaded, and what further ones wait in. */
  keys?: number;
  turns?: LimitFunction;
}

interface Loader<Key, Value> {
  /** @throws ClientGoneError where the client has gone: nothing is sent to the database for it. */
  load(key: Key, reader: Reader): Promise<Value>;
}

export type Loaders = ReturnType<typeof createLoaders>;

export type AroundBatch = <Result>(
  loader: string,
  size: number,
  load: () => Promise<Result>,
) => Promise<Result>;

interface LoadingOptions {
  readonly tables?: Tables;
  readonly aroundBatch?: AroundBatch;
}

/**
 * Creates the loaders of a database. They keep nothing between calls, so that all requests share them: what is
 * requested in one turn of the event loop goes into the same statements.
 *
 * @param database With connections for searches, so that domains do not wait for them.
 */
export function createLoaders(
  { prisma, searchPrisma }: { readonly prisma: PrismaClient; readonly searchPrisma: PrismaClient },
  { aroundBatch = (_loader, _size, load) => load(), tables = ON_SERVER }: LoadingOptions = {},
) {
  const maxBatchSize = Math.min(tables.maxDomains, BATCH_SIZE);
  const batch = <Key extends DomainRowKey, Value>(
    loader: string,
    load: (prisma: PrismaClient, keys: readonly Key[]) => Promise<readonly Value[]>,
  ) =>
    batched<Key, Value>(maxBatchSize, (keys) => aroundBatch(loader, keys.length, () => load(prisma, keys)));
  const page = <Key, Page>(
    loader: string,
    load: (prisma: PrismaClient, key: Key) => Promise<Page>,
    connections = prisma,
  ): Loader<Key, Page> => ({
    load: (key, reader) => paced(reader, () => aroundBatch(loader, 1, () => load(connections, key))),
  });
  const searched =
    <Key, Found>(search: (reader: SearchReader, key: Key) => Promise<Found>) =>
    (one: PrismaClient, key: Key) =>
      search({ prisma: one, tables }, key);
  return {
    /** Null: nothing is recorded of the domain. Without any part, nothing but the domain's row is read. */
    domainHistory: batch<DomainHistoryKey, DomainHistory | null>('domainHistory', loadDomainHistories),
    /** Null: the domain is not watched, or was not observed yet. */
    attempt: batch('attempt', loadAttempts),
    changes: page('changes', loadChanges),
    headerPage: page('headerPage', loadHeaderPage),
    recordPage: page('recordPage', searched(searchRecords)),
    rrsets: page('rrsets', loadRRsets),
    diff: page('diff', loadDiff),
    records: page('search', searched(searchRecords), searchPrisma),
    headers: page('search', searched(searchHeaders), searchPrisma),
    domains: page('search', searched(searchDomains), searchPrisma),
    statistics: page('statistics', (one, _: undefined) => loadStatistics(one, tables), searchPrisma),
  };
}

/** A request loads eight keys at a time, after its first: others need not wait for all of a long list. */
export async function paced<Value>(reader: Reader, load: () => Promise<Value>): Promise<Value> {
  const loadUnlessGone = () => {
    if (reader.signal.destroyed) throw new ClientGoneError();
    return load();
  };
  reader.keys = (reader.keys ?? 0) + 1;
  // To make the library's queue takes 10 µs, and most requests have a key or two.
  if (reader.keys <= BATCH_SIZE) return loadUnlessGone();
  reader.turns ??= pLimit(BATCH_SIZE);
  return reader.turns(loadUnlessGone);
}

/** Loads keys in batches, each of one instant: none waits for another's statement. */
function batched<Key extends DomainRowKey, Value>(
  maxBatchSize: number,
  load: (keys: readonly Key[]) => Promise<readonly Value[]>,
): Loader<Key, Value> {
  const loaders = new Map<Instant | undefined, DataLoader<Key, Value>>();
  const loaderOf = (at: Instant | undefined) => {
    const known = loaders.get(at);
    if (known !== undefined) return known;
    const loader = new DataLoader(load, { cache: false, maxBatchSize, batchScheduleFn: setImmediate });
    loaders.set(at, loader);
    // Its batches are dispatched right after that. The one for now is used again and again.
    if (at !== undefined) setImmediate(() => loaders.delete(at));
    return loader;
  };
  return { load: (key, reader) => paced(reader, () => loaderOf(key.at).load(key)) };
}
