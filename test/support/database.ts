import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/database/client.js';
import { migrate } from '../../src/database/migrate.js';
import { DATA_STEPS } from '../../src/recorder/canonicalize-stored.js';
import { newDataDirectory, removeDataDirectory } from './data-directory.js';
import { copyTemplate } from './template.js';

/** The server that the tests run on; undefined: the embedded database. */
export const TEST_SERVER = process.env['DATABASE_URL'] || undefined;

/** How long, in milliseconds, a test's embedded database stays open after its last user. */
const GRACE = 100;

/** A place for a database that one test has for itself, and that nothing has opened yet. */
export interface TestHome {
  /** What openDatabase() takes. */
  readonly options: DatabaseOptions;
  /** The settings with which a process of its own opens the same database. */
  readonly environment: Readonly<Record<string, string>>;
  /** Takes the database away, once nothing uses it any more. */
  remove(): Promise<void>;
}

export interface TestDatabase extends Database {
  readonly options: DatabaseOptions;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Opens a migrated, empty database for one test file: a copy of a template on the embedded home, a new
 * database on the server that DATABASE_URL names. Closing it takes it away.
 */
export async function openTestDatabase(): Promise<TestDatabase> {
  const home = await createTestHome();
  const database = await openDatabase(home.options);
  await migrate(database.pool, DATA_STEPS);
  return {
    ...database,
    ...home,
    async close() {
      await database.close();
      await home.remove();
    },
  };
}

/** Deletes all rows. */
export async function emptyTestDatabase(database: Database): Promise<void> {
  const { rows } = await database.pool.query<{ tables: string | null }>(
    `SELECT string_agg(quote_ident(tablename), ', ') AS tables FROM pg_tables
     WHERE schemaname = current_schema() AND tablename <> 'schema_migration'`,
  );
  for (const { tables } of rows) {
    if (tables !== null) await database.pool.query(`TRUNCATE ${tables}`);
  }
}

/** A home with an empty database; it is migrated already on the embedded one. */
export function createTestHome(): Promise<TestHome> {
  return TEST_SERVER === undefined ? embeddedHome() : serverHome(TEST_SERVER);
}

async function embeddedHome(): Promise<TestHome> {
  const dataDirectory = await newDataDirectory();
  await copyTemplate(dataDirectory);
  return {
    options: { dataDirectory, graceMilliseconds: GRACE },
    environment: { DATA_DIR: dataDirectory },
    remove: () => removeDataDirectory(dataDirectory),
  };
}

async function serverHome(server: string): Promise<TestHome> {
  const name = `dms_test_${randomBytes(8).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const dataDirectory = await newDataDirectory();
  return {
    options: { databaseUrl: url.href, dataDirectory },
    environment: { DATABASE_URL: url.href, DATA_DIR: dataDirectory },
    async remove() {
      await onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await removeDataDirectory(dataDirectory);
    },
  };
}

async function onServer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
