import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Instant } from '../../model/instant.js';
import { despiteContention, isPassing } from '../../recorder/contention.js';
import type { CheckOutcome } from '../outcome.js';
import { type Counts, type Priority, type Room, sharePlaces } from '../priority.js';

/** A domain that is this worker's to observe, until its lease ends. */
export interface LeasedDomain {
  readonly name: string;
  /** Which lease it is in. */
  readonly lease: string;
  /** When the lease ends. */
  readonly until: Instant;
  /** From one observation to the next, in microseconds. */
  readonly every: bigint;
  /** When it was to be observed. */
  readonly scheduled: Instant;
  /** How many observations before failed in a row. */
  readonly failures: number;
  /** Whether it was never observed before. */
  readonly first: boolean;
}

/** The priority of a leased domain, as the statements for candidates have it. */
export function priorityOf({ failures, first }: LeasedDomain): Priority {
  return failures > 0 || first ? 'low' : 'normal';
}

/** What has become of a leased domain. */
export interface Completion {
  readonly domain: LeasedDomain;
  readonly observedAt: Instant;
  readonly outcome: CheckOutcome;
  /** How many observations failed in a row, this one included. */
  readonly failures: number;
  /** When it is to be observed next. */
  readonly next: Instant;
}

/** Of so many candidates for each domain wanted, some are drawn by chance: workers seldom want the same. */
const CANDIDATES_PER_DOMAIN = 4;

/** What was taken, and how many more are due or may be: the worker asks again when there is room for them. */
export interface Taken {
  readonly domains: readonly LeasedDomain[];
  readonly left: Counts;
}

/**
 * Takes domains that are due. Of two workers that want the same one, one gets it: the update holds only
 * where it is still due. A worker that dies keeps what it has in hand until the lease ends; then it is
 * due again.
 *
 * The candidates come from a statement of their own, so that this works on sharded tables too, where no
 * statement can lock rows over several shards.
 *
 * @param until when the lease ends.
 * @param room how many to take.
 */
export async function leaseDue(pool: Pool, now: Instant, until: Instant, room: Room): Promise<Taken> {
  const lowMost = sharePlaces(room, { normal: 0, low: room.free }).low;
  const normal = await candidatesOf(pool, 'normal', now, room.free);
  const low = lowMost === 0 ? [] : await candidatesOf(pool, 'low', now, lowMost);
  const share = sharePlaces(room, { normal: normal.length, low: low.length });
  const names = [...drawn(normal, share.normal), ...drawn(low, share.low)];
  const domains = names.length === 0 ? [] : await updateDue(pool, [now, until, randomUUID(), names]);
  const taken = (priority: Priority) => domains.filter((domain) => priorityOf(domain) === priority).length;
  // What was not looked for may be due, and so may what other workers had before this one.
  const lowLeft = lowMost === 0 ? 1 : low.length - taken('low');
  return { domains, left: { normal: normal.length - taken('normal'), low: lowLeft } };
}

async function candidatesOf(pool: Pool, priority: Priority, now: Instant, most: number): Promise<string[]> {
  const parameters = [now, most * CANDIDATES_PER_DOMAIN];
  const { rows } = await pool.query<{ name: string }>(CANDIDATES[priority], parameters);
  return rows.map(({ name }) => name);
}

/** Each has an index of its own (migration 0007): those of one priority that are due do not hide the others. */
const CANDIDATES: Readonly<Record<Priority, string>> = {
  normal: `SELECT name FROM watched_domain
            WHERE failures = 0 AND observed_at IS NOT NULL AND due <= $1 ORDER BY due LIMIT $2`,
  low: `SELECT name FROM watched_domain
         WHERE (failures > 0 OR observed_at IS NULL) AND due <= $1 ORDER BY due LIMIT $2`,
};

async function updateDue(pool: Pool, parameters: readonly unknown[]): Promise<LeasedDomain[]> {
  try {
    return (await pool.query<LeasedDomain>(LEASE, [...parameters])).rows;
  } catch (error) {
    // Two workers that update the same rows in different orders: this one tries again at its next turn.
    if (isPassing(error)) return [];
    throw error;
  }
}

const LEASE = `UPDATE watched_domain
        SET due = $2, lease = $3, scheduled = CASE WHEN lease IS NULL THEN due ELSE scheduled END
      WHERE name = ANY($4) AND due <= $1
  RETURNING name, lease, due AS until, every, scheduled, failures, observed_at IS NULL AS first`;

/** Some elements of a list, each as likely as the others. */
function drawn<Element>(list: readonly Element[], most: number): Element[] {
  const rest = [...list];
  const found: Element[] = [];
  while (found.length < most && rest.length > 0) {
    found.push(...rest.splice(Math.floor(Math.random() * rest.length), 1));
  }
  return found;
}

/** Those of the domains that are still in the lease that they were taken with, by their names. */
export async function stillHeld(pool: Pool, domains: readonly LeasedDomain[]): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT w.name FROM watched_domain AS w
       JOIN unnest($1::text[], $2::uuid[]) AS held (name, lease) ON w.name = held.name AND w.lease = held.lease`,
    [domains.map(({ name }) => name), domains.map(({ lease }) => lease)],
  );
  return new Set(rows.map(({ name }) => name));
}

/**
 * Ends leases with what has become of their domains. A domain whose lease has ended meanwhile, or that
 * is not watched any more, is left as it is; one that has got another pace meanwhile is next observed at
 * that one.
 */
export async function completeLeases(pool: Pool, completions: readonly Completion[]): Promise<void> {
  const columns = [
    completions.map(({ domain }) => domain.name),
    completions.map(({ domain }) => domain.lease),
    completions.map(({ domain }) => domain.every),
    completions.map(({ next }) => next),
    completions.map(({ observedAt }) => observedAt),
    completions.map(({ outcome }) => JSON.stringify(outcome)),
    completions.map(({ failures }) => failures),
  ];
  await despiteContention(() => pool.query(COMPLETE, columns));
}

const NEXT = 'CASE WHEN w.every = done.every THEN done.next ELSE done.observed_at + w.every END';
const COMPLETE = `
  UPDATE watched_domain AS w
     SET due = ${NEXT}, scheduled = ${NEXT}, lease = NULL,
         observed_at = done.observed_at, outcome = done.outcome::json, failures = done.failures
    FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::int[])
         AS done (name, lease, every, next, observed_at, outcome, failures)
   WHERE w.name = done.name AND w.lease = done.lease`;

/** Gives domains back as they were before their lease, for other workers to observe. */
export async function handBack(pool: Pool, domains: readonly LeasedDomain[]): Promise<void> {
  const columns = [domains.map(({ name }) => name), domains.map(({ lease }) => lease)];
  await despiteContention(() => pool.query(HAND_BACK, columns));
}

const HAND_BACK = `
  UPDATE watched_domain AS w
     SET due = w.scheduled, lease = NULL
    FROM unnest($1::text[], $2::uuid[]) AS held (name, lease)
   WHERE w.name = held.name AND w.lease = held.lease`;
