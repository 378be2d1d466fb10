import type { Instant } from '../../model/instant.js';

/** A finished observation, as a LeasedDomain has it. */
export interface Finished {
  /** When the observation ended. */
  readonly now: Instant;
  readonly scheduled: Instant;
  readonly every: bigint;
  /** Of observations in a row, this one included. */
  readonly failures: number;
  readonly first: boolean;
  /** A random number from 0 to 1, without 1. */
  readonly chance: number;
}

const DAY = 86_400_000_000n;
/** The shortest duration doubled so often is more than a day. */
const MOST_DOUBLINGS = 40;

/**
 * When a domain is to be observed next: never before its interval has passed, and up to a tenth later, so that
 * domains that were added together spread out. A failing one waits twice as long each time, up to a day.
 * What is late, after an outage, and what is observed for the first time waits up to a third longer:
 * a backlog must not come back as one wave at each interval.
 */
export function nextTime(finished: Finished): Instant {
  const { now, scheduled, every, first, chance } = finished;
  const wait = waitAfter(every, finished.failures);
  const late = now - scheduled > every / 10n;
  const spread = first || late ? wait / 3n : wait / 10n;
  return now + wait + (spread * BigInt(Math.floor(chance * 1_000_000))) / 1_000_000n;
}

function waitAfter(every: bigint, failures: number): bigint {
  const longest = every > DAY ? every : DAY;
  const doubled = every << BigInt(Math.min(failures, MOST_DOUBLINGS));
  return doubled < longest ? doubled : longest;
}
