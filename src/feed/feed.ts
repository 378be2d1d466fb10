import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { PrismaClient } from '../database/generated/client.js';
import type { Caller } from '../limits/caller.js';
import { nextTurn } from '../limits/turns.js';
import { paced } from '../loaders/paced.js';
import { type ChangesAnywhere, changeTest } from '../model/change-filter.js';
import { CHANGE_KINDS, type ChangeKind } from '../model/change-kinds.js';
import { BusyError, ClientGoneError, PublicError, RateLimitedError } from '../model/errors.js';
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
export interface LiveKey extends ChangesAnywhere, Caller {
  /** The place that they follow; absent: the end of the feed. */
  readonly after?: FeedPlace | undefined;
}

/** Changes of a listener, and where they end in the feed. */
export type LivePage = Pick<FeedPage, 'items' | 'end'>;

/** What bounds listeners; each has a default. In milliseconds. */
export interface LiveOptions {
  /** Whether the tables of domains are distributed over a Citus cluster. */
  readonly acrossShards?: boolean | undefined;
  /** How often it is looked whether anything was recorded. */
  readonly lookEvery?: number | undefined;
  /** How long one listens at most. */
  readonly longest?: number | undefined;
  /** How long pages are kept for all who listen. What is erased from the database is still sent for as long. */
  readonly keptFor?: number | undefined;
  /** After which one gets an empty page that none of the changes were for. */
  readonly advanceAfter?: number | undefined;
}

const LOOK_EVERY = 250;
/** A stream that a proxy has left open does not stay so for days. */
const LONGEST = 3_600_000;
const KEPT_FOR = 15_000;
const ADVANCE_AFTER = 15_000;
/** How long the database may fail before the listeners are told. */
const LONGEST_FAILURE = 30_000;
/** In octets, of the pages that are kept. */
const MOST_OCTETS = 8 * 1024 ** 2;
/** Changes of a page that is kept: a page of an observation reads all of it. */
const MOST_READ = 20_000;
/** How many changes a listener gets at once. */
export const PAGE_GIVEN = 100;
/** In characters, of what a listener gets at once: written as JSON they may be six times as many. */
const MOST_CHARACTERS = 1_000_000;
/** How many may listen, and how many of one client. */
const MOST_LISTENERS = 500;
const MOST_OF_CLIENT = 25;

const TOO_MANY = `Too many live streams: a client may have ${MOST_OF_CLIENT}. Close others.`;
const TOO_LONG = 'The stream has been open for an hour.';
const CLOSED = 'The service is being stopped.';

/**
 * What is recorded from now on, for any number of listeners: while there are some, it is looked for changes, and the latest pages are
 * read once for all of them. Each listener goes on at its own pace, and holds no more than it is being sent.
 */
export class Feed {
  readonly #prisma: PrismaClient;
  readonly #options: LiveOptions;
  readonly #clients = new Map<string, number>();
  #listeners = 0;
  #lookout: Lookout | undefined;
  #isClosed = false;
  /** By the place that they follow. */
  readonly #pages: LRUCache<string, FeedPage, FeedPlace>;

