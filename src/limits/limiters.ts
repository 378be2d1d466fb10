import {
  RateLimiterCluster,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import type { RatePolicy } from './rate-policy.js';
import type { RedisStore } from './redis-store.js';

/** Counts what clients use of one limit. */
export interface Limiter {
  /**
   * Takes points. Whoever has something left is granted all of them: otherwise a request that costs more than
   * the limit could never succeed. Rejects with the result, as the library's own do, where nothing was left;
   * taking nothing never rejects.
   */
  consume(key: string, points: number): Promise<RateLimiterRes>;
}

/** Creates the limiter of a policy. */
export type Limiters = (policy: RatePolicy) => Limiter;

/**
 * Limiters that count in Redis while it is there, and otherwise in memory.
 *
 * @param isWorker Whether that is the memory of the first process (node:cluster): all processes count together.
 */
export function createLimiters(store?: RedisStore, isWorker = false): Limiters {
  return (policy) => {
    const { name, limit: points, seconds: duration } = policy;
    // The limit is part of the key, so that limiters with different limits do not share counts.
    const options = { points, duration, keyPrefix: `dms:${name}:${points}/${duration}` };
    const inMemory = isWorker ? new RateLimiterCluster(options) : new RateLimiterMemory(options);
    const inRedis = store && new RateLimiterRedis({ ...options, storeClient: store.client });
    return {
      async consume(key, taken) {
        // The library's `insuranceLimiter` would hide the error from the store, which tells its reason.
        const shared = store && (await store.attempt(async () => inRedis?.penalty(key, taken)));
        const counted = shared ?? (await inMemory.penalty(key, taken));
        const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = counted;
        // In memory, a window ends by a timer, and is told by the wall clock, which may have stepped back.
        const wait = Math.min(msBeforeNext, duration * 1000);
        const result = new RateLimiterRes(remainingPoints, wait, consumedPoints, isFirstInDuration);
        return taken > 0 && consumedPoints - taken >= points ? Promise.reject(result) : result;
      },
    };
  };
}
