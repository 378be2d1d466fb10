import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { PrismaClient } from '../database/generated/client.js';
import type { Caller } from '../limits/caller.js';
import { CHANGE_KINDS, type ChangeKind } from '../model/change-kinds.js';
import { BusyError, PublicError, RateLimitedError } from '../model/errors.js';
import {
  type FeedChange,
  type FeedKey,
  type FeedPage,
  type FeedPlace,
  goneCursor,
  isAfter,
  loadEnd,
  loadFeed,
} from './change-feed.js';

/** Which changes of all domains a listener gets as they are recorded. */
export interface LiveKey extends Caller {
  /** Of these domains, by canonical name; absent: of all. */
  readonly domains?: readonly string[] | undefined;
  readonly kinds: ReadonlySet<ChangeKind>;
  /** The place that they follow; absent: the end of the feed. */
  readonly after?: FeedPlace | undefined;
}

/** Changes of a listener, and where they end in the feed. */
export type LivePage = Pick<FeedPage, 'items' | 'end'>;

/** What bounds listeners; each has a default. */
export interface LiveOptions {
  /** Whether the tables of domains are distributed over a Citus cluster. */
  readonly acrossShards?: boolean | undefined;
  /** How often, in milliseconds, the reader looks for changes after the last ones. */
  readonly readEvery?: number | undefined;
  /** How long, in milliseconds, one listens at most. */
  readonly longest?: number | undefined;
  /** How many changes are kept for those who read slowly, and for how long, in milliseconds. */
  readonly mostKept?: number | undefined;
  readonly keptFor?: number | undefined;
  /** In milliseconds: after which one gets an empty page that none of the changes were for. */
  readonly advanceAfter?: number | undefined;
}

const READ_EVERY = 250;
/** In milliseconds: a stream that a proxy has left open does not stay so for days. */
const LONGEST = 3_600_000;
const MOST_KEPT = 20_000;
/** In octets, of what is kept. */
const MOST_OCTETS = 8 * 1024 ** 2;
/** How many changes a listener gets at once. */
export const PAGE_GIVEN = 100;
/** In characters, of what a listener gets at once: written as JSON they may be six times as many. */
const MOST_CHARACTERS = 1_000_000;
/** In milliseconds. What is erased from the database is still sent for as long. */
const KEPT_FOR = 15_000;
const ADVANCE_AFTER = 15_000;
/** How many may listen, and how many of one client. */
const MOST_LISTENERS = 500;
const MOST_OF_CLIENT = 25;
/** How long, in milliseconds, the database may fail before the listeners are told. */
const LONGEST_FAILURE = 30_000;

const TOO_LONG = 'The stream has been open for an hour.';
const TOO_SLOW = 'Changes are recorded faster than this client reads them.';
const CLOSED = 'The service is being stopped.';

/**
 * What is recorded from now on, for any number of listeners: one reader for the whole process reads the feed while
 * there are listeners, and keeps the latest pages. Each listener reads them at its own pace, so that one that reads slowly
 * takes no memory of its own; one that is behind them is rejected.
 */
export class Feed {
  readonly #prisma: PrismaClient;
  readonly #options: LiveOptions;
  readonly #clients = new Map<string, number>();
  #listeners = 0;
  #reader: Promise<Reader> | undefined;
  #isClosed = false;

  /** @param prisma Of the primary, which has what is recorded at once. */
  constructor(prisma: PrismaClient, options: LiveOptions = {}) {
    this.#prisma = prisma;
    this.#options = options;
  }

  /**
   * The changes of a listener, in the order of recording: first, at once, those after the place that it names, or an empty
   * page; then the others as they are recorded.
   *
   * @throws PublicError, by the generator: INVALID_CURSOR for a place that is not in the feed; RATE_LIMITED for one listener
   *   too many of a client; UNAVAILABLE for one too many of all, and where the listener has to come back: it is too slow, has
   *   listened for an hour, or the process stops.
   */
  async *listen(key: LiveKey): AsyncGenerator<LivePage, void, void> {
    const leave = this.#enter(key.viewer.rateLimitKey);
    const ended = new AbortController();
    const { longest = LONGEST } = this.#options;
    const end = () => ended.abort(new PublicError('UNAVAILABLE', TOO_LONG));
    const timer = setTimeout(end, longest).unref();
    key.signal.onAbort(() => ended.abort());
    try {
      for await (const page of this.#pages(await this.#open(), key, ended.signal)) {
        // A token that is revoked must not be of use.
        await key.viewer.recheck?.();
        yield page;
      }
    } finally {
      clearTimeout(timer);
      leave();
    }
  }

