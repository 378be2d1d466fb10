import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { createSchemaCheck, migrate } from '../../src/database/migrate.js';
import { standInForCitus } from '../support/citus.js';
import { openTestDatabase, TEST_SERVER } from '../support/database.js';
import { prepareFolder } from '../support/temporary-folder.js';

const FIRST = 'CREATE TABLE first (id bigint PRIMARY KEY);\n-- CREATE TABLE commented (id bigint);\n';
const SECOND = 'CREATE TABLE "second" (id bigint);\n\nCREATE INDEX second_id ON second (id);\n';
const THIRD = 'ALTER TABLE second RENAME TO third; DROP TABLE IF EXISTS first;';

const { folder } = prepareFolder();
const database = await openTestDatabase();
const { pool } = database;
afterAll(() => database.close());

beforeEach(async () => {
  // As empty as a new one. A table takes its partitions with it.
  for (const table of await tables()) await pool.query(`DROP TABLE IF EXISTS "${table}"`);
  await pool.query('DROP FUNCTION IF EXISTS address_of, host_name_of');
});

async function tables(): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename',
  );
  return rows.map(({ name }) => name);
}

/** Lets the folder hold just these migrations, as a version of the program would. */
async function program(migrations: Readonly<Record<string, string>>): Promise<URL> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
  for (const [name, sql] of Object.entries(migrations)) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'migration.sql'), sql);
  }
  await writeFile(join(folder, 'migration_lock.toml'), '');
  return pathToFileURL(`${folder}/`);
}

test('dms migrate brings an empty database up to date with the program’s own migrations, says which, and changes nothing the second time', async () => {
  const names = (await readdir('prisma/migrations')).sort();
  expect(await (await createSchemaCheck(pool))()).toBe(false);
  const before = BigInt(Date.now()) * 1000n;
  expect(await migrate(pool)).toEqual(names);
  expect(await (await createSchemaCheck(pool))()).toBe(true);
  expect(await tables()).toEqual(
    expect.arrayContaining(['access_token', 'dns_record', 'domain', 'header_change', 'schema_migration']),
  );
  const recorded = async () => (await pool.query('SELECT * FROM schema_migration ORDER BY name')).rows;
  const rows = await recorded();
  expect(rows.map(({ name }) => name)).toEqual(names);
  expect(rows[0].applied_at).toBeGreaterThanOrEqual(before - 5_000_000n);
  expect(await migrate(pool)).toEqual([]);
  expect(await recorded()).toEqual(rows);
});

test.skipIf(TEST_SERVER === undefined)(
  'dms migrate leaves an extension alone that an administrator has made',
  async () => {
    await pool.query(`
    CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'must be owner of extension pg_trgm'; END $$;
    CREATE EVENT TRIGGER refused ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION refuse()`);
    try {
      expect(await migrate(pool)).toContain('0001_baseline');
    } finally {
      await pool.query('DROP EVENT TRIGGER refused; DROP FUNCTION refuse');
    }
  },
);

test('dms migrate on a Citus cluster applies migrations with its settings for them', async () => {
  await standInForCitus(pool);
  onTestFinished(async () => {
    await pool.query("DELETE FROM pg_extension WHERE extname = 'citus'");
  });
  const settings = ['propagate_set_commands', 'multi_shard_modify_mode'].map(
    (name) => `current_setting('citus.${name}', true) AS ${name}`,
  );
  await migrate(pool, await program({ '0001_first': `CREATE TABLE first AS SELECT ${settings}` }));
  const { rows } = await pool.query('SELECT * FROM first');
  expect(rows).toEqual([{ propagate_set_commands: 'local', multi_shard_modify_mode: 'sequential' }]);
});

test('dms migrate applies only what a later version adds, in the order of names', async () => {
  await migrate(pool, await program({ '0001_first': FIRST }));
  const later = await program({ '0003_third': THIRD, '0001_first': FIRST, '0002_second': SECOND });
  expect(await migrate(pool, later)).toEqual(['0002_second', '0003_third']);
  expect(await tables()).toEqual(['schema_migration', 'third']);
  expect(await migrate(pool, later)).toEqual([]);
});

test('five openings at once on an empty database all come up, and each migration is applied once', async () => {
  const openings = await Promise.all(Array.from({ length: 5 }, () => openDatabase(database.options)));
  const applied = await Promise.all(openings.map((opening) => migrate(opening.pool)));
  expect(applied.flat()).toEqual((await readdir('prisma/migrations')).sort());
  await Promise.all(openings.map((opening) => opening.close()));
});

test('a process that runs is ready beside migrations of a later version, and not without one of its own', async () => {
  await migrate(pool);
  const hasOurSchema = await createSchemaCheck(pool);
  for (const [isOurs, statement] of [
    [true, "INSERT INTO schema_migration VALUES ('9000_later', '', 1)"],
    [false, "UPDATE schema_migration SET checksum = '' WHERE name = '0001_baseline'"],
    [false, "DELETE FROM schema_migration WHERE name = '0001_baseline'"],
  ] as const) {
    await pool.query(statement);
    expect(await hasOurSchema()).toBe(isOurs);
  }
});

test('dms migrate applies all or nothing: if one fails, as where nothing records a table of its name, those before it are rolled back, and the message says which', async () => {
  await pool.query('CREATE TABLE second (other text)');
  expect(await rejectionBy(await program({ '0001_first': FIRST, '0002_second': SECOND }))).toBe(
    'OperationError: Migration 0002_second could not be applied: relation "second" already exists. Nothing was changed.',
  );
});

/** The error, which leaves the tables as they are. */
async function rejectionBy(directory: URL): Promise<string> {
  const before = await tables();
  const error = await migrate(pool, directory).catch(String);
  expect(await tables()).toEqual(before);
  return String(error);
}

const UNKNOWN =
  /^OperationError: The database has the migration \w+, which this version of the program does not know\. Run the version that applied it, or a later one/;
const OTHER = /^OperationError: The database does not have migration \w+ as this program has it: .+\. .+$/;

test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, RegExp]>([
  ['one that the program does not know', { '0002_second': SECOND }, {}, UNKNOWN],
  ['one in the place of another', { '0002_second': SECOND }, { '0002_other': THIRD }, UNKNOWN],
  ['one missing in the middle', { '0003_a': SECOND }, { '0002_b': THIRD, '0003_a': SECOND }, OTHER],
  ['one whose file has changed since', { '0002_a': SECOND }, { '0002_a': `${SECOND} ` }, OTHER],
])(
  'a database with other migrations than the program is left as it is, with a clear line: %s',
  async (_case, applied, wanted, line) => {
    await migrate(pool, await program({ '0001_first': FIRST, ...applied }));
    expect(await rejectionBy(await program({ '0001_first': FIRST, ...wanted }))).toMatch(line);
  },
);
