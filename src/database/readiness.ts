import type pg from 'pg';
import { isMissingTable } from './database-failure.js';
import { areApplied, type Migration, readMigrations, readRecorded } from './migrations.js';
import { withinTime } from './query-limits.js';

/** Whether a database can be used: it responds, and has a schema that this program works with. */
export type DatabaseReadiness = 'ready' | 'silent' | 'other-schema';

/** How long, in milliseconds, the database has to respond. */
const RESPONSE_LIMIT = 2000;

/** Makes a check whether a database is ready. However often it is called, it takes one connection. */
export async function createReadinessCheck(pool: pg.Pool): Promise<() => Promise<DatabaseReadiness>> {
  const migrations = await readMigrations();
  let running: Promise<DatabaseReadiness> | null = null;
  return () => {
    running ??= check(pool, migrations).finally(() => {
      running = null;
    });
    return withinTime(RESPONSE_LIMIT, running).catch(() => 'silent');
  };
}

async function check(pool: pg.Pool, migrations: readonly Migration[]): Promise<DatabaseReadiness> {
  try {
    // The driver has the same limit, so that a silent server does not keep the connection occupied.
    const recorded = await readRecorded(pool, { query_timeout: RESPONSE_LIMIT });
    return areApplied(migrations, recorded) ? 'ready' : 'other-schema';
  } catch (error) {
    return isMissingTable(error) ? 'other-schema' : 'silent';
  }
}
