import { LRUCache } from 'lru-cache';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { RateLimitedError } from '../model/errors.js';
import { type RatePolicy, type RateState, secondsUntilReset } from './rate-policy.js';

const MAX_CACHED = 10_000;

/** What happens when a client has reached a limit. */
export interface PenaltyOptions {
  /** What the client has done too often: a sentence for the client. */
  readonly complaint: string;
  /** Called for each rejection. */
  onRejected(): void;
}

/** The error for a client whose limit is reached. */
export class LimitReachedError extends RateLimitedError {
  /** When it was rejected, for fields that agree with `Retry-After`. */
  readonly state: RateState;

  constructor(state: RateState, complaint: string) {
    super(secondsUntilReset(state), complaint);
    this.state = state;
  }
}

/**
 * Counts what a client should not do too often, after it has been done. Whether its limit is reached is known
 * without a wait: another process that shares the counts lets one more request pass, and then knows it too. (The
 * inMemoryBlockOnConsumed of rate-limiter-flexible is for counts in Redis alone, by the wall clock, and only known by
 * a promise.)
 */
export class Penalties {
  readonly #limiter: RateLimiterAbstract;
  readonly #policy: RatePolicy;
  readonly #options: PenaltyOptions;
  /** Until when limits are reached, by the monotonic clock. */
  readonly #usedUp = new LRUCache<string, number>({ max: MAX_CACHED });

  constructor(limiter: RateLimiterAbstract, policy: RatePolicy, options: PenaltyOptions) {
    this.#limiter = limiter;
    this.#policy = policy;
    this.#options = options;
  }

  /** The error for a client whose limit is reached. Each call counts as one rejection. */
  rejection(state: RateState): LimitReachedError {
    this.#options.onRejected();
    return new LimitReachedError(state, this.#options.complaint);
  }

  /** The state of a client whose limit is reached; undefined for any other. */
  usedUp(key: string): RateState | undefined {
    const until = this.#usedUp.get(key);
    if (until === undefined) return undefined;
    const resetAfter = until - performance.now();
    return resetAfter > 0 ? { policy: this.#policy, remaining: 0, resetAfter } : undefined;
  }

  /** Counts one, or `count`. Returns what is left. */
  async add(key: string, count = 1): Promise<RateState> {
    const { consumedPoints, msBeforeNext } = await this.#limiter.penalty(key, count);
    const remaining = Math.max(0, this.#policy.limit - consumedPoints);
    if (remaining === 0) this.#usedUp.set(key, performance.now() + msBeforeNext);
    return { policy: this.#policy, remaining, resetAfter: msBeforeNext };
  }
}
