import { LRUCache } from 'lru-cache';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { RateLimitedError } from '../model/errors.js';
import { type RatePolicy, type RateState, secondsUntilReset } from './rate-policy.js';

const MOST_REMEMBERED = 10_000;

/** What is said of a refusal, and to whom. */
export interface PenaltyRefusal {
  /** What a client has done too often: a sentence for it. */
  readonly complaint: string;
  /** Told of each refusal. */
  onRefused(): void;
}

/**
 * Counts what a client should not do too often, after it has been done. Whether its budget is used up is
 * known without a wait: another process that shares the counts lets one more pass, and then knows it too.
 */
export class Penalties {
  readonly #limiter: RateLimiterAbstract;
  readonly #policy: RatePolicy;
  readonly #refusal: PenaltyRefusal;
  /** Until when budgets are used up, by the monotonic clock. */
  readonly #usedUp = new LRUCache<string, number>({ max: MOST_REMEMBERED });

  constructor(limiter: RateLimiterAbstract, policy: RatePolicy, refusal: PenaltyRefusal) {
    this.#limiter = limiter;
    this.#policy = policy;
    this.#refusal = refusal;
  }

  /** What refuses a client whose budget is used up. It counts as one refusal. */
  refusal(state: RateState): RateLimitedError {
    this.#refusal.onRefused();
    return new RateLimitedError(secondsUntilReset(state), this.#refusal.complaint);
  }

  /** The state of a client whose budget is used up; undefined for any other. */
  usedUp(key: string): RateState | undefined {
    const resetAfter = (this.#usedUp.get(key) ?? 0) - performance.now();
    return resetAfter > 0 ? { policy: this.#policy, remaining: 0, resetAfter } : undefined;
  }

  /** Counts one, or so many. Gives what is left. */
  async add(key: string, count = 1): Promise<RateState> {
    const { consumedPoints, msBeforeNext } = await this.#limiter.penalty(key, count);
    const remaining = Math.max(0, this.#policy.limit - consumedPoints);
    if (remaining === 0) this.#usedUp.set(key, performance.now() + msBeforeNext);
    return { policy: this.#policy, remaining, resetAfter: msBeforeNext };
  }
}
