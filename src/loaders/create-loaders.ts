import DataLoader from 'dataloader';
import type { PrismaClient } from '../database/generated/client.js';
import { ON_SERVER, type Tables } from '../database/tables.js';
import { ClientGoneError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { loadChanges } from './domain-changes.js';
import { type DomainHistory, type DomainHistoryKey, loadDomainHistories } from './domain-history.js';
import { BATCH_SIZE, type DomainRowKey } from './domain-row.js';
import { loadHeaderPage } from './header-pages.js';
import { loadAttempts } from './observed-parts.js';
import { paced, type Reader } from './paced.js';
import { loadRRsets } from './rrsets.js';
import { search } from './search.js';
import { searchDomains } from './search-domains.js';
import { type HeaderSearchKey, headerQuestion } from './search-headers.js';
import { type RecordSearchKey, recordQuestion } from './search-records.js';
import { searchDomainsOfShards, searchHeadersOfShards, searchRecordsOfShards } from './search-shards.js';
import { loadDiff } from './state-diff.js';
import { loadStatistics } from './statistics.js';

/** Loads what a key says. Nothing is sent to the database for a client that has gone. */
export interface Loader<Key, Value> {
  /** @throws ClientGoneError */
  load(key: Key, reader: Reader): Promise<Value>;
}

/** What the resolvers read from. */
export type Loaders = ReturnType<typeof createLoaders>;

/** Connections to one database. */
export interface LoaderConnections {
  readonly prisma: PrismaClient;
  /** For searches, so that domains do not wait for them. */
  readonly searchPrisma: PrismaClient;
}

/** How batches are loaded. */
export interface LoadingOptions {
  readonly tables?: Tables | undefined;
  /** Wraps each batch, for telemetry. */
  readonly aroundBatch?: AroundBatch | undefined;
}

/**
 * Loads a batch, and reports it.
 *
 * @param loader What is loaded: domains with parts of their history or only rows, attempts, or a page.
 */
export type AroundBatch = <Result>(
  loader: string,
  size: number,
  load: () => Promise<Result>,
) => Promise<Result>;

/**
 * Creates the loaders of a database. They keep nothing between calls, so that all requests share them: what is
 * requested in one turn of the event loop goes into the same statements.
 */
export function createLoaders(
  { prisma, searchPrisma }: LoaderConnections,
  { aroundBatch = (_loader, _size, load) => load(), tables = ON_SERVER }: LoadingOptions = {},
) {
  // On a cluster, a domain by itself: a statement for several would go to the shards of all of them.
  const batchSize = tables.acrossShards ? 1 : BATCH_SIZE;
  const batch = <Key extends DomainRowKey, Value>(
    loader: string,
    load: (prisma: PrismaClient, keys: readonly Key[]) => Promise<readonly Value[]>,
  ) => batched<Key, Value>(batchSize, (keys) => aroundBatch(loader, keys.length, () => load(prisma, keys)));
  const page = <Key, Page>(
    loader: string,
    load: (prisma: PrismaClient, key: Key) => Promise<Page>,
    connections = prisma,
  ): Loader<Key, Page> => ({
    load: (key, reader) =>
      paced(reader, async () => {
        if (reader.signal.destroyed) throw new ClientGoneError();
        return aroundBatch(loader, 1, () => load(connections, key));
      }),
  });
  const searches = tables.acrossShards
    ? { records: searchRecordsOfShards, headers: searchHeadersOfShards, domains: searchDomainsOfShards }
    : {
        records: (one: PrismaClient, key: RecordSearchKey) => search(one, recordQuestion(key)),
        headers: (one: PrismaClient, key: HeaderSearchKey) => search(one, headerQuestion(key)),
        domains: searchDomains,
      };
  return {
    /** Null: nothing is recorded of the domain. Without any part, nothing but the domain's row is read. */
    domainHistory: batch<DomainHistoryKey, DomainHistory | null>('domainHistory', loadDomainHistories),
    /** The latest attempt to observe a domain; null: it is not watched, or was not observed yet. */
    attempt: batch('attempt', loadAttempts),
    /** A page of a domain's changes; of a domain that is not recorded it is empty. */
    changes: page('changes', loadChanges),
    headerPage: page('headerPage', loadHeaderPage),
    recordPage: page('recordPage', searches.records),
    rrsets: page('rrsets', loadRRsets),
    diff: page('diff', loadDiff),
    /** Pages of what is found in all domains. */
    records: page('search', searches.records, searchPrisma),
    headers: page('search', searches.headers, searchPrisma),
    domains: page('search', searches.domains, searchPrisma),
    statistics: page('statistics', (one, _: undefined) => loadStatistics(one, tables), searchPrisma),
  };
}

/** A key of a batch, and who waits for it. */
interface Wanted<Key> {
  readonly key: Key;
  readonly signal: Reader['signal'];
}

/** Loads keys in batches, each of one instant: none waits for another's statement. */
function batched<Key extends DomainRowKey, Value>(
  maxBatchSize: number,
  load: (keys: readonly Key[]) => Promise<readonly Value[]>,
): Loader<Key, Value> {
  const loadWanted = async (batch: readonly Wanted<Key>[]): Promise<(Value | Error)[]> => {
    const wanted = batch.filter(({ signal }) => !signal.destroyed);
    const values = wanted.length === 0 ? [] : await load(wanted.map(({ key }) => key));
    const found = new Map(wanted.map((each, place) => [each, values[place]]));
    return batch.map((each) => (found.has(each) ? (found.get(each) as Value) : new ClientGoneError()));
  };
  const batchScheduleFn = (dispatch: () => void) => setImmediate(dispatch);
  const loaders = new Map<Instant | undefined, DataLoader<Wanted<Key>, Value>>();
  const loaderOf = (at: Instant | undefined) => {
    const known = loaders.get(at);
    if (known !== undefined) return known;
    const loader = new DataLoader(loadWanted, { cache: false, maxBatchSize, batchScheduleFn });
    loaders.set(at, loader);
    // Its batches are dispatched right after that. The one for now is used again and again.
    if (at !== undefined) setImmediate(() => loaders.delete(at));
    return loader;
  };
  return {
    load: (key, reader) => paced(reader, () => loaderOf(key.at).load({ key, signal: reader.signal })),
  };
}
