import type { ServerResponse } from 'node:http';

/** All limits are for a minute. */
const WINDOW_SECONDS = 60;

/** A limit for each client. */
export interface RatePolicy {
  /** As in `RateLimit-Policy`, and in the keys of Redis. */
  readonly name: string;
  readonly limit: number;
  /** How long a window is. It begins with the first points that are taken. */
  readonly seconds: number;
  /** The value of the header `RateLimit-Policy`. */
  readonly field: string;
}

/** What a client has left of a limit after a request. */
export interface RateState {
  readonly policy: RatePolicy;
  /** Not below 0. */
  readonly remaining: number;
  /** Milliseconds until the limit is reset. */
  readonly resetAfter: number;
}

/**
 * A policy with a limit per minute.
 *
 * @param name Letters only: it is part of a quoted string.
 */
export function ratePolicy(name: string, limit: number, seconds = WINDOW_SECONDS): RatePolicy {
  return { name, limit, seconds, field: `"${name}";q=${limit};w=${seconds}` };
}

/** Whole seconds, at least 1, until the limit is reset: for `Retry-After`. */
export function secondsUntilReset({ resetAfter }: Pick<RateState, 'resetAfter'>): number {
  // A difference of two times of the monotonic clock may be a fraction of a nanosecond too large.
  return Math.max(1, Math.ceil(Math.round(resetAfter) / 1000));
}

/**
 * Sets `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4). The end
 * of the window is that of `Retry-After` (section 6).
 *
 * @param state After this request; absent: it selected nothing that is limited, and no field is set.
 */
export function setRateFields(response: ServerResponse, state: RateState | undefined): void {
  if (state === undefined) return;
  const { policy, remaining } = state;
  response.setHeader('ratelimit-policy', policy.field);
  response.setHeader('ratelimit', `"${policy.name}";r=${remaining};t=${secondsUntilReset(state)}`);
}
