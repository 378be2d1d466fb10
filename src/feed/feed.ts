import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { PrismaClient } from '../database/generated/client.js';
import type { Tables } from '../database/tables.js';
import type { Caller } from '../limits/caller.js';
import { nextTurn } from '../limits/turns.js';
import { paced } from '../loaders/create-loaders.js';
import { type ChangesAnywhere, changeTest } from '../model/change-filter.js';
import { CHANGE_KINDS } from '../model/change-kinds.js';
import { BusyError, ClientGoneError, PublicError, RateLimitedError } from '../model/errors.js';
import { type FeedKey, type FeedPage, type FeedPlace, goneCursor, loadEnd, loadFeed } from './change-feed.js';

interface LiveKey extends ChangesAnywhere, Caller {
  /** Absent: the end of the feed. */
  readonly after?: FeedPlace | undefined;
}

type LivePage = Pick<FeedPage, 'items' | 'end'>;

/** In milliseconds. */
const DEFAULTS = {
  /** From one look for what was recorded to the next. */
  lookEvery: 250,
  /** A stream that a proxy has left open does not stay so for days. */
  longest: 3_600_000,
  /** Of pages, for all who listen. What is erased from the database is still sent for as long. */
  keptFor: 15_000,
  /** After which a listener gets an empty page if no change was for it. */
  advanceAfter: 15_000,
};

export interface LiveOptions extends Readonly<Partial<typeof DEFAULTS>> {
  readonly tables?: Tables;
}

/** How long the database may fail before the listeners are told. */
const MAX_FAILURE = 30_000;
/** In octets, of the pages that are kept. */
const MAX_OCTETS = 8 * 1024 ** 2;
const PAGE_GIVEN = 100;
const MAX_LISTENERS = 500;
const MAX_PER_CLIENT = 25;

const TOO_MANY = `Too many live streams: a client may have ${MAX_PER_CLIENT}. Close others.`;

/**
 * The feed of changes. While there are listeners, what is recorded is read once for all of them. Each goes on at
 * its own pace, and holds no more than it is being sent.
 */
export class Feed {
  readonly #prisma: PrismaClient;
  readonly #options: LiveOptions & typeof DEFAULTS;
  /** What ends each listener, and its client. */
  readonly #listeners = new Map<AbortController, string>();
  #looking: Promise<void> | undefined;
  /** The end of the feed when it was looked at last, and what tells that it is another. */
  #end: string | undefined;
  readonly #ends = new EventEmitter().setMaxListeners(0);
  #closed: PublicError | undefined;
  /** By the place that they follow. */
  readonly #pages: LRUCache<string, FeedPage, FeedPlace>;

