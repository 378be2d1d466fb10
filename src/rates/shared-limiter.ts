import { type IRateLimiterOptions, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { MemoryLimiter } from './memory-limiter.js';
import type { RedisStore } from './redis-store.js';

/** What is used up of one key within one turn of the event loop. */
interface Batch {
  points: number;
  readonly counted: Promise<RateLimiterRes>;
}

/**
 * A limiter that shares its counts with other processes through Redis, and counts in memory while Redis is
 * away. All that one turn of the event loop uses up of a key is one question to Redis, so that a request
 * with a hundred limited fields is; each of them gets the answer that it would have got alone.
 */
export class SharedLimiter extends MemoryLimiter {
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
      return consumed > this.points ? Promise.reject(result) : result;
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
        this.#store.answered();
        return counted;
      } catch (error) {
        this.#store.failed(error);
      }
    }
    return super.penalty(key, points);
  }
}

/** After all that follows at once from what is running now: promises are settled first. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}