  /** @param prisma Of the primary, which has what is recorded at once. */
  constructor(prisma: PrismaClient, options: LiveOptions = {}) {
    this.#prisma = prisma;
    this.#options = options;
    this.#pages = new LRUCache({
      ...{ maxSize: MOST_OCTETS, ttl: options.keptFor ?? KEPT_FOR, ignoreFetchAbort: true },
      sizeCalculation: ({ octets }) => octets + 1,
      fetchMethod: async (_key, _stale, { context: after }) => {
        const page = await this.#pageAfter({ kinds: ALL_KINDS, first: MOST_READ, after });
        // Nothing is kept where there is nothing yet.
        return isAfter(page.end, after) ? page : undefined;
      },
    });
  }

  /**
   * The changes of a listener, in the order of recording: first, at once, those after the place that it names, or an empty
   * page; then the others as they are recorded.
   *
   * @throws PublicError, by the generator: INVALID_CURSOR for a place that is not in the feed; RATE_LIMITED for one listener
   *   too many of a client; UNAVAILABLE for one too many of all, and where the listener has to come back: it has listened for an
   *   hour, the database is away, or the process stops.
   */
  async *listen(key: LiveKey): AsyncGenerator<LivePage, void, void> {
    const leave = this.#enter(key.viewer.rateLimitKey);
    const ended = new AbortController();
    const end = () => ended.abort(new PublicError('UNAVAILABLE', TOO_LONG));
    const timer = setTimeout(end, this.#options.longest ?? LONGEST).unref();
    key.signal.once('close', () => ended.abort(new ClientGoneError()));
    try {
      if (this.#lookout === undefined || this.#lookout.isOver) {
        this.#lookout = new Lookout(this.#prisma, this.#options.lookEvery ?? LOOK_EVERY);
      }
      for await (const page of this.#pagesOf(key, this.#lookout, ended.signal)) {
        // A token that is revoked must not be of use.
        await key.viewer.recheck?.();
        // Many listeners get what an import records, page after page.
        if (page.items.length > 0) await nextTurn();
        yield page;
      }
    } finally {
      clearTimeout(timer);
      leave();
    }
  }

  /** A page of the feed; null where it begins at a place that is not in it. */
  page(key: FeedKey, caller: Caller): Promise<FeedPage | null> {
    return paced(caller, () => this.#load(key));
  }

  #load(key: FeedKey): Promise<FeedPage | null> {
    return loadFeed(this.#prisma, key, this.#options.acrossShards);
  }

  async #pageAfter(key: Omit<FeedKey, 'newestFirst'>): Promise<FeedPage> {
    const page = await this.#load({ ...key, newestFirst: false });
    if (page === null) throw goneCursor();
    return page;
  }

  /** Ends all listeners, and accepts no other. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#lookout?.end(new PublicError('UNAVAILABLE', CLOSED));
    await this.#lookout?.ended;
  }

  #enter(client: string): () => void {
    if (this.#isClosed) throw new PublicError('UNAVAILABLE', CLOSED);
    const ofClient = this.#clients.get(client) ?? 0;
    if (ofClient >= MOST_OF_CLIENT) throw new RateLimitedError(10, TOO_MANY);
    if (this.#listeners >= MOST_LISTENERS) throw new BusyError(10, 'Too many live streams are open.');
    this.#clients.set(client, ofClient + 1);
    this.#listeners += 1;
    return () => {
      this.#listeners -= 1;
      const left = (this.#clients.get(client) ?? 0) - 1;
      if (left > 0) this.#clients.set(client, left);
      else this.#clients.delete(client);
      if (this.#listeners === 0) this.#lookout?.end();
    };
  }

  async *#pagesOf(
    { after, signal, viewer: _, ...filter }: LiveKey,
    lookout: Lookout,
    ended: AbortSignal,
  ): AsyncGenerator<LivePage, void, void> {
    let place = after ?? (await loadEnd(this.#prisma));
    if (after === undefined) yield { items: [], end: place };
    // What was recorded before is found by the question itself, however much of it is for others.
    for (let next: FeedPlace | null | undefined = after; next != null; ) {
      lookout.throwIfEnded();
      ended.throwIfAborted();
      const page = await this.#pageAfter({ ...filter, first: PAGE_GIVEN, after: next });
      for (const piece of piecesOf(page.items, page.end)) yield piece;
      ({ end: place, next } = page);
    }
    const { advanceAfter = ADVANCE_AFTER } = this.#options;
    const test = changeTest(filter);
    let yieldedAt = performance.now();
    // Of the page that follows one place, what follows the other was not sent yet.
    for (let begin = place; !signal.destroyed; ) {
      lookout.throwIfEnded();
      ended.throwIfAborted();
      const { seen } = lookout;
      const page = await this.#pages.fetch(keyOf(begin), { context: begin });
      if (page === undefined) {
        await lookout.next(seen, ended);
        continue;
      }
      const from = place;
      const items = page.items.filter((change) => isAfter(change.feedPlace, from) && test(change));
      const [piece = { items: [], end: page.end }] = piecesOf(items, page.end);
      place = piece.end;
      if (place === page.end) begin = place;
      // Without any, its cursor would stay behind, and the client would have all of these looked through when it comes back.
      if (piece.items.length === 0 && performance.now() - yieldedAt < advanceAfter) continue;
      yield piece;
      yieldedAt = performance.now();
    }
  }
}

const ALL_KINDS: ReadonlySet<ChangeKind> = new Set(CHANGE_KINDS);

function keyOf({ number, recordedAt, given }: FeedPlace): string {
  return `${number} ${recordedAt} ${given}`;
}

/** Changes as pages of a listener; one without any if there are none. */
function* piecesOf(changes: readonly FeedChange[], end: FeedPlace): Generator<LivePage, void, void> {
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

/** Looks whether anything was recorded, until nobody listens any more. */
class Lookout {
  /** Resolves when it looks no more. */
  readonly ended: Promise<void>;
  /** How often the end of the feed was seen to be another. */
  seen = 0;
  isOver = false;
  readonly #prisma: PrismaClient;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #error: unknown;

  constructor(prisma: PrismaClient, every: number) {
    this.#prisma = prisma;
    this.ended = this.#look(every);
  }

  /** Until the end is another than it was when `seen` had this value, or the signal is aborted. */
  async next(seen: number, signal: AbortSignal): Promise<void> {
    if (seen === this.seen && !this.isOver) await once(this.#changes, 'change', { signal }).catch(() => {});
  }

  /** @throws what all who listen have to end for. */
  throwIfEnded(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** @param error For all who listen. */
  end(error?: unknown): void {
    this.isOver = true;
    this.#error = error;
    this.#changes.emit('change');
  }

  async #look(every: number): Promise<void> {
    let last: string | undefined;
    let failedSince: number | undefined;
    for (; !this.isOver; await pause(every)) {
      try {
        const end = keyOf(await loadEnd(this.#prisma));
        failedSince = undefined;
        if (end === last) continue;
        last = end;
        this.seen += 1;
        this.#changes.emit('change');
      } catch (error) {
        failedSince ??= performance.now();
        if (performance.now() - failedSince > LONGEST_FAILURE) this.end(error);
      }
    }
  }
}
