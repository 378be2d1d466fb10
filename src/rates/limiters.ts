import {
  type IRateLimiterOptions,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { Penalties, type PenaltyOptions } from './penalties.js';
import { type RatePolicy, ratePolicy, WINDOW_SECONDS } from './rate-policy.js';
import type { RedisStore } from './redis-store.js';

/** Creates limiters that count in one place. */
export interface Limiters {
  /** A class of limiters with the policy's limit, unless its options have another. */
  classFor(policy: RatePolicy): new (options: IRateLimiterOptions) => MemoryLimiter;
  /** A limit per minute on what a client should not do often. */
  penalties(name: string, limit: number, options: PenaltyOptions): Penalties;
}

/**
 * Creates the factory of a process' limiters.
 *
 * @param store Where several processes count together; absent: this one counts in its own memory.
 */
export function createLimiters(store?: RedisStore): Limiters {
  const classFor = store === undefined ? localClass : (policy: RatePolicy) => sharedClass(store, policy);
  return {
    classFor,
    penalties(name, limit, options) {
      const policy = ratePolicy(name, limit);
      return new Penalties(new (classFor(policy))({}), policy, options);
    },
  };
}

function localClass(policy: RatePolicy) {
  return class extends MemoryLimiter {
    constructor(options: IRateLimiterOptions) {
      super(completed(options, policy));
    }
  };
}

function sharedClass(store: RedisStore, policy: RatePolicy) {
  return class extends SharedLimiter {
    constructor(options: IRateLimiterOptions) {
      super(completed(options, policy), store);
    }
  };
}

/** The limit is part of the key, so that limiters with different limits do not share counts. */
function completed(options: IRateLimiterOptions, { name, limit }: RatePolicy): IRateLimiterOptions {
  const points = options.points ?? limit;
  const duration = options.duration ?? WINDOW_SECONDS;
  return { points, duration, keyPrefix: `dms:${name}:${points}/${duration}` };
}

/** What a key has consumed in its window, and when that ends, by the monotonic clock. */
interface Window {
  consumed: number;
  readonly endsAt: number;
}

/**
 * A limiter that counts in the memory of this process. It extends the library's own only because the library exports
 * no abstract class: windows of that are by the wall clock, and where it steps back, a client would have to wait for
 * as long. Methods that are not overridden here must not be used.
 */
class MemoryLimiter extends RateLimiterMemory {
  /** By their ends: all windows have the same length. */
  readonly #windows = new Map<string, Window>();

  /** No points are never rejected. */
  override async consume(key: string | number, points = 1): Promise<RateLimiterRes> {
    const result = await this.penalty(key, points);
    // The library's contract: exceeding the limit is a rejection with the result.
    return points > 0 && result.consumedPoints > this.points ? Promise.reject(result) : result;
  }

  override async penalty(key: string | number, points = 1): Promise<RateLimiterRes> {
    const now = performance.now();
    this.#removeEnded(now);
    const begun = this.#windows.get(String(key));
    const window = begun ?? { consumed: 0, endsAt: now + this.msDuration };
    if (begun === undefined) this.#windows.set(String(key), window);
    window.consumed += points;
    const remaining = Math.max(0, this.points - window.consumed);
    return new RateLimiterRes(remaining, window.endsAt - now, window.consumed, begun === undefined);
  }

  #removeEnded(now: number): void {
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now) return;
      this.#windows.delete(key);
    }
  }
}

/** What is consumed of one key within one turn of the event loop. */
interface Batch {
  points: number;
  readonly counted: Promise<RateLimiterRes>;
}

/**
 * A limiter that shares its counts with other processes through Redis, and counts in memory while Redis is
 * unavailable. All that one turn of the event loop consumes of a key is one command, so that a request with a
 * hundred limited fields is; each of them gets the result that it would have got alone.
 *
 * The library's `insuranceLimiter` would hide the error, which the store needs: for the reason in the log, and to
 * close a connection on which Redis is silent. Its `inMemoryBlockOnConsumed` takes ends of blocks from the wall clock.
 */
class SharedLimiter extends MemoryLimiter {
  readonly #store: RedisStore;
  readonly #shared: RateLimiterRedis;
  readonly #batches = new Map<string, Batch>();

  constructor(options: IRateLimiterOptions, store: RedisStore) {
    super(options);
    this.#store = store;
    this.#shared = new RateLimiterRedis({ ...options, storeClient: store.client });
  }

  override consume(key: string | number, points = 1): Promise<RateLimiterRes> {
    const batch = this.#batchOf(String(key));
    batch.points += points;
    const upToHere = batch.points;
    return batch.counted.then(({ consumedPoints, msBeforeNext }) => {
      const consumed = consumedPoints - batch.points + upToHere;
      const remaining = Math.max(0, this.points - consumed);
      const result = new RateLimiterRes(remaining, msBeforeNext, consumed, consumed === points);
      return points > 0 && consumed > this.points ? Promise.reject(result) : result;
    });
  }

  override penalty(key: string | number, points = 1): Promise<RateLimiterRes> {
    return this.#count(String(key), points);
  }

  #batchOf(key: string): Batch {
    const open = this.#batches.get(key);
    if (open !== undefined) return open;
    const batch = { points: 0, counted: endOfTurn().then(() => this.#countBatch(key)) };
    this.#batches.set(key, batch);
    return batch;
  }

  #countBatch(key: string): Promise<RateLimiterRes> {
    const points = this.#batches.get(key)?.points ?? 0;
    this.#batches.delete(key);
    return this.#count(key, points);
  }

  async #count(key: string, points: number): Promise<RateLimiterRes> {
    if (this.#store.isReady()) {
      try {
        const counted = await this.#shared.penalty(key, points);
        this.#store.succeeded();
        return counted;
      } catch (error) {
        this.#store.failed(error);
      }
    }
    return super.penalty(key, points);
  }
}

/** Resolves after the callbacks of promises that are settled now. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}