  /** A page of the feed; null where it begins at a place that is not in it. */
  page(key: FeedKey): Promise<FeedPage | null> {
    return loadFeed(this.#prisma, key, this.#options.acrossShards);
  }

  /** Ends all listeners, and accepts no other. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const reader = await this.#reader?.catch(() => undefined);
    reader?.stop(new PublicError('UNAVAILABLE', CLOSED));
    await reader?.ended;
  }

  #enter(client: string): () => void {
    if (this.#isClosed) throw new PublicError('UNAVAILABLE', CLOSED);
    const ofClient = this.#clients.get(client) ?? 0;
    if (ofClient >= MOST_OF_CLIENT) {
      const message = `Too many live streams: a client may have ${MOST_OF_CLIENT}. Close others.`;
      throw new RateLimitedError(10, message);
    }
    if (this.#listeners >= MOST_LISTENERS) throw new BusyError(10, 'Too many live streams are open.');
    this.#clients.set(client, ofClient + 1);
    this.#listeners += 1;
    return () => {
      this.#listeners -= 1;
      const left = (this.#clients.get(client) ?? 0) - 1;
      if (left > 0) this.#clients.set(client, left);
      else this.#clients.delete(client);
      if (this.#listeners > 0) return;
      void this.#reader?.then((reader) => reader.stop()).catch(() => {});
      this.#reader = undefined;
    };
  }

  #open(): Promise<Reader> {
    if (this.#reader !== undefined) return this.#reader;
    const load = (key: FeedKey) => this.page(key);
    const opened = loadEnd(this.#prisma).then((end) => new Reader(load, end, this.#options));
    const forget = () => {
      if (this.#reader === opened) this.#reader = undefined;
    };
    opened.then((reader) => reader.ended).then(forget, forget);
    this.#reader = opened;
    return opened;
  }

  /** What a listener gets: what the database has up to where the reader's pages begin, and then these. */
  async *#pages(
    reader: Reader,
    { domains, kinds, after, signal }: LiveKey,
    ended: AbortSignal,
  ): AsyncGenerator<LivePage, void, void> {
    const requireOpen = () => {
      if (reader.error !== undefined) throw reader.error;
      if (!signal.aborted) ended.throwIfAborted();
    };
    let place = after ?? reader.end;
    if (after === undefined) yield { items: [], end: place };
    // A place that a client names has to be looked up, wherever it is.
    let isKnown = after === undefined;
    for (; !isKnown || isAfter(reader.begin, place); isKnown = true) {
      requireOpen();
      const key = { domains, kinds, newestFirst: false, first: PAGE_GIVEN, after: place };
      const page = await this.page(key);
      if (page === null) throw goneCursor();
      place = page.end;
      yield* inPieces(page.items, page.end);
    }
    const { advanceAfter = ADVANCE_AFTER } = this.#options;
    const from = place;
    let yieldedAt = performance.now();
    const names = domains && new Set(domains);
    const isWanted = ({ domain, kind, feedPlace }: FeedChange) =>
      kinds.has(kind) && names?.has(domain) !== false && isAfter(feedPlace, from);
    while (!signal.aborted) {
      requireOpen();
      const page = reader.pageAfter(place);
      if (page === undefined) {
        await reader.nextChange(ended);
        continue;
      }
      place = page.end;
      const changes = page.items.filter(isWanted);
      // Without any, its cursor would stay behind, and the client would have all of these looked through when it comes back.
      if (changes.length === 0 && performance.now() - yieldedAt < advanceAfter) continue;
      yield* inPieces(changes, page.end);
      yieldedAt = performance.now();
    }
  }
}

