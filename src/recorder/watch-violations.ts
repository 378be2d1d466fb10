import type { Pool } from 'pg';
import { canonicalOrNull, isWritable, timeText } from '../history/violation-text.js';
import { parseDomainName } from '../model/domain-name.js';
import type { Instant } from '../model/instant.js';

const PAGE = 10_000;

/** What has a rule in a row of table `watched_domain`. */
interface WatchedRow {
  readonly name: string;
  readonly every: bigint;
  readonly due: Instant;
  readonly scheduled: Instant;
  readonly observed_at: Instant | null;
  readonly has_outcome: boolean;
  readonly failures: number;
}

/**
 * Finds what breaks a rule among the domains that are observed again and again.
 *
 * @returns one line for each breach, which begins with the domain's name.
 */
export async function* findWatchViolations(pool: Pool): AsyncGenerator<string> {
  for (let last = '', after = 'name >= $1'; ; after = 'name > $1') {
    const { rows } = await pool.query<WatchedRow>(
      `SELECT name, every, due, scheduled, observed_at, outcome IS NOT NULL AS has_outcome, failures
         FROM watched_domain WHERE ${after} ORDER BY name LIMIT ${PAGE}`,
      [last],
    );
    for (const row of rows) {
      for (const breach of breachesOf(row)) yield `${row.name}: ${breach}`;
    }
    const next = rows.at(-1)?.name;
    if (next === undefined) return;
    last = next;
  }
}

function* breachesOf(row: WatchedRow): Generator<string> {
  if (canonicalOrNull(() => parseDomainName(row.name)) !== row.name) {
    yield 'the name of the watched domain is not in canonical form';
  }
  if (row.every <= 0n) yield `it is watched every ${row.every} µs, which is not positive`;
  for (const [what, time] of [
    ['due', row.due],
    ['scheduled', row.scheduled],
  ] as const) {
    if (time < 0n || !isWritable(time)) yield `the observation is ${what} at ${timeText(time)}`;
  }
  if (row.observed_at !== null && !isWritable(row.observed_at)) {
    yield `it was observed last at ${timeText(row.observed_at)}`;
  }
  if ((row.observed_at === null) === row.has_outcome) {
    yield 'of the time and the outcome of its latest observation one is there, and the other is not';
  }
  if (row.failures < 0) yield `${row.failures} observations have failed in a row, which is negative`;
}
