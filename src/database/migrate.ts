import type pg from 'pg';
import { OperationError } from '../model/errors.js';
import { type Migration, readMigrations } from './migration-files.js';
import { MIGRATION_TABLE, pendingMigrations, readSchemaState } from './migration-state.js';
import { inTransaction } from './transaction.js';

/** The key of PostgreSQL's advisory lock that processes take to migrate one after another. */
const LOCK = 4_155_927_201;

const CREATE_MIGRATION_TABLE = `
  CREATE TABLE IF NOT EXISTS ${MIGRATION_TABLE} (
    name       text COLLATE "C" PRIMARY KEY,
    checksum   text NOT NULL,
    applied_at bigint NOT NULL
  )`;

/**
 * Brings the schema of the database up to date: applies all pending migrations in one transaction, or
 * none. Any number of processes may do it at once; a database that is up to date costs two queries and
 * no lock.
 *
 * @param directory of the migrations; absent: the program's own.
 * @returns the names of the migrations that this call has applied.
 * @throws OperationError where the database is newer than the program or half migrated, and where a
 *   migration fails.
 */
export async function migrate(pool: pg.Pool, directory?: URL): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(directory);
  if (await isUpToDate(pool, migrations)) return { applied: [] };
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    const pending = pendingMigrations(migrations, await readSchemaState(client));
    if (pending.length > 0) await run(client, CREATE_MIGRATION_TABLE, `The table ${MIGRATION_TABLE}`);
    for (const migration of pending) {
      await apply(client, migration);
    }
    return { applied: pending.map(({ name }) => name) };
  });
}

/**
 * The names of the migrations that the database still needs, without applying them.
 *
 * @throws OperationError as migrate() does.
 */
export async function migrationState(pool: pg.Pool): Promise<{ pending: string[] }> {
  const migrations = await readMigrations();
  const state = await inTransaction(pool, async (client) => {
    // One snapshot, so that another process's migration is seen in whole or not at all.
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    return readSchemaState(client);
  });
  return { pending: pendingMigrations(migrations, state).map(({ name }) => name) };
}

/** What looks wrong here may be another process at work: only under the lock is it certain. */
async function isUpToDate(pool: pg.Pool, migrations: readonly Migration[]): Promise<boolean> {
  const state = await readSchemaState(pool);
  try {
    return pendingMigrations(migrations, state).length === 0;
  } catch {
    return false;
  }
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
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperationError(`${what} could not be applied: ${reason}. Nothing was changed.`, {
      cause: error,
    });
  }
}
