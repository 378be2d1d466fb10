import type { Pool } from 'pg';
import type { PrismaClient, WatchedDomain as Row } from '../../database/generated/client.js';
import type { Instant } from '../../model/instant.js';
import { isJsonObject } from '../../model/json-values.js';
import { retryOnContention } from '../../recorder/contention.js';
import { type CheckOutcome, hasFailed } from '../outcome.js';
import type { RecordedCheck } from '../record-checks.js';

/** `every` in microseconds; `observedAt` and `outcome` of the latest observation; `failures` in a row. */
export type WatchedDomain = ReturnType<typeof toWatchedDomain>;

/** A day, in microseconds. */
const DEFAULT_PACE = 86_400_000_000n;

/**
 * Watches domains from now on. One that is watched already is observed at the new interval from its next time
 * on, which comes no later than one interval from now.
 *
 * @param names canonical, each once.
 * @param every in microseconds; null: a day, and what is watched already keeps its interval.
 * @returns how many were added, and how many were watched before, at another interval.
 */
export async function watchDomains(
  prisma: PrismaClient,
  names: readonly string[],
  every: bigint | null,
  now: Instant,
) {
  const pace = every ?? DEFAULT_PACE;
  const sorted = [...names].sort();
  // Those that are not watched yet, and then the others: whether ON CONFLICT has inserted or updated a row
  // cannot be told of partitioned tables. Citus counts the rows that were offered, and returns those that were
  // inserted.
  const inserted = await retryOnContention(
    () => prisma.$queryRaw<unknown[]>`
      INSERT INTO watched_domain (name, every, due, scheduled)
      SELECT name, ${pace}::bigint, ${now}::bigint, ${now}::bigint FROM unnest(${sorted}::text[]) AS new (name)
          ON CONFLICT (name) DO NOTHING RETURNING name`,
  );
  const added = inserted.length;
  if (every === null) return { added, changed: 0 };
  const changed = await retryOnContention(
    () => prisma.$executeRaw`
      UPDATE watched_domain
         SET every = ${every},
             due = CASE WHEN lease IS NULL THEN LEAST(due, ${now + every}) ELSE due END,
             scheduled = LEAST(scheduled, ${now + every})
       WHERE name = ANY (${sorted}) AND every <> ${every}`,
  );
  return { added, changed };
}

/** @returns how many of them were watched. Their history stays. */
export async function unwatchDomains(prisma: PrismaClient, names: readonly string[]): Promise<number> {
  return retryOnContention(() => prisma.$executeRaw`DELETE FROM watched_domain WHERE name = ANY (${names})`);
}

/** Prisma counts a subquery with an offset, for which Citus would send all names to the coordinator. */
export async function countWatched(prisma: PrismaClient): Promise<number> {
  const [row] = await prisma.$queryRaw<{ count: number }[]>`SELECT count(*)::int FROM watched_domain`;
  return row?.count ?? 0;
}

/** Keeps what others than the worker have observed of watched domains: what was observed last counts. */
export async function noteObserved(pool: Pool, recorded: readonly RecordedCheck[]): Promise<void> {
  const names = recorded.map(({ check }) => check.domain);
  await retryOnContention(() =>
    pool.query(
      `UPDATE watched_domain AS w
          SET observed_at = done.observed_at, outcome = done.outcome::json,
              failures = CASE WHEN done.has_failed THEN w.failures + 1 ELSE 0 END
         FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) AS done (name, observed_at, outcome, has_failed)
        WHERE w.name = ANY ($1) AND w.name = done.name AND (w.observed_at IS NULL OR w.observed_at < done.observed_at)`,
      [
        names,
        recorded.map(({ check }) => check.observedAt),
        recorded.map(({ outcome }) => JSON.stringify(outcome)),
        recorded.map(({ outcome }) => hasFailed(outcome)),
      ],
    ),
  );
}

/** Those that are watched, sorted. */
export async function watchedAmong(prisma: PrismaClient, names: readonly string[]): Promise<string[]> {
  // An array: a list of values has as many parameters, of which a statement takes 32,767.
  const found = await prisma.$queryRaw<{ name: string }[]>`
    SELECT name FROM watched_domain WHERE name = ANY (${names}) ORDER BY name`;
  return found.map(({ name }) => name);
}

const PAGE = 10_000;

/** In the order of their names, a page at a time: there may be millions. */
export async function* listWatched(prisma: PrismaClient) {
  for (let after = ''; ; ) {
    const rows = await prisma.watchedDomain.findMany({
      where: { name: { gt: after } },
      orderBy: { name: 'asc' },
      take: PAGE,
    });
    yield rows.map(toWatchedDomain);
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return;
    after = last.name;
  }
}

function toWatchedDomain({ due, scheduled, lease, outcome, ...row }: Row) {
  return {
    ...row,
    /** While a worker has it leased, when it was to be observed. */
    next: lease === null ? due : scheduled,
    leased: lease !== null,
    outcome: isCheckOutcome(outcome) ? outcome : null,
  };
}

/** Only this service writes the column. */
function isCheckOutcome(value: unknown): value is CheckOutcome {
  return isJsonObject(value);
}
