import type { Instant } from '../../model/instant.js';
import type { LeasedDomain } from './leases.js';

/** A finished observation: `failures` includes it. */
export interface Finished extends Pick<LeasedDomain, 'scheduled' | 'every' | 'failures' | 'first'> {
  /** When the observation ended. */
  readonly now: Instant;
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
export function nextTime({ now, scheduled, every, failures, first, chance }: Finished): Instant {
  const longest = every > DAY ? every : DAY;
  const doubled = every << BigInt(Math.min(failures, MOST_DOUBLINGS));
  const wait = doubled < longest ? doubled : longest;
  const late = now - scheduled > every / 10n;
  const spread = first || late ? wait / 3n : wait / 10n;
  return now + wait + (spread * BigInt(Math.floor(chance * 1_000_000))) / 1_000_000n;
}
