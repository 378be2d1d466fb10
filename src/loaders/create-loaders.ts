import DataLoader from 'dataloader';
import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { fairTurns } from '../rates/fair-turns.js';
import { type FeedKey, type FeedPage, type FeedSource, feedSource, loadFeed } from './change-feed.js';
import { Pages } from './columns.js';
import { type ChangePage, type ChangesKey, loadChanges } from './domain-changes.js';
import {
  type DomainHistory,
  type DomainHistoryKey,
  type HistoryPages,
  historyOf,
  LargeHistory,
  loadDomainHistories,
  NO_PARTS,
  readHistoryPages,
  wholeHistory,
} from './domain-history.js';
import { BATCH_SIZE, type DomainRow, type DomainRowKey, loadDomainRows } from './domain-row.js';
import {
  type HeaderHistoryKey,
  type HeaderHistoryPage,
  type HeaderPage,
  type HeaderPageKey,
  loadHeaderHistory,
  loadHeaderPage,
} from './header-pages.js';
import { LiveFeed, type LiveOptions } from './live-feed.js';
import { type Attempt, loadAttempts } from './observed-parts.js';
import { abandoned } from './recipient.js';
import { ResponseMemory } from './response-memory.js';
import type { Searching } from './search.js';
import {
  type DomainMatches,
  type DomainSearchKey,
  loadStatistics,
  type Statistics,
  searchDomains,
} from './search-domains.js';
import { type HeaderMatches, type HeaderSearchKey, searchHeaders } from './search-headers.js';
import { type RecordMatches, type RecordSearchKey, searchRecords } from './search-records.js';
import {
  loadStatisticsOfShards,
  searchDomainsOfShards,
  searchHeadersOfShards,
  searchRecordsOfShards,
} from './search-shards.js';
import { ClientShares, Turns } from './turns.js';

/** What the resolvers read from. */
export interface Loaders {
  /** Limits the memory that large responses take. */
  readonly responseMemory: Pick<ResponseMemory, 'take' | 'release'>;
  /** How many octets of several large histories one response may have. */
  readonly mostOctets: number;
  readonly domainHistory: {
    /** Null: nothing is recorded of the domain. Without any part, nothing but the domain's row is read. */
    load(key: DomainHistoryKey): Promise<DomainHistory | null>;
    /** What `onLarge` of load() was called for: the history as pages, once there is room for so many octets. */
    readPages(key: DomainHistoryKey, octets: number): Promise<HistoryPages | null>;
  };
  /** The latest attempt to observe a domain; null: it is not watched, or was not observed yet. */
  readonly attempt: { load(key: DomainRowKey): Promise<Attempt | null> };
  /** A page of a domain's changes; of a domain that is not recorded it is empty. */
  readonly changes: { load(key: ChangesKey): Promise<ChangePage> };
  /** A page of a domain's headers, and of the changes of one header's value. */
  readonly headerPage: { load(key: HeaderPageKey): Promise<HeaderPage> };
  readonly headerHistory: { load(key: HeaderHistoryKey): Promise<HeaderHistoryPage> };
  /** Pages of what is found in all domains. */
  readonly records: { load(key: RecordSearchKey): Promise<RecordMatches> };
  readonly headers: { load(key: HeaderSearchKey): Promise<HeaderMatches> };
  readonly domains: { load(key: DomainSearchKey): Promise<DomainMatches> };
  /** A page of the feed; null where it begins at a place that is not in it. */
  readonly feed: { load(key: FeedKey): Promise<FeedPage | null> };
  /** The same from the database that the feed is followed in. */
  readonly newestFeed: { load(key: FeedKey): Promise<FeedPage | null> };
  /** The feed as it is recorded. */
  readonly live: Pick<LiveFeed, 'listen' | 'close'>;
  readonly statistics: { load(key: Searching): Promise<Statistics> };
}

/** How batches are loaded. */
interface LoadingOptions {
  /** How many statements run at once; 10 if absent. */
  readonly statementsAtOnce?: number | undefined;
  /** From the call to the result, the wait for a turn included; 10,000 if absent. */
  readonly milliseconds?: number | undefined;
  /** How many octets of large histories may be in responses at once; 64 MB if absent. */
  readonly responseMemory?: number | undefined;
  /** How long, in milliseconds, a client may take to read a large response while others wait; 20,000 if absent. */
  readonly reading?: number | undefined;
  /** What bounds those who listen to the feed; absent: as LiveOptions has it. */
  readonly live?: LiveOptions | undefined;
  /** Whether the tables of domains are distributed over a Citus cluster. */
  readonly acrossShards?: boolean | undefined;
  /** Wraps each batch, for telemetry. */
  readonly aroundBatch?: AroundBatch | undefined;
}

const justLoad: AroundBatch = (_loader, _size, load) => load();

/** What is read, parsed, executed and written of a history in a millisecond. */
const CHARACTERS_OF_MILLISECOND = 12_000;