/** Changes as pages of a listener; one without any if there are none. */
function* inPieces(changes: readonly FeedChange[], end: FeedPlace): Generator<LivePage, void, void> {
  let piece: FeedChange[] = [];
  let characters = 0;
  for (const change of changes) {
    const more = charactersOf(change);
    const last = piece.at(-1);
    if (last !== undefined && (piece.length === PAGE_GIVEN || characters + more > MOST_CHARACTERS)) {
      yield { items: piece, end: last.feedPlace };
      [piece, characters] = [[], 0];
    }
    piece.push(change);
    characters += more;
  }
  yield { items: piece, end };
}

/** About how many characters a change has of values. */
function charactersOf(change: FeedChange): number {
  const values = change.record === undefined ? [change.old, change.new] : Object.values(change.record);
  return values.flat().reduce((sum: number, each) => sum + (typeof each === 'string' ? each.length : 0), 0);
}

interface KeptPage extends FeedPage {
  /** By the monotonic clock. */
  readonly readAt: number;
}

/** Reads the feed from a place on until it is stopped. */
class Reader {
  /** Resolves when it reads no more. */
  readonly ended: Promise<void>;
  /** Why all who listen have to end. */
  error: Error | undefined;
  /** Where the oldest page begins that is kept, and where the latest one ends. */
  begin: FeedPlace;
  end: FeedPlace;
  readonly #load: Feed['page'];
  readonly #options: LiveOptions;
  /** Emits `change` for a page and for the end. */
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  /** The latest pages. */
  readonly #pages: KeptPage[] = [];
  /** The changes and octets of the pages. */
  #changes = 0;
  #octets = 0;
  #isOver = false;

  constructor(load: Feed['page'], end: FeedPlace, options: LiveOptions) {
    this.#load = load;
    this.#options = options;
    this.begin = end;
    this.end = end;
    this.ended = this.#read();
  }

  /**
   * The first page that ends after a place; undefined where it was not read yet.
   *
   * @throws PublicError UNAVAILABLE where it was dropped.
   */
  pageAfter(place: FeedPlace): FeedPage | undefined {
    if (isAfter(this.begin, place)) throw new PublicError('UNAVAILABLE', TOO_SLOW);
    return this.#pages.find(({ end }) => isAfter(end, place));
  }

  /** Until there is another page, an error, or the signal is aborted. */
  async nextChange(signal: AbortSignal): Promise<void> {
    await once(this.#emitter, 'change', { signal }).catch(() => {});
  }

  /** @param error For all who listen. */
  stop(error?: Error): void {
    this.#isOver = true;
    this.error = error;
    this.#emitter.emit('change');
  }

  async #read(): Promise<void> {
    let failedSince: number | undefined;
    while (!this.#isOver) {
      try {
        // As many as are kept: each page of an observation reads all of it.
        const key = { kinds: ALL_KINDS, newestFirst: false, first: MOST_KEPT, after: this.end };
        const page = await this.#load(key);
        if (page === null) return this.stop(goneCursor());
        this.#keep(page);
        failedSince = undefined;
        if (page.next !== null) continue;
      } catch (error) {
        failedSince ??= performance.now();
        if (performance.now() - failedSince > LONGEST_FAILURE) return this.stop(asError(error));
      }
      await pause(this.#options.readEvery ?? READ_EVERY);
    }
  }

  #keep(page: FeedPage): void {
    const { mostKept = MOST_KEPT, keptFor = KEPT_FOR } = this.#options;
    this.end = page.end;
    const now = performance.now();
    while ((this.#pages[0]?.readAt ?? now) < now - keptFor) this.#drop();
    if (page.items.length === 0) return;
    this.#pages.push({ ...page, readAt: now });
    this.#changes += page.items.length;
    this.#octets += page.octets;
    // A listener that has read all others is never behind the latest.
    while (this.#pages.length > 1 && (this.#changes > mostKept || this.#octets > MOST_OCTETS)) this.#drop();
    this.#emitter.emit('change');
  }

  #drop(): void {
    const dropped = this.#pages.shift();
    if (dropped === undefined) return;
    this.#changes -= dropped.items.length;
    this.#octets -= dropped.octets;
    this.begin = dropped.end;
  }
}

const ALL_KINDS: ReadonlySet<ChangeKind> = new Set(CHANGE_KINDS);

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
