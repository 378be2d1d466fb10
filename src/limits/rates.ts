import type { ServerResponse } from 'node:http';
import {
  RateLimiterCluster,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import type { RedisStore } from './redis-store.js';

interface RatePolicy {
  /** As in `RateLimit-Policy`, and in the keys of Redis: letters only. */
  readonly name: string;
  readonly limit: number;
  /** Of a window, which begins with the first points that are taken. */
  readonly seconds: number;
}

export interface RateState {
  readonly policy: RatePolicy;
  readonly counted: RateLimiterRes;
}

export type Limiters = (policy: RatePolicy) => {
  /**
   * Takes points. Whoever has something left is granted all of them: otherwise a request that costs more than
   * the limit could never succeed. Rejects with the result where nothing was left, as the library's own do;
   * taking nothing never rejects.
   */
  consume(key: string, points: number): Promise<RateLimiterRes>;
};

/** In Redis while it is there, otherwise in memory. @param isWorker Whether in that of the first process. */
export function createLimiters(store?: RedisStore, isWorker = false): Limiters {
  return ({ name, limit: points, seconds: duration }) => {
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

/** Whole seconds, at least 1, until the limit is reset: for `Retry-After`. */
export function secondsUntilReset({ msBeforeNext }: Pick<RateLimiterRes, 'msBeforeNext'>): number {
  // A difference of two times of the monotonic clock may be a fraction of a nanosecond too large.
  return Math.max(1, Math.ceil(Math.round(msBeforeNext) / 1000));
}

/** draft-ietf-httpapi-ratelimit-headers-11: the window ends when `Retry-After` says so (section 6). */
export function setRateFields(response: ServerResponse, state: RateState | undefined): void {
  if (state === undefined) return;
  const { policy, counted } = state;
  const { name, limit, seconds } = policy;
  response.setHeader('ratelimit-policy', `"${name}";q=${limit};w=${seconds}`);
  response.setHeader('ratelimit', `"${name}";r=${counted.remainingPoints};t=${secondsUntilReset(counted)}`);
}
