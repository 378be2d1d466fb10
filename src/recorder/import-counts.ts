import type { Pool } from 'pg';
import type { PrismaClient } from '../database/generated/client.js';

/** In milliseconds: a database that takes longer is an error. */
const WRITE_TIMEOUT = 5000;

/** Adds the lines of a finished import, by outcome, to those of all imports before it. */
export async function addImportCounts(pool: Pool, counts: Readonly<Record<string, number>>): Promise<void> {
  // In the order of the key, so that two imports that end at once do not deadlock.
  const rows = Object.entries(counts).sort(([left], [right]) => (left < right ? -1 : 1));
  await pool.query({
    text: `INSERT INTO import_count (outcome, lines)
     SELECT outcome, lines FROM unnest($1::text[], $2::bigint[]) AS import (outcome, lines)
     ON CONFLICT (outcome) DO UPDATE SET lines = import_count.lines + excluded.lines`,
    values: [rows.map(([outcome]) => outcome), rows.map(([, lines]) => lines)],
    ...{ query_timeout: WRITE_TIMEOUT },
  });
}

/** The counts of all imports into the database; none before the first has ended. */
export async function readImportCounts(prisma: PrismaClient): Promise<ReadonlyMap<string, number>> {
  const rows = await prisma.importCount.findMany();
  return new Map(rows.map(({ outcome, lines }) => [outcome, Number(lines)]));
}
