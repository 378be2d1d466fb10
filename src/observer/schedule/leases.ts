import { randomUUID } from 'node:crypto';
import { Prisma, type PrismaClient } from '../../database/generated/client.js';
import { PLANNED_EACH_TIME } from '../../database/query-limits.js';
import type { Instant } from '../../model/instant.js';
import { retryOnContention } from '../../recorder/contention.js';
import { type Priority, type Room, sharePlaces } from '../limiter.js';
import type { CheckOutcome } from '../outcome.js';

export interface LeasedDomain {
  readonly name: string;
  readonly lease: string;
  /** From one observation to the next, in microseconds. */
  readonly every: bigint;
  /** When it was to be observed. */
  readonly scheduled: Instant;
  /** In a row. */
  readonly failures: number;
  /** It was never observed before. */
  readonly first: boolean;
}

/** As HAS_PRIORITY has it. */
export function priorityOf({ failures, first }: LeasedDomain): Priority {
  return failures > 0 || first ? 'low' : 'normal';
}

export interface Completion {
  readonly domain: LeasedDomain;
  readonly observedAt: Instant;
  readonly outcome: CheckOutcome;
  /** In a row, this one included. */
  readonly failures: number;
  readonly next: Instant;
}

/** Of more candidates than are wanted, random ones are taken: workers seldom want the same. */
const CANDIDATES_PER_DOMAIN = 4;

/**
 * Takes domains that are due, until their lease ends (docs/decisions/0005-leases.md). Of two workers that want
 * the same one, one gets it: the update holds only where it is still due. The candidates come from a statement
 * of their own: on sharded tables, none can lock rows over several shards.
 */
export async function leaseDue(prisma: PrismaClient, now: Instant, until: Instant, room: Room) {
  const lowMost = sharePlaces(room, { normal: 0, low: room.free }).low;
  const normal = await candidatesOf(prisma, 'normal', now, room.free);
  const low = lowMost === 0 ? [] : await candidatesOf(prisma, 'low', now, lowMost);
  const share = sharePlaces(room, { normal: normal.length, low: low.length });
  const names = [...normal.slice(0, share.normal), ...low.slice(0, share.low)];
  const takeStillDue = () => prisma.$queryRaw<LeasedDomain[]>`
    ${PLANNED} UPDATE watched_domain
       SET due = ${until}, lease = ${randomUUID()}::uuid,
           scheduled = CASE WHEN lease IS NULL THEN due ELSE scheduled END
     WHERE name = ANY(${names}) AND due <= ${now}
    RETURNING name, lease, every, scheduled, failures, observed_at IS NULL AS first`;
  const domains = names.length === 0 ? [] : await retryOnContention(takeStillDue);
  // What was not queried may be due, and so may what is behind that which other workers had before this one.
  const mayBeMore = lowMost === 0 || domains.length < normal.length + low.length;
  return { domains, mayBeMore, isOutrun: domains.length < names.length };
}

/** Those that are due first, in random order. */
async function candidatesOf(prisma: PrismaClient, priority: Priority, now: Instant, most: number) {
  const rows = await prisma.$queryRaw<{ name: string }[]>`
    SELECT name
      FROM (SELECT name FROM watched_domain
             WHERE ${HAS_PRIORITY[priority]} AND due <= ${now}
             ORDER BY due LIMIT ${most * CANDIDATES_PER_DOMAIN}) AS earliest
     ORDER BY random()`;
  return rows.map(({ name }) => name);
}

/** The conditions of partial indexes, word for word: what is due of one priority does not hide the other. */
const HAS_PRIORITY: Readonly<Record<Priority, Prisma.Sql>> = {
  normal: Prisma.raw('failures = 0 AND observed_at IS NOT NULL'),
  low: Prisma.raw('(failures > 0 OR observed_at IS NULL)'),
};

/** Planned for unknown names, a statement would look into all partitions. */
const PLANNED = Prisma.raw(PLANNED_EACH_TIME);

/** The names of those that are still in the lease that they were taken with. */
export async function stillHeld(prisma: PrismaClient, domains: readonly LeasedDomain[]) {
  const [names, leases] = [domains.map(({ name }) => name), domains.map(({ lease }) => lease)];
  const where = { name: { in: names }, lease: { in: leases } };
  const rows = await prisma.watchedDomain.findMany({ where, select: { name: true } });
  return new Set(rows.map(({ name }) => name));
}

/**
 * Ends leases with the results for their domains, except for those whose lease has ended meanwhile or that are
 * unwatched. A domain whose interval has changed meanwhile is next observed after the new one.
 */
export async function completeLeases(prisma: PrismaClient, completions: readonly Completion[]) {
  const names = completions.map(({ domain }) => domain.name);
  const next = Prisma.sql`CASE WHEN w.every = done.every THEN done.next ELSE done.observed_at + w.every END`;
  await retryOnContention(
    () => prisma.$executeRaw`
      ${PLANNED} UPDATE watched_domain AS w
         SET due = ${next}, scheduled = ${next}, lease = NULL,
             observed_at = done.observed_at, outcome = done.outcome::json, failures = done.failures
        FROM unnest(${names}::text[],
                    ${completions.map(({ domain }) => domain.lease)}::uuid[],
                    ${completions.map(({ domain }) => domain.every)}::bigint[],
                    ${completions.map((completion) => completion.next)}::bigint[],
                    ${completions.map(({ observedAt }) => observedAt)}::bigint[],
                    ${completions.map(({ outcome }) => JSON.stringify(outcome))}::text[],
                    ${completions.map(({ failures }) => failures)}::int[])
             AS done (name, lease, every, next, observed_at, outcome, failures)
       WHERE w.name = ANY (${names}) AND w.name = done.name AND w.lease = done.lease`,
  );
}

/** Returns domains as they were before their lease, for other workers to observe. */
export async function handBack(prisma: PrismaClient, domains: readonly LeasedDomain[]): Promise<void> {
  const [names, leases] = [domains.map(({ name }) => name), domains.map(({ lease }) => lease)];
  await retryOnContention(
    () => prisma.$executeRaw`
      ${PLANNED} UPDATE watched_domain SET due = scheduled, lease = NULL
       WHERE name = ANY (${names}) AND lease = ANY (${leases}::uuid[])`,
  );
}

const DAY = 86_400_000_000n;

/**
 * Never before its interval has passed, and up to a tenth later, so that domains that were added together
 * spread out. A failing one waits twice as long each time, up to a day. What is late, after an outage, and what
 * is observed for the first time waits up to a third longer: a backlog must not come back as one wave.
 *
 * @param failures In a row, the observation that ended now included.
 * @param chance A random number from 0 to 1, without 1.
 */
export function nextTime(
  { scheduled, every, first }: Pick<LeasedDomain, 'scheduled' | 'every' | 'first'>,
  failures: number,
  now: Instant,
  chance: number,
): Instant {
  const longest = every > DAY ? every : DAY;
  const doubled = every << BigInt(failures);
  const wait = doubled < longest ? doubled : longest;
  const late = now - scheduled > every / 10n;
  const spread = first || late ? wait / 3n : wait / 10n;
  return now + wait + (spread * BigInt(Math.floor(chance * 1_000_000))) / 1_000_000n;
}
