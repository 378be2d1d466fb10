import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { errorCode, messageOf, OperationError } from '../model/errors.js';
import { isMissingTable } from './database-failure.js';
import { MIGRATION_LOCK } from './locks.js';
import {
  areApplied,
  MIGRATION_TABLE,
  type Migration,
  pendingMigrations,
  readMigrations,
  readRecorded,
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
 * Brings the database up to date: applies all pending migrations in one transaction, or none. Any number of processes may migrate
 * at once; a database that is up to date costs one query and no lock.
 *
 * @param directory of the migrations; absent: the program's own.
 * @returns the names of the migrations that this call has applied.
 * @throws OperationError if the database has migrations that the program does not know, or others than it knows, or if one fails.
 */
export async function migrate(pool: pg.Pool, directory?: URL): Promise<readonly string[]> {
  const migrations = await readMigrations(directory);
  if (await isUpToDate(pool, migrations)) return [];
  for (let tries = 1; ; tries += 1) {
    try {
      return await applyPending(pool, migrations);
    } catch (error) {
      const isLocked = error instanceof OperationError && errorCode(error.cause) === LOCKED;
      if (!isLocked || tries === TRIES) throw error;
    }
    await pause(2 * LOCK_LIMIT);
  }
}

async function isUpToDate(pool: pg.Pool, migrations: readonly Migration[]): Promise<boolean> {
  try {
    const recorded = await readRecorded(pool);
    return areApplied(migrations, recorded) && recorded.size === migrations.length;
  } catch (error) {
    if (isMissingTable(error)) return false;
    throw error;
  }
}

function applyPending(pool: pg.Pool, migrations: readonly Migration[]): Promise<string[]> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    // On a Citus cluster: SET LOCAL is for all nodes, and definitions may follow writes in a transaction. Elsewhere, nothing reads these.
    await client.query("SET LOCAL citus.propagate_set_commands = 'local'");
    await client.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'");
    await client.query(`SET LOCAL lock_timeout = ${LOCK_LIMIT}`);
    await run(client, CREATE_MIGRATION_TABLE, `The table ${MIGRATION_TABLE}`);
    const pending = pendingMigrations(migrations, await readRecorded(client));
    for (const migration of pending) await apply(client, migration);
    return pending.map(({ name }) => name);
  });
}

async function apply(client: pg.PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  await run(client, sql, `Migration ${name}`);
  await client.query(
    `INSERT INTO ${MIGRATION_TABLE} (name, checksum, applied_at)
     VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`,
    [name, checksum],
  );
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
