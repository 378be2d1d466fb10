import type pg from 'pg';
import type { Instant } from '../model/instant.js';

/** How long, in milliseconds, each statement may take. */
const LIMIT = { query_timeout: 2000 };

/** @throws the driver's error where nothing can be recorded: it is read-only, or the user has not the right. */
export async function requireWritable(pool: pg.Pool): Promise<void> {
  // PostgreSQL checks both before it looks for rows.
  await pool.query({ text: 'UPDATE domain SET version = version WHERE false', ...LIMIT });
}

/** How far the database's clock is ahead of that of this process, in microseconds, to half of the time that asking takes. */
export async function readClockLead(pool: pg.Pool, now: () => Instant): Promise<bigint> {
  const text = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS time';
  const before = now();
  const { rows } = await pool.query<{ time: bigint }>({ text, ...LIMIT });
  const own = (before + now()) / 2n;
  return (rows[0]?.time ?? own) - own;
}
