import { promisify } from 'node:util';
import {
  type IRateLimiterOptions,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { type Counted, type Counts, CountsInMemory } from './counts.js';
import { type RatePolicy, WINDOW_SECONDS } from './rate-policy.js';
import type { RedisStore } from './redis-store.js';

/** Creates limiters that count in one place. */
export interface Limiters {
  /** A class of limiters with the policy's limit, unless its options have another. */
  classFor(policy: RatePolicy): new (options: IRateLimiterOptions) => RateLimiterMemory;
}

/**
 * @param store Where several processes count together.
 * @param counts Where they count while there is no store; absent: this one counts in its own memory.
 */
export function createLimiters(store?: RedisStore, counts: Counts = new CountsInMemory()): Limiters {
  const classFor = (policy: RatePolicy) =>
    class extends Limiter {
      constructor(options: IRateLimiterOptions) {
        super(options, policy, { store, counts });
      }
    };
  return { classFor };
}

/** Resolves after the callbacks of promises that are settled now. */
const endOfTurn = promisify(process.nextTick);

/** The limit is part of the key, so that limiters with different limits do not share counts. */
function completed(options: IRateLimiterOptions, { name, limit }: RatePolicy): IRateLimiterOptions {
  const { points = limit, duration = WINDOW_SECONDS } = options;
  return { points, duration, keyPrefix: `dms:${name}:${points}/${duration}` };
}

interface Places {
  readonly store: RedisStore | undefined;
  readonly counts: Counts;
}

/** What is consumed of one key within one turn of the event loop. */
interface Batch {
  points: number;
  readonly counted: Promise<RateLimiterRes>;
}

/**
 * A limiter that shares its counts with other processes through Redis, and counts elsewhere while there is none: in the
 * memory of this process, or of the one that has started it. It extends the library's own only because the library
 * exports no abstract class; methods that are not overridden here must not be used. Windows of the library are by the
 * wall clock: where it steps back, a client would have to wait for as long. Its `insuranceLimiter` would hide the
 * error, which the store needs: for the reason in the log, and to close a connection on which Redis is silent.
 */
class Limiter extends RateLimiterMemory {
  readonly #store: RedisStore | undefined;
  readonly #shared: RateLimiterRedis | undefined;
  readonly #counts: Counts;
  readonly #batches = new Map<string, Batch>();

  constructor(options: IRateLimiterOptions, policy: RatePolicy, { store, counts }: Places) {
    super(completed(options, policy));
    this.#store = store;
    this.#counts = counts;
    this.#shared =
      store && new RateLimiterRedis({ ...completed(options, policy), storeClient: store.client });
  }

  /**
   * All that one turn of the event loop consumes of a key is one command to Redis, so that a request with a hundred
   * limited fields is; each of them gets the result that it would have got alone. Consuming zero points never rejects.
   */
  override async consume(key: string | number, points = 1): Promise<RateLimiterRes> {
    const result = await this.#countInBatch(String(key), points);
    // The library's contract: a rejection with the result. Whoever has something left is granted all of what is asked for: otherwise a
    // request that costs more than the limit could never succeed.
    return points > 0 && result.consumedPoints - points >= this.points ? Promise.reject(result) : result;
  }

  /** Consumes without rejecting, in the same way; without Redis at once. */
  override async penalty(key: string | number, points = 1): Promise<RateLimiterRes> {
    return this.#store === undefined
      ? this.#countElsewhere(String(key), points)
      : this.#countInBatch(String(key), points);
  }

  async #countInBatch(key: string, points: number): Promise<RateLimiterRes> {
    const batch = this.#batchOf(key);
    batch.points += points;
    const upToHere = batch.points;
    const { consumedPoints, msBeforeNext } = await batch.counted;
    const consumed = consumedPoints - batch.points + upToHere;
    const remaining = Math.max(0, this.points - consumed);
    return new RateLimiterRes(remaining, msBeforeNext, consumed, consumed === points);
  }

  #batchOf(key: string): Batch {
    const open = this.#batches.get(key);
    if (open !== undefined) return open;
    const batch: Batch = {
      points: 0,
      counted: endOfTurn().then(() => {
        this.#batches.delete(key);
        return this.#count(key, batch.points);
      }),
    };
    this.#batches.set(key, batch);
    return batch;
  }

  /** Counts in Redis while that is ready; otherwise, or where it fails, elsewhere. */
  async #count(key: string, points: number): Promise<RateLimiterRes> {
    if (this.#store?.isReady() && this.#shared !== undefined) {
      try {
        const counted = await this.#shared.penalty(key, points);
        this.#store.succeeded();
        return counted;
      } catch (error) {
        this.#store.failed(error);
      }
    }
    return this.#countElsewhere(key, points);
  }

  #countElsewhere(key: string, points: number): RateLimiterRes | Promise<RateLimiterRes> {
    const counted = this.#counts.count({ limit: this.keyPrefix, key, points, window: this.msDuration });
    // No closure for what is counted here: each request would leave one.
    return counted instanceof Promise
      ? counted.then((later) => this.#resultOf(later, points))
      : this.#resultOf(counted, points);
  }

  #resultOf({ consumed, endsIn }: Counted, points: number): RateLimiterRes {
    return new RateLimiterRes(Math.max(0, this.points - consumed), endsIn, consumed, consumed === points);
  }
}