/** A smaller history needs no room: the limits of connections and requests bound how many are in responses. */
const WITHOUT_ROOM = 16_384;
/** At most, for one character that is read: it is escaped, or written as a new and as an old value. */
const CHARACTERS_OF_RESPONSE = 2;

const STATEMENTS_AT_ONCE = 10;
/** Of one client, in three batches: one is read while another is parsed and a third is sent. With two, one client alone gets 6 % less. */
const HISTORIES_OF_CLIENT = 24;
/**
 * Which share of the statements may be of pages, and how many of these one client has at once: a page may take a hundred times
 * as long as an ordinary domain, for which there are always others.
 */
const SHARE_OF_PAGES = 0.4;
const PAGES_OF_CLIENT = 2;
/** Executing and writing an entry of a page, approximately. */
const MILLISECONDS_OF_ENTRY = 0.03;
/** Batches that wait for their turn: half a second's work of a database that is up. */
const MOST_WAITING = 500;
/** In milliseconds. */
const QUERY_LIMIT = 10_000;
const RESPONSE_MEMORY = 64 * 1024 ** 2;
/** A history in one piece takes so many times the memory of one that is written in parts. */
const MEMORY_OF_OBJECTS = 6;
/** In milliseconds. This wait is for other responses to be written, and not for the database. */
const ROOM_LIMIT = 30_000;
/** In milliseconds: shorter, so that a request that waits behind slow readers gets its turn. */
const READING_LIMIT = 20_000;

/** What loads a page by a statement of its own. */
type PageLoader = 'changes' | 'headerPage' | 'headerHistory' | 'search' | 'feed' | 'statistics';

/**
 * Loads a batch, and reports it.
 *
 * @param loader What is loaded: domains with parts of their history or only their rows, attempts to observe them, or a page.
 */
export type AroundBatch = <Result>(
  loader: 'domainHistory' | 'domainRow' | 'attempt' | PageLoader,
  size: number,
  load: () => Promise<Result>,
) => Promise<Result>;

/**
 * Creates the loaders of a process. They keep nothing between calls, so that all requests share them: what is
 * requested in one turn of the event loop goes into the same statements.
 *
 * They throw UnavailableError when too much waits for the database, or for too long.
 */
export function createLoaders(prisma: PrismaClient, options: LoadingOptions = {}): Loaders {
  return createLoaderSet(prisma, options).primary;
}

/** The loaders of a process whose responses are read from several databases: what limits them is common to all. */
export interface LoaderSet {
  readonly primary: Loaders;
  /** Creates those of a replica. */
  ofReplica(prisma: PrismaClient): Loaders;
}

/** @param spare A replica that can be used, for the feed as it is recorded, while the primary is away. */
export function createLoaderSet(
  primary: PrismaClient,
  options: LoadingOptions = {},
  spare: () => PrismaClient | undefined = () => undefined,
): LoaderSet {
  const { aroundBatch = justLoad, acrossShards = false } = options;
  const atOnce = options.statementsAtOnce ?? STATEMENTS_AT_ONCE;
  const limits = { mostWaiting: MOST_WAITING, milliseconds: options.milliseconds ?? QUERY_LIMIT };
  const octets = options.responseMemory ?? RESPONSE_MEMORY;
  const common: CommonLimits = {
    aroundBatch,
    acrossShards,
    turns: () => new Turns({ ...limits, atOnce }),
    pageTurns: new Turns({ ...limits, atOnce: Math.ceil(atOnce * SHARE_OF_PAGES) }),
    octets,
    memory: new ResponseMemory({
      octets,
      mostWaiting: MOST_WAITING,
      milliseconds: ROOM_LIMIT,
      reading: options.reading ?? READING_LIMIT,
    }),
    shares: new ClientShares(HISTORIES_OF_CLIENT),
    pageShares: new ClientShares(PAGES_OF_CLIENT),
  };
  const source = feedSource(primary, spare, acrossShards);
  const live = new LiveFeed(source, options.live);
  const loadersOf = (prisma: PrismaClient, load: FeedSource['load']) =>
    loadersWith(prisma, common, { load, live, source });
  return {
    primary: loadersOf(primary, (key) => loadFeed(primary, key, acrossShards)),
    ofReplica: (prisma) => loadersOf(prisma, (key) => loadFeed(prisma, key, acrossShards)),
  };
}

/** What is one for the process, or makes one for each database. */
interface CommonLimits {
  readonly aroundBatch: AroundBatch;
  readonly acrossShards: boolean;
  /** One for each database, which has connections of its own. */
  readonly turns: () => Turns;
  readonly pageTurns: Turns;
  readonly octets: number;
  readonly memory: ResponseMemory;
  readonly shares: ClientShares;
  readonly pageShares: ClientShares;
}

/** How the feed is read. */
interface FeedParts {
  readonly load: FeedSource['load'];
  readonly live: LiveFeed;
  readonly source: FeedSource;
}

