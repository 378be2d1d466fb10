import type pg from 'pg';
import { readMigrations } from './migration-files.js';
import { MIGRATION_TABLE } from './migration-state.js';

/** Whether a database can be worked with: it answers, and has the schema of this program. */
export type DatabaseReadiness = 'ready' | 'silent' | 'other-schema';

/** How long, in milliseconds, the database has to answer. */
const ANSWER_LIMIT = 2000;

/** PostgreSQL, appendix A: undefined_table. */
const NO_TABLE = '42P01';

/**
 * Makes the question whether a database is ready. However often it is asked, it takes one connection.
 *
 * @param directory of the migrations; absent: the program's own. They are read once.
 */
export async function createReadinessCheck(
  pool: pg.Pool,
  directory?: URL,
): Promise<() => Promise<DatabaseReadiness>> {
  const migrations = await readMigrations(directory);
  const wanted = JSON.stringify(migrations.map(({ name, checksum }) => [name, checksum]));
  let asking: Promise<DatabaseReadiness> | null = null;
  return () => {
    asking ??= ask(pool, wanted).finally(() => {
      asking = null;
    });
    return withinLimit(asking);
  };
}

async function ask(pool: pg.Pool, wanted: string): Promise<DatabaseReadiness> {
  // The driver gives up on the answer, too: the connection is not to be kept for a silent server.
  const query = { text: `SELECT name, checksum FROM ${MIGRATION_TABLE}`, query_timeout: ANSWER_LIMIT };
  try {
    const { rows } = await pool.query<{ name: string; checksum: string }>(query);
    const found = rows.map(({ name, checksum }) => [name, checksum]).sort();
    return JSON.stringify(found) === wanted ? 'ready' : 'other-schema';
  } catch (error) {
    return error instanceof Error && Reflect.get(error, 'code') === NO_TABLE ? 'other-schema' : 'silent';
  }
}

async function withinLimit(answer: Promise<DatabaseReadiness>): Promise<DatabaseReadiness> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<DatabaseReadiness>((resolve) => {
    timer = setTimeout(() => resolve('silent'), ANSWER_LIMIT);
  });
  try {
    return await Promise.race([answer, limit]);
  } finally {
    clearTimeout(timer);
  }
}
