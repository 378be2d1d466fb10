import type { Pool } from 'pg';

/** How many lines imports had, by what became of them. */
export type ImportCounts = Readonly<
  Record<'changed' | 'unchanged' | 'repeated' | 'stale' | 'refused', number>
>;

/** How long, in milliseconds, the database has to answer. */
const ADDING_LIMIT = 5000;

/**
 * Adds the counts of an import that is over to those of all imports before it.
 *
 * @throws the database's error when it cannot be written to.
 */
export async function addImportCounts(pool: Pool, counts: ImportCounts): Promise<void> {
  const { changed, unchanged, repeated, stale, refused } = counts;
  const rows = Object.entries({ changed, unchanged, repeated, stale, refused });
  // In the order of the key, so that two imports that end at once do not wait for each other in a circle.
  rows.sort(([left], [right]) => (left < right ? -1 : 1));
  await pool.query({
    text: `INSERT INTO import_count (outcome, lines)
     SELECT outcome, lines FROM unnest($1::text[], $2::bigint[]) AS import (outcome, lines)
     ON CONFLICT (outcome) DO UPDATE SET lines = import_count.lines + excluded.lines`,
    values: [rows.map(([outcome]) => outcome), rows.map(([, lines]) => lines)],
    ...{ query_timeout: ADDING_LIMIT },
  });
}

const READING_LIMIT = 1000;

/**
 * The counts of all imports into the database; none before the first has ended.
 *
 * @throws the database's error when it does not answer within a second.
 */
export async function readImportCounts(pool: Pool): Promise<ReadonlyMap<string, number>> {
  const query = { text: 'SELECT outcome, lines FROM import_count', query_timeout: READING_LIMIT };
  const { rows } = await pool.query<{ outcome: string; lines: bigint }>(query);
  return new Map(rows.map(({ outcome, lines }) => [outcome, Number(lines)]));
}
