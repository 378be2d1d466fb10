import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, inject, vi } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/database/client.js';
import { partitionTables } from '../../src/database/distribution.js';
import { migrate } from '../../src/database/migrate.js';
import { newDataDirectory, removeDataDirectory } from './data-directory.js';
import { copyTemplate } from './template.js';

/** The server that the tests run on; undefined: the embedded database. */
export const TEST_SERVER = process.env['DATABASE_URL'] || undefined;

/** Into how many partitions the tables of domains are divided, on the server; undefined: they are whole. */
export const TEST_PARTITIONS = Number(process.env['TEST_PARTITIONS']) || undefined;

/** Whether a pooler is before that server. */
export const IS_POOLED = TEST_SERVER !== undefined && (await isPooled(TEST_SERVER));

/** How long, in milliseconds, a test's embedded database stays open after its last user. */
const GRACE = 100;
/** In milliseconds: a database that takes longer to be emptied is not used again. */
const LONGEST_RESET = 20_000;

/** A place for a database that one test has for itself, and that nothing has opened yet. */
export interface TestHome {
  readonly options: DatabaseOptions;
  /** The settings with which a process of its own opens the same database. */
  readonly environment: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

export type TestDatabase = Database & Omit<TestHome, 'remove'>;

/**
 * Opens a migrated, empty database for one test file. Closing it hands it on to the next file of the same worker,
 * emptied, or takes it away where its schema was changed.
 */
export async function openTestDatabase(): Promise<TestDatabase> {
  const lent = idle.pop() ?? (await createLent());
  const database = await openDatabase(lent.home.options);
  let closed: Promise<void> | undefined;
  return {
    ...database,
    ...lent.home,
    close() {
      closed ??= database.close().then(() => takeBack(lent));
      return closed;
    },
  };
}

/** The database of a test file: it is opened before its tests, and closed after them. */
export function databaseOfFile(prepare?: (database: TestDatabase) => Promise<unknown>): TestDatabase {
  const database: TestDatabase = Object.create(null);
  beforeAll(async () => {
    Object.assign(database, await openTestDatabase());
    await prepare?.(database);
  });
  afterAll(() => database.close?.());
  return database;
}

export async function openMigrated(databaseUrl: string): Promise<Database> {
  const database = await openDatabase({ databaseUrl, dataDirectory: '/nonexistent' });
  await migrate(database.pool);
  return database;
}

interface LentDatabase {
  readonly home: TestHome;
  /** Keeps the embedded database open from one file to the next. */
  readonly keeper: Database;
  readonly schema: string;
}

const idle: LentDatabase[] = [];

async function createLent(): Promise<LentDatabase> {
  const home = await createTestHome(inject('testRun'));
  const keeper = await openDatabase({ ...home.options, poolSize: 1 });
  await migrate(keeper.pool);
  return { home, keeper, schema: await schemaOf(keeper) };
}

async function takeBack(lent: LentDatabase): Promise<void> {
  const { home, keeper, schema } = lent;
  // A file may have locked it, broken it, or killed its process for good.
  const limit = pause(LONGEST_RESET, false, { ref: false });
  const reset = Promise.race([isReset(keeper, schema), limit]).catch(() => false);
  if (await reset) idle.push(lent);
  else await keeper.close().then(home.remove);
}

async function isReset(keeper: Database, schema: string): Promise<boolean> {
  if ((await schemaOf(keeper)) !== schema) return false;
  // As new: deleted rows would still take room, and time to pass over, and statistics decide about plans.
  const large = await tablesOf(keeper.pool, 'pg_relation_size(oid) > 65536 OR reltuples >= 0');
  if (large.length > 0) await keeper.pool.query(`TRUNCATE ${large.join(', ')}`);
  await emptyTestDatabase(keeper);
  return true;
}

/** A digest of all tables, indexes, constraints and triggers, and of the migrations that are recorded. */
async function schemaOf({ pool }: Database): Promise<string> {
  const { rows } = await pool.query<{ digest: string }>(
    `WITH own AS (SELECT oid, relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
     SELECT md5(string_agg(line, ' ' ORDER BY line)) AS digest FROM (
       SELECT concat_ws(' ', relname, attname, atttypid, attnotnull) AS line
       FROM own JOIN pg_attribute ON attrelid = oid WHERE attnum > 0 AND NOT attisdropped
       UNION ALL SELECT concat_ws(' ', relname, indkey, indclass, indisunique, indisvalid, indexprs, indpred)
       FROM own JOIN pg_index ON indexrelid = oid
       UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
       WHERE connamespace = current_schema()::regnamespace
       UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
       UNION ALL SELECT name FROM schema_migration) AS described`,
  );
  return rows[0]?.digest ?? '';
}

/** The database, read by the statements for tables of a Citus cluster: they give the same on any tables. */
export function onShards<Opened extends Database>(database: Opened): Opened {
  return { ...database, distribution: { kind: 'shards', count: 1 } };
}

/** Deletes all rows. Of the few that a test has made, that takes a tenth of the time of TRUNCATE. */
export async function emptyTestDatabase({ pool }: Database): Promise<void> {
  // By way of its partitions, where a table has some.
  const tables = await tablesOf(pool, "relname !~ '_p[0-9]+$'");
  await pool.query(tables.map((name) => `DELETE FROM ${name}`).join('; '));
}

async function tablesOf(pool: pg.Pool, condition: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
       AND relkind IN ('r', 'p') AND relname NOT IN ('schema_migration', 'judged_by') AND (${condition})`,
  );
  return rows.map(({ name }) => name);
}

/**
 * A home with an empty database; it is migrated already on the embedded one, and where the tables are to be partitioned.
 *
 * @param run Names the run of tests at whose end it is taken away, if nobody has done so.
 */
export function createTestHome(run = 'test'): Promise<TestHome> {
  return TEST_SERVER === undefined ? embeddedHome(run) : serverHome(TEST_SERVER, run);
}

async function embeddedHome(run: string): Promise<TestHome> {
  const dataDirectory = await newDataDirectory(run);
  await copyTemplate(dataDirectory);
  return {
    options: { dataDirectory, graceMilliseconds: GRACE },
    environment: { DATA_DIR: dataDirectory },
    remove: () => removeDataDirectory(dataDirectory),
  };
}

async function serverHome(server: string, run: string): Promise<TestHome> {
  const name = `dms_${run}_${randomBytes(8).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const dataDirectory = await newDataDirectory();
  if (TEST_PARTITIONS !== undefined) {
    const { pool, close } = await openMigrated(url.href);
    await partitionTables(pool, TEST_PARTITIONS);
    await close();
  }
  return {
    options: { databaseUrl: url.href, dataDirectory },
    environment: { DATABASE_URL: url.href, DATA_DIR: dataDirectory },
    async remove() {
      await onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await removeDataDirectory(dataDirectory);
    },
  };
}

export async function removeTestHomes(run: string): Promise<void> {
  for (const entry of await readdir(tmpdir())) {
    if (entry.startsWith(`dms-${run}-`)) await removeDataDirectory(join(tmpdir(), entry));
  }
  if (TEST_SERVER === undefined) return;
  const names = `SELECT datname FROM pg_database WHERE starts_with(datname, 'dms_${run}_')`;
  for (const { datname } of await onServer(TEST_SERVER, names)) {
    await onServer(TEST_SERVER, `DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  }
}

async function onServer(server: string, statement: string): Promise<{ datname: string }[]> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

async function isPooled(server: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS process');
  await client.end();
  return rows[0]?.process !== Reflect.get(client, 'processID');
}

/** The texts of the statements that are sent meanwhile. */
export async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(pg.Pool.prototype, 'query');
  await work();
  const statements = query.mock.calls.map(([statement]) => JSON.stringify(statement));
  query.mockRestore();
  return statements;
}

/** Keeps everybody from reading tables, by default domains and their schema, as a long migration does. */
export async function whileLocked(
  pool: pg.Pool,
  work: () => Promise<void>,
  tables = 'domain, schema_migration',
) {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
    await work();
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}
