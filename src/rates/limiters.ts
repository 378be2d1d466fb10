import type { IRateLimiterOptions } from 'rate-limiter-flexible';
import { MemoryLimiter } from './memory-limiter.js';
import { Penalties, type PenaltyRefusal } from './penalties.js';
import { type RatePolicy, ratePolicy, WINDOW_SECONDS } from './rate-policy.js';
import type { RedisStore } from './redis-store.js';
import { SharedLimiter } from './shared-limiter.js';

/** Makes limiters that count in one and the same place. */
export interface Limiters {
  /** A class of limiters with the policy's limit, unless its options have another. */
  classFor(policy: RatePolicy): new (options: IRateLimiterOptions) => MemoryLimiter;
  /** A count of what a client should not do more than so often a minute. */
  penalties(name: string, limit: number, refusal: PenaltyRefusal): Penalties;
}

/**
 * Makes the factory of a process' limiters.
 *
 * @param store Where several processes count together; absent: this one counts in its own memory.
 */
export function createLimiters(store?: RedisStore): Limiters {
  const classFor = store === undefined ? countingAlone : (policy: RatePolicy) => countingIn(store, policy);
  return {
    classFor,
    penalties(name, limit, refusal) {
      const policy = ratePolicy(name, limit);
      return new Penalties(new (classFor(policy))({}), policy, refusal);
    },
  };
}

function countingAlone(policy: RatePolicy) {
  return class extends MemoryLimiter {
    constructor(options: IRateLimiterOptions) {
      super(completed(options, policy));
    }
  };
}

function countingIn(store: RedisStore, policy: RatePolicy) {
  return class extends SharedLimiter {
    constructor(options: IRateLimiterOptions) {
      super(completed(options, policy), store);
    }
  };
}

/** Limiters of other limits under one key would count each other's clients. */
function completed(options: IRateLimiterOptions, { name, limit }: RatePolicy): IRateLimiterOptions {
  const points = options.points ?? limit;
  const duration = options.duration ?? WINDOW_SECONDS;
  return { points, duration, keyPrefix: `dms:${name}:${points}/${duration}` };
}