function loadersWith(
  prisma: PrismaClient,
  {
    aroundBatch,
    acrossShards,
    turns: makeTurns,
    pageTurns,
    octets: responseMemory,
    memory,
    shares,
    pageShares,
  }: CommonLimits,
  feed: FeedParts,
): Loaders {
  const turns = makeTurns();
  const loadHistories = turns.inTurn((keys: readonly DomainHistoryKey[]) =>
    aroundBatch('domainHistory', keys.length, () => loadDomainHistories(prisma, keys)),
  );
  const readPages: Loaders['domainHistory']['readPages'] = async (key, octets) => {
    if (key.recipient !== undefined) await memory.take(octets, key.recipient, key.client);
    const pages = new Pages((read) => turns.single(key, () => aroundBatch('domainHistory', 1, read)));
    return readHistoryPages(prisma, key, pages);
  };
  const loadRows = turns.inTurn((keys: readonly DomainRowKey[]) =>
    aroundBatch('domainRow', keys.length, () => loadDomainRows(prisma, keys)),
  );
  // On a cluster, a domain by itself: a statement for several would go to the shards of all of them.
  const batchSize = acrossShards ? 1 : BATCH_SIZE;
  const loadAttempt = batched(
    batchSize,
    turns.inTurn((keys: readonly DomainRowKey[]) =>
      aroundBatch('attempt', keys.length, () => loadAttempts(prisma, keys)),
    ),
  );
  const loadHistory = batched(batchSize, loadHistories);
  const loadRow = batched(batchSize, loadRows);
  const pages = <Key extends Searching & { readonly first?: number }, Page>(
    loader: PageLoader,
    load: (prisma: PrismaClient, key: Key) => Promise<Page>,
  ) => ({
    async load(key: Key) {
      const page = await pageShares.run(key.client, () =>
        pageTurns.single(key, () => aroundBatch(loader, 1, () => load(prisma, key))),
      );
      await fairTurns.take(key.client, (key.first ?? 0) * MILLISECONDS_OF_ENTRY);
      return page;
    },
  });
  return {
    responseMemory: memory,
    mostOctets: responseMemory / MEMORY_OF_OBJECTS,
    domainHistory: {
      async load(key) {
        if (!(key.dnsRecords || key.httpHeaders || key.counts || key.times)) {
          const row = await shares.run<DomainRow | null>(key.client, () => loadRow(key));
          return row && historyOf(row, NO_PARTS, key.at);
        }
        const found = await shares.run(key.client, async () => {
          const history = await loadHistory(key);
          if (history === null || history instanceof LargeHistory) return history;
          const { characters } = history;
          if (characters > WITHOUT_ROOM && key.recipient !== undefined) {
            await memory.take(characters * CHARACTERS_OF_RESPONSE, key.recipient, key.client);
          }
          await fairTurns.take(key.client, characters / CHARACTERS_OF_MILLISECOND);
          if (key.recipient?.destroyed === true) throw abandoned();
          return history.parse();
        });
        if (!(found instanceof LargeHistory)) return found;
        if (key.filtered === true) return this.load({ ...key, dnsRecords: false, filtered: false });
        await key.onLarge?.(found.octets);
        const pages = await readPages(key, found.octets * MEMORY_OF_OBJECTS);
        return pages && wholeHistory(pages, key.at, key.client);
      },
      readPages,
    },
    attempt: { load: loadAttempt },
    changes: pages('changes', loadChanges),
    headerPage: pages('headerPage', loadHeaderPage),
    headerHistory: pages('headerHistory', loadHeaderHistory),
    records: pages('search', acrossShards ? searchRecordsOfShards : searchRecords),
    headers: pages('search', acrossShards ? searchHeadersOfShards : searchHeaders),
    domains: pages('search', acrossShards ? searchDomainsOfShards : searchDomains),
    feed: pages<FeedKey, FeedPage | null>('feed', (_prisma, key) => feed.load(key)),
    newestFeed: pages<FeedKey, FeedPage | null>('feed', (_prisma, key) => feed.source.load(key)),
    live: feed.live,
    statistics: pages('statistics', acrossShards ? loadStatisticsOfShards : loadStatistics),
  };
}

/** Loads keys in batches. Those of different instants are in different batches: none waits for another's statement. */
function batched<Key extends DomainRowKey, Value>(
  maxBatchSize: number,
  load: (keys: readonly Key[]) => Promise<readonly (Value | Error)[]>,
): (key: Key) => Promise<Value> {
  const batching = {
    cache: false,
    maxBatchSize,
    batchScheduleFn: (dispatch: () => void) => setImmediate(dispatch),
  };
  const now = new DataLoader(load, batching);
  const ofInstant = new Map<Instant, DataLoader<Key, Value>>();
  return (key) => {
    const { at } = key;
    if (at === undefined) return now.load(key);
    let loader = ofInstant.get(at);
    if (loader === undefined) {
      loader = new DataLoader(load, batching);
      ofInstant.set(at, loader);
      // Its batches are dispatched right after that.
      setImmediate(() => ofInstant.delete(at));
    }
    return loader.load(key);
  };
}
