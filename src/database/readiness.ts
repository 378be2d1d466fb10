import type pg from 'pg';
import { errorCode } from '../model/errors.js';
import { MIGRATION_TABLE, readMigrations } from './migrations.js';
import { withinTime } from './query-limits.js';

/** Whether a database can be used: it responds, and has the schema of this program. */
export type DatabaseReadiness = 'ready' | 'silent' | 'other-schema';

/** How long, in milliseconds, the database has to respond. */
const RESPONSE_LIMIT = 2000;

/** PostgreSQL, appendix A: undefined_table. */
const NO_TABLE = '42P01';

/** Makes a check whether a database is ready. However often it is called, it takes one connection. */
export async function createReadinessCheck(pool: pg.Pool): Promise<() => Promise<DatabaseReadiness>> {
  const migrations = await readMigrations();
  const wanted = JSON.stringify(migrations.map(({ name, checksum }) => [name, checksum]));
  let running: Promise<DatabaseReadiness> | null = null;
  return () => {
    running ??= check(pool, wanted).finally(() => {
      running = null;
    });
    return withinTime(RESPONSE_LIMIT, running).catch(() => 'silent');
  };
}

async function check(pool: pg.Pool, wanted: string): Promise<DatabaseReadiness> {
  // The driver has the same limit, so that a silent server does not keep the connection occupied.
  const query = { text: `SELECT name, checksum FROM ${MIGRATION_TABLE}`, query_timeout: RESPONSE_LIMIT };
  try {
    const { rows } = await pool.query<{ name: string; checksum: string }>(query);
    const found = rows.map(({ name, checksum }) => [name, checksum]).sort();
    return JSON.stringify(found) === wanted ? 'ready' : 'other-schema';
  } catch (error) {
    return errorCode(error) === NO_TABLE ? 'other-schema' : 'silent';
  }
}
