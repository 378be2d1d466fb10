/** All limits are for a minute. */
export const WINDOW_SECONDS = 60;

/** How much one client may use up within a window. */
export interface RatePolicy {
  /** As clients read it, and as Redis' keys begin. */
  readonly name: string;
  readonly limit: number;
  /** The value of the header `RateLimit-Policy`. */
  readonly field: string;
}

/** What a client's request has left of its budget. */
export interface RateState {
  readonly policy: RatePolicy;
  /** Not below 0. */
  readonly remaining: number;
  /** Milliseconds until the whole budget is there again. */
  readonly resetAfter: number;
}

/**
 * A policy of so much a minute.
 *
 * @param name Letters only: it stands in a quoted string.
 */
export function ratePolicy(name: string, limit: number): RatePolicy {
  return { name, limit, field: `"${name}";q=${limit};w=${WINDOW_SECONDS}` };
}

/** Whole seconds, at least 1, after which the budget is there again: for `Retry-After`. */
export function secondsUntilReset({ resetAfter }: Pick<RateState, 'resetAfter'>): number {
  // A difference of two times of the monotonic clock may be a fraction of a nanosecond too large.
  return Math.max(1, Math.ceil(Math.round(resetAfter) / 1000));
}
