import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { errorCode, messageOf, OperationError } from '../model/errors.js';
import { isMissingTable } from './database-failure.js';
import { hasCitus } from './distribution.js';
import { withinTime } from './query-limits.js';
import { inTransaction, MIGRATION_LOCK } from './transaction.js';

/** A folder of prisma/migrations with its migration.sql. */
interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** Applied to a new database only. */
export const FIRST_MIGRATION = '0001_baseline';

/** From src/ and from dist/ alike. */
const DIRECTORY = new URL('../../prisma/migrations/', import.meta.url);

/**
 * In milliseconds, for a table that others use. Whoever uses it next waits behind a migration, which so gives way,
 * and begins again after a while. It is shorter than PostgreSQL's `deadlock_timeout` (1 s), after which one of
 * those that wait for each other fails: that is to be the migration.
 */
const LOCK_LIMIT = 500;
const TRIES = 40;

/** PostgreSQL, appendix A: lock_not_available. */
const LOCKED = '55P03';

/** In milliseconds. */
const RESPONSE_LIMIT = 2000;

const CREATE_MIGRATION_TABLE = `CREATE TABLE IF NOT EXISTS schema_migration
  (name text COLLATE "C" PRIMARY KEY, checksum text NOT NULL, applied_at bigint NOT NULL)`;

/**
 * Applies all pending migrations in one transaction, or none. Any number of processes may migrate at once; a
 * database that is up to date costs one query and no lock.
 *
 * @returns the names of those that this call has applied.
 * @throws OperationError if the database has other migrations than the program, or if one fails.
 */
export async function migrate(pool: pg.Pool, directory: URL = DIRECTORY): Promise<readonly string[]> {
  const migrations = await readMigrations(directory);
  if (toPending(migrations, await readRecorded(pool)).length === 0) return [];
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

function applyPending(pool: pg.Pool, migrations: readonly Migration[]): Promise<string[]> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    if (await hasCitus(client)) await (await import('./citus.js')).prepareMigration(client);
    await client.query(`SET LOCAL lock_timeout = ${LOCK_LIMIT}`);
    await run(client, CREATE_MIGRATION_TABLE, 'The table schema_migration');
    const pending = toPending(migrations, await readRecorded(client));
    for (const { name, sql, checksum } of pending) {
      await run(client, sql, `Migration ${name}`);
      const text = `INSERT INTO schema_migration (name, checksum, applied_at)
                    VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`;
      await client.query(text, [name, checksum]);
    }
    return pending.map(({ name }) => name);
  });
}

const IN_USE =
  'another session has been using a table that it changes, such as pg_dump or an import. Run it again when that has ended';

async function run(client: pg.PoolClient, sql: string, what: string): Promise<void> {
  await client.query(sql).catch((cause: unknown) => {
    const reason = errorCode(cause) === LOCKED ? IN_USE : messageOf(cause);
    throw new OperationError(`${what} could not be applied: ${reason}. Nothing was changed.`, { cause });
  });
}

/**
 * Makes a check whether a database has a schema that this program works with, which throws if it does not respond
 * in two seconds. However often it is called, it takes one connection. Migrations of a later version may have
 * been applied beside those of this program: they let its processes continue (CONTRIBUTING.md).
 */
export async function createSchemaCheck(pool: pg.Pool): Promise<() => Promise<boolean>> {
  const migrations = await readMigrations(DIRECTORY);
  let running: Promise<boolean> | null = null;
  const check = async () => {
    const recorded = await readRecorded(pool, RESPONSE_LIMIT);
    return migrations.every(({ name, checksum }) => recorded.get(name) === checksum);
  };
  return () => {
    running ??= check().finally(() => {
      running = null;
    });
    return withinTime(RESPONSE_LIMIT, running);
  };
}

/** Those that a database still needs. @throws OperationError if it has others; the driver's error. */
export async function findPending(pool: pg.Pool): Promise<readonly string[]> {
  const recorded = await readRecorded(pool, RESPONSE_LIMIT);
  return toPending(await readMigrations(DIRECTORY), recorded).map(({ name }) => name);
}

async function readMigrations(directory: URL): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d+_/.test(name));
  const read = async (name: string) => {
    const sql = await readFile(new URL(`${name}/migration.sql`, directory), 'utf8');
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  };
  return Promise.all(names.sort().map(read));
}

async function readRecorded(database: pg.Pool | pg.PoolClient, query_timeout = 0) {
  try {
    const query = { text: 'SELECT name, checksum FROM schema_migration', query_timeout };
    const { rows } = await database.query<{ name: string; checksum: string }>(query);
    return new Map(rows.map(({ name, checksum }) => [name, checksum]));
  } catch (error) {
    if (isMissingTable(error)) return new Map<string, string>();
    throw error;
  }
}

/** @throws OperationError if others were applied than the first ones of the program. */
function toPending(
  migrations: readonly Migration[],
  recorded: ReadonlyMap<string, string>,
): readonly Migration[] {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...recorded.keys()].sort().find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new OperationError(
      `The database has the migration ${unknown}, which this version of the program does not know. Run the version that applied it, or a later one: see "Upgrading" in docs/operating.md.`,
    );
  }
  const applied = migrations.slice(0, recorded.size);
  const other = applied.find(({ name, checksum }) => recorded.get(name) !== checksum);
  if (other !== undefined) {
    throw new OperationError(
      `The database does not have migration ${other.name} as this program has it: the file was changed or added after later ones were applied. Run the version of the program that migrated the database, or restore its files.`,
    );
  }
  return migrations.slice(recorded.size);
}
