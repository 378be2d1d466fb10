import type { Pool } from 'pg';
import type { Instant } from '../../model/instant.js';
import { despiteContention } from '../../recorder/contention.js';
import type { CheckOutcome } from '../outcome.js';

/** A domain that is observed again and again. */
export interface WatchedDomain {
  readonly name: string;
  /** From one observation to the next, in microseconds. */
  readonly every: bigint;
  /** When it is to be observed next; while a worker has it in hand, when it was to be. */
  readonly next: Instant;
  /** Whether a worker has it in hand. */
  readonly inHand: boolean;
  /** Of the latest observation; null: there was none. */
  readonly observedAt: Instant | null;
  readonly outcome: CheckOutcome | null;
  /** How many observations failed in a row. */
  readonly failures: number;
}

/** What adding domains has done. */
export interface Added {
  readonly added: number;
  /** Watched before, at another pace. */
  readonly changed: number;
}

/** From one observation to the next where nobody says otherwise: a day, in microseconds. */
const USUAL_PACE = 86_400_000_000n;

/**
 * Watches domains from now on. One that is watched already is observed at the new pace from its next
 * time on, which comes no later than one interval from now.
 *
 * @param names canonical names, each once.
 * @param every microseconds from one observation to the next; null: a day, and what is watched already
 *   keeps its pace.
 */
export async function watchDomains(
  pool: Pool,
  names: readonly string[],
  every: bigint | null,
  now: Instant,
): Promise<Added> {
  const parameters = [[...names].sort(), every ?? USUAL_PACE, now, every !== null];
  const { rows } = await despiteContention(() => pool.query<{ added: boolean }>(WATCH, parameters));
  const added = rows.filter((row) => row.added).length;
  return { added, changed: rows.length - added };
}

const WATCH = `
    INSERT INTO watched_domain AS w (name, every, due, scheduled)
     SELECT name, $2::bigint, $3::bigint, $3::bigint FROM unnest($1::text[]) AS new (name)
     ON CONFLICT (name) DO UPDATE
        SET every = EXCLUDED.every,
            due = CASE WHEN w.lease IS NULL THEN LEAST(w.due, $3::bigint + $2::bigint) ELSE w.due END,
            scheduled = LEAST(w.scheduled, $3::bigint + $2::bigint)
      WHERE $4::boolean AND w.every <> EXCLUDED.every
  RETURNING xmax = 0 AS added`;

/**
 * Watches domains no longer. Their history stays.
 *
 * @returns those of the names that were watched.
 */
export async function unwatchDomains(pool: Pool, names: readonly string[]): Promise<string[]> {
  const { rows } = await despiteContention(() =>
    pool.query<{ name: string }>('DELETE FROM watched_domain WHERE name = ANY($1) RETURNING name', [names]),
  );
  return rows.map(({ name }) => name);
}

/** How many domains are watched. */
export async function countWatched(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::integer FROM watched_domain');
  return rows[0]?.count ?? 0;
}

/** Those of the names that are watched. */
export async function watchedAmong(pool: Pool, names: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    'SELECT name FROM watched_domain WHERE name = ANY($1) ORDER BY name',
    [names],
  );
  return rows.map(({ name }) => name);
}

const PAGE = 10_000;

/** All watched domains in the order of their names, a page at a time: there may be millions. */
export async function* listWatched(pool: Pool): AsyncGenerator<readonly WatchedDomain[]> {
  for (let after = ''; ; ) {
    const { rows } = await pool.query<WatchedDomain>(
      `SELECT name, every, CASE WHEN lease IS NULL THEN due ELSE scheduled END AS next,
              lease IS NOT NULL AS "inHand", observed_at AS "observedAt", outcome, failures
         FROM watched_domain WHERE name > $1 ORDER BY name LIMIT $2`,
      [after, PAGE],
    );
    yield rows;
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return;
    after = last.name;
  }
}
