import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { errorCode, OperationError } from '../model/errors.js';
import { MIGRATION_LOCK } from './locks.js';
import {
  MIGRATION_TABLE,
  type Migration,
  pendingMigrations,
  readMigrations,
  readSchemaState,
} from './migrations.js';
import { inTransaction } from './transaction.js';

/**
 * How long, in milliseconds, a migration waits for a table that others use. Whoever uses the table next waits behind it, so it
 * gives way, and begins again after a while, a number of times. It is shorter than PostgreSQL's `deadlock_timeout` (1 s), after which one of
 * those that wait for each other fails: that is to be the migration.
 */
const LOCK_LIMIT = 500;
const TRIES = 40;

/** PostgreSQL, appendix A: lock_not_available. */
const LOCKED = '55P03';

const CREATE_MIGRATION_TABLE = `
  CREATE TABLE IF NOT EXISTS ${MIGRATION_TABLE} (
    name       text COLLATE "C" PRIMARY KEY,
    checksum   text NOT NULL,
    applied_at bigint NOT NULL
  )`;

/**
 * The steps of migrations that are code instead of SQL, by the migrations' names: each returns a line about what it
 * has done, or null. It runs outside of any transaction, may be killed and run again, and may run twice at once.
 */
export type MigrationSteps = ReadonlyMap<string, (pool: pg.Pool) => Promise<string | null>>;

/**
 * Brings the database up to date: applies all pending migrations in one transaction, or none. One with a
 * step waits until its step has ended, and what follows it is a transaction of its own. Any number of
 * processes may migrate at once; a database that is up to date costs two queries and no lock.
 *
 * @param directory of the migrations; absent: the program's own.
 * @returns the names of the migrations that this call has applied, and what their steps report.
 * @throws OperationError if the database is newer than the program or half migrated, or if a migration fails.
 */
export async function migrate(
  pool: pg.Pool,
  steps: MigrationSteps,
  directory?: URL,
): Promise<{ applied: string[]; reports: string[] }> {
  const migrations = await readMigrations(directory);
  const applied: string[] = [];
  const reports: string[] = [];
  if (await isUpToDate(pool, migrations)) return { applied, reports };
  const done = new Set<string>();
  for (;;) {
    const found = await applyPatiently(pool, migrations, ({ name }) => steps.has(name) && !done.has(name));
    applied.push(...found.applied);
    if (found.waiting === undefined) return { applied, reports };
    const report = await steps.get(found.waiting)?.(pool);
    if (typeof report === 'string') reports.push(report);
    done.add(found.waiting);
  }
}

/** Does what applyUntil() does, again where a table was in use. */
async function applyPatiently(...parameters: Parameters<typeof applyUntil>): ReturnType<typeof applyUntil> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await applyUntil(...parameters);
    } catch (error) {
      const isLocked = error instanceof OperationError && errorCode(error.cause) === LOCKED;
      if (!isLocked || tries === TRIES) throw error;
    }
    await pause(2 * LOCK_LIMIT);
  }
}

/** Applies what is pending up to a migration that has to wait for its step. */
function applyUntil(
  pool: pg.Pool,
  migrations: readonly Migration[],
  waits: (migration: Migration) => boolean,
): Promise<{ applied: string[]; waiting: string | undefined }> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    // On a Citus cluster: SET LOCAL is for all nodes, and definitions may follow writes in a transaction. Elsewhere, nothing reads these.
    await client.query("SET LOCAL citus.propagate_set_commands = 'local'");
    await client.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'");
    await client.query(`SET LOCAL lock_timeout = ${LOCK_LIMIT}`);
    // Migration 0015 builds an index with a function that several processes cannot call, before 0020 replaces it.
    await client.query('SET LOCAL max_parallel_maintenance_workers = 0');
    const pending = pendingMigrations(migrations, await readSchemaState(client));
    const waiting = pending.find(waits);
    const ready = waiting === undefined ? pending : pending.slice(0, pending.indexOf(waiting));
    if (ready.length > 0) await run(client, CREATE_MIGRATION_TABLE, `The table ${MIGRATION_TABLE}`);
    for (const migration of ready) await apply(client, migration);
    return { applied: ready.map(({ name }) => name), waiting: waiting?.name };
  });
}

/** An error here may be another process's running migration: only with the lock is it certain. */
async function isUpToDate(pool: pg.Pool, migrations: readonly Migration[]): Promise<boolean> {
  const state = await readSchemaState(pool);
  try {
    return pendingMigrations(migrations, state).length === 0;
  } catch {
    return false;
  }
}

async function apply(client: pg.PoolClient, { name, sql, checksum, worksSince }: Migration): Promise<void> {
  await run(client, sql, `Migration ${name}`);
  await client.query(
    `INSERT INTO ${MIGRATION_TABLE} (name, checksum, applied_at)
     VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`,
    [name, checksum],
  );
  // Migration 0019 adds the column: only later ones declare it.
  if (worksSince === null) return;
  await client.query(`UPDATE ${MIGRATION_TABLE} SET works_since = $2 WHERE name = $1`, [name, worksSince]);
}

async function run(client: pg.PoolClient, sql: string, what: string): Promise<void> {
  try {
    await client.query(sql);
  } catch (error) {
    const reason =
      errorCode(error) === LOCKED
        ? 'another session has been using a table that it changes, such as pg_dump or an import. Run it again when that has ended'
        : messageOf(error);
    throw new OperationError(`${what} could not be applied: ${reason}. Nothing was changed.`, {
      cause: error,
    });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