  /** @param prisma Of the primary, which has what is recorded at once. */
  constructor(prisma: PrismaClient, options: LiveOptions = {}) {
    this.#prisma = prisma;
    this.#options = { ...DEFAULTS, ...options };
    this.#pages = new LRUCache({
      maxSize: MAX_OCTETS,
      ttl: this.#options.keptFor,
      ignoreFetchAbort: true,
      sizeCalculation: ({ octets }) => octets + 1,
      fetchMethod: async (_key, _stale, { context: after }) => {
        const page = await this.#pageAfter({ kinds: new Set(CHANGE_KINDS), after });
        // Nothing is kept where there is nothing yet.
        return keyOf(page.end) === keyOf(after) ? undefined : page;
      },
    });
  }

  /**
   * At once, the changes after the place of the key, or an empty page; then the others as they are recorded.
   *
   * @throws PublicError, by the generator: INVALID_CURSOR for a place that is not in the feed; RATE_LIMITED for
   *   one listener too many of a client; UNAVAILABLE for one too many of all, and where it has to come back: it
   *   has listened for an hour, the database is away, or the process stops.
   */
  async *listen(key: LiveKey): AsyncGenerator<LivePage, void, void> {
    const ended = this.#enter(key.viewer.rateLimitKey);
    const end = () => ended.abort(new PublicError('UNAVAILABLE', 'The stream has been open for an hour.'));
    const timer = setTimeout(end, this.#options.longest).unref();
    key.signal.once('close', () => ended.abort(new ClientGoneError()));
    this.#looking ??= this.#look();
    try {
      for await (const page of this.#pagesOf(key, ended.signal)) {
        // A token that is revoked must not be of use.
        await key.viewer.recheck?.();
        // Many listeners get what an import records, page after page.
        if (page.items.length > 0) await nextTurn();
        yield page;
      }
    } finally {
      clearTimeout(timer);
      this.#listeners.delete(ended);
    }
  }

  /** Null where the page begins at a place that is not in the feed. */
  page(key: FeedKey, caller: Caller): Promise<FeedPage | null> {
    return paced(caller, () => loadFeed(this.#prisma, key, this.#options.tables));
  }

  async close(): Promise<void> {
    this.#closed = new PublicError('UNAVAILABLE', 'The service is being stopped.');
    this.#endAll(this.#closed);
    await this.#looking;
  }

  async #pageAfter(key: Omit<FeedKey, 'newestFirst' | 'first'>): Promise<FeedPage> {
    const forward = { ...key, newestFirst: false, first: PAGE_GIVEN };
    const page = await loadFeed(this.#prisma, forward, this.#options.tables);
    if (page === null) throw goneCursor();
    return page;
  }

  #enter(client: string): AbortController {
    if (this.#closed !== undefined) throw this.#closed;
    const ofClient = [...this.#listeners.values()].filter((each) => each === client).length;
    if (ofClient >= MAX_PER_CLIENT) throw new RateLimitedError(10, TOO_MANY);
    if (this.#listeners.size >= MAX_LISTENERS) throw new BusyError(10, 'Too many live streams are open.');
    const ended = new AbortController();
    this.#listeners.set(ended, client);
    return ended;
  }

  #endAll(error: unknown): void {
    for (const ended of this.#listeners.keys()) ended.abort(error);
  }

  async *#pagesOf(
    { after, signal: _signal, viewer: _viewer, ...filter }: LiveKey,
    ended: AbortSignal,
  ): AsyncGenerator<LivePage, void, void> {
    let place = after ?? (await loadEnd(this.#prisma));
    if (after === undefined) yield { items: [], end: place };
    // What was recorded before is found by the question itself, however much of it is for others.
    for (let next: FeedPlace | null | undefined = after; next != null; ) {
      ended.throwIfAborted();
      const page = await this.#pageAfter({ ...filter, after: next });
      yield page;
      ({ end: place, next } = page);
    }
    const test = changeTest(filter);
    let yieldedAt = performance.now();
    for (;;) {
      ended.throwIfAborted();
      const end = this.#end;
      const page = await this.#pages.fetch(keyOf(place), { context: place });
      if (page === undefined) {
        if (end === this.#end) await once(this.#ends, 'other', { signal: ended }).catch(() => {});
        continue;
      }
      const items = page.items.filter(test);
      place = page.end;
      // Without any, its cursor would stay behind: when it comes back, all of these would be looked through.
      if (items.length === 0 && performance.now() - yieldedAt < this.#options.advanceAfter) continue;
      yield { items, end: place };
      yieldedAt = performance.now();
    }
  }

  async #look(): Promise<void> {
    let failedSince: number | undefined;
    for (; this.#listeners.size > 0; await pause(this.#options.lookEvery)) {
      try {
        const end = keyOf(await loadEnd(this.#prisma));
        failedSince = undefined;
        if (end !== this.#end) this.#ends.emit('other');
        this.#end = end;
      } catch (error) {
        failedSince ??= performance.now();
        if (performance.now() - failedSince > MAX_FAILURE) this.#endAll(error);
      }
    }
    this.#looking = undefined;
  }
}

function keyOf({ number, recordedAt, given }: FeedPlace): string {
  return `${number} ${recordedAt} ${given}`;
}
