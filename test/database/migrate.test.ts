import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { type MigrationSteps, migrate } from '../../src/database/migrate.js';
import { createReadinessCheck } from '../../src/database/readiness.js';
import { DATA_STEPS } from '../../src/recorder/data-steps.js';
import { openTestDatabase, TEST_SERVER, type TestDatabase } from '../support/database.js';

const FIRST = 'CREATE TABLE first (id bigint PRIMARY KEY);\n-- CREATE TABLE commented (id bigint);\n';
const SECOND = 'CREATE TABLE "second" (id bigint);\n\nCREATE INDEX second_id ON second (id);\n';
const THIRD = 'ALTER TABLE second RENAME TO third; DROP TABLE IF EXISTS first;';
const WORKS_SINCE = 'ALTER TABLE schema_migration ADD COLUMN works_since text';
const NO_STEPS: MigrationSteps = new Map();

let database: TestDatabase;
let pool: pg.Pool;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  pool = database.pool;
});

afterAll(async () => {
  await database.close();
});

beforeEach(async () => {
  await dropTables();
  folder = await mkdtemp(join(tmpdir(), 'dms-test-migrations-'));
  return () => rm(folder, { recursive: true });
});

/** Makes the database as empty as a new one. A table takes its partitions with it. */
async function dropTables(): Promise<void> {
  for (const table of await tables()) await pool.query(`DROP TABLE IF EXISTS "${table}"`);
}

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

describe('migrate', () => {
  test('brings an empty database up to date with the program’s own migrations, and says which', async () => {
    const names = (await readdir('prisma/migrations')).sort();
    expect(await (await createReadinessCheck(pool))()).toBe('other-schema');
    const before = BigInt(Date.now()) * 1000n;
    expect(await migrate(pool, DATA_STEPS)).toEqual({ applied: names, reports: [] });
    expect(await (await createReadinessCheck(pool))()).toBe('ready');
    expect(await tables()).toEqual(
      expect.arrayContaining(['access_token', 'dns_record', 'domain', 'header_change', 'schema_migration']),
    );
    const { rows } = await pool.query('SELECT name, applied_at FROM schema_migration ORDER BY name');
    expect(rows.map(({ name }) => name)).toEqual(names);
    expect(rows[0].applied_at).toBeGreaterThanOrEqual(before - 5_000_000n);
  });

  test('takes a database in which migration 0014 made the extension as it did first, and programs that share it stay ready', async () => {
    await migrate(pool, DATA_STEPS);
    const { rowCount } = await pool.query(
      `UPDATE schema_migration SET checksum = 'ca89a5e219f1079d022ea7542eb02ea67ce1ca50ef916456bea4b014ea323e4c'
        WHERE name = '0014_names_texts_and_feed'`,
    );
    expect(rowCount).toBe(1);
    expect(await migrate(pool, DATA_STEPS)).toEqual({ applied: [], reports: [] });
    expect(await (await createReadinessCheck(pool))()).toBe('ready');
  });

  test.skipIf(TEST_SERVER === undefined)(
    'leaves an extension alone that an administrator has made',
    async () => {
      await pool.query(`
      CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'must be owner of extension pg_trgm'; END $$;
      CREATE EVENT TRIGGER refused ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION refuse()`);
      try {
        expect((await migrate(pool, DATA_STEPS)).applied).toContain('0014_names_texts_and_feed');
      } finally {
        await pool.query('DROP EVENT TRIGGER refused; DROP FUNCTION refuse');
      }
    },
  );

  test('changes nothing the second time', async () => {
    await migrate(pool, DATA_STEPS);
    const { rows: before } = await pool.query('SELECT * FROM schema_migration');
    expect(await migrate(pool, DATA_STEPS)).toEqual({ applied: [], reports: [] });
    expect((await pool.query('SELECT * FROM schema_migration')).rows).toEqual(before);
  });

  test('has settings for a Citus cluster, which other servers take and ignore', async () => {
    const settings = ['propagate_set_commands', 'multi_shard_modify_mode'].map(
      (name) => `current_setting('citus.${name}', true) AS ${name}`,
    );
    await migrate(
      pool,
      NO_STEPS,
      await program({ '0001_first': `CREATE TABLE first AS SELECT ${settings}` }),
    );
    const { rows } = await pool.query('SELECT * FROM first');
    expect(rows).toEqual([{ propagate_set_commands: 'local', multi_shard_modify_mode: 'sequential' }]);
  });

  test('a migration with a step is recorded when the step has ended, and those after it wait', async () => {
    const directory = await program({ '0001_first': FIRST, '0002_rows': '-- no SQL', '0003_second': SECOND });
    const seen: string[][] = [];
    const killed = async () => {
      seen.push(await tables());
      throw new Error('killed');
    };
    await expect(migrate(pool, new Map([['0002_rows', killed]]), directory)).rejects.toThrow('killed');
    const steps: MigrationSteps = new Map([['0002_rows', async () => 'done']]);
    expect(await migrate(pool, steps, directory)).toEqual({
      applied: ['0002_rows', '0003_second'],
      reports: ['done'],
    });
    expect(seen).toEqual([['first', 'schema_migration']]);
    expect(await migrate(pool, new Map([['0002_rows', killed]]), directory)).toEqual({
      applied: [],
      reports: [],
    });
  });

  test('applies only what a later version adds, in the order of names', async () => {
    await migrate(pool, NO_STEPS, await program({ '0001_first': FIRST }));
    const later = await program({ '0003_third': THIRD, '0001_first': FIRST, '0002_second': SECOND });
    expect(await migrate(pool, NO_STEPS, later)).toEqual({
      applied: ['0002_second', '0003_third'],
      reports: [],
    });
    expect(await tables()).toEqual(['schema_migration', 'third']);
    expect(await migrate(pool, NO_STEPS, later)).toEqual({ applied: [], reports: [] });
  });

  test('five openings at once on an empty database all come up, and each migration is applied once', async () => {
    const openings = await Promise.all(Array.from({ length: 5 }, () => openDatabase(database.options)));
    const applied = await Promise.all(openings.map((opening: Database) => migrate(opening.pool, DATA_STEPS)));
    expect(applied.flatMap((outcome) => outcome.applied).sort()).toEqual(
      (await readdir('prisma/migrations')).sort(),
    );
    await Promise.all(openings.map((opening) => opening.close()));
  });

  test('applies all or nothing: if one fails, those before it are rolled back, and the message says which', async () => {
    const broken = await program({ '0001_first': FIRST, '0002_broken': 'CREATE TABLE second (id nonsense)' });
    await expect(migrate(pool, NO_STEPS, broken)).rejects.toThrow(
      'Migration 0002_broken could not be applied: type "nonsense" does not exist. Nothing was changed.',
    );
    expect(await tables()).toEqual([]);
  });
});

describe('an upgrade computes the sizes of stored histories, and rewrites records,', async () => {
  const names = (await readdir('prisma/migrations')).sort();

  // The last that rewrites rows.
  const before = names.filter((name) => name < '0012');

  test.each(before.map((name, at) => [name, names.slice(0, at + 1)] as const))(
    'of a database that has the migrations up to %s',
    async (_last, known) => {
      const read = async (name: string) =>
        [name, await readFile(`prisma/migrations/${name}/migration.sql`, 'utf8')] as const;
      const earlier = await program(Object.fromEntries(await Promise.all(known.map(read))));
      await migrate(pool, NO_STEPS, earlier);
      await pool.query(
        `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_first, dns_latest, dns_types)
         VALUES ('example.com', 1, 1, 1, 1, 1, 1, '{"A":{"digest":""},"DNSKEY":{"digest":""}}')`,
      );
      await pool.query(
        `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
         VALUES ('example.com', 1, 'A', 0, 'example.com', 'IN', '{"ip":"192.0.2.1"}'),
                ('example.com', 1, 'DNSKEY', 0, 'example.com', 'IN', '{"data":"257 3 8 AwEA aagA"}')`,
      );
      await pool.query(
        `INSERT INTO header_change (domain, name, observed_at, present, value)
         VALUES ('example.com', 'via', 1, true, 'ä'), ('example.com', 'via', 3, false, NULL),
                ('example.com', 'via', 4, true, NULL), ('example.com', 'via', 5, false, NULL),
                ('example.com', 'via', 6, true, NULL), ('example.com', 'via', 7, true, 'b'),
                ('example.com', 'age', 2, true, '')`,
      );

      expect(await migrate(pool, DATA_STEPS)).toEqual({
        applied: names.slice(known.length),
        reports: ['The records of 1 domains were rewritten in their canonical text.'],
      });
      const { rows } = await pool.query('SELECT record_octets, header_octets FROM domain');
      const rdata = '{"ip":"192.0.2.1"}{"data":"257 3 8 AwEAaagA"}';
      expect(rows).toEqual([
        {
          record_octets: BigInt(2 * (128 + 'example.com'.length) + rdata.length),
          header_octets: BigInt(7 * 80 + 7 * 'via'.length + 2 * 3 * 2 + 2),
        },
      ]);
      // Absences were last seen by the latest change of any header, and what returned has its value again.
      const changes = await pool.query(
        'SELECT name, observed_at, value, last_seen FROM header_change ORDER BY observed_at',
      );
      expect(changes.rows.map((row) => Object.values(row))).toEqual([
        ['via', 1n, 'ä', null],
        ['age', 2n, '', null],
        ['via', 3n, null, 2n],
        ['via', 4n, 'ä', null],
        ['via', 5n, null, 4n],
        ['via', 6n, 'ä', null],
        ['via', 7n, 'b', null],
      ]);
    },
  );
});

describe('after a migration of a later version', () => {
  const known = { '0001_works_since': WORKS_SINCE, '0002_first': FIRST };
  const declared = (name: string) => `-- Works with programs since: ${name}\n${SECOND}`;

  /** What comes of starting the program on a database to which a later version has applied one migration more. */
  async function started(name: string, sql: string): Promise<string> {
    const later = await program({ ...known, [name]: sql });
    await migrate(pool, NO_STEPS, later);
    return migrate(pool, NO_STEPS, await program(known)).then(
      ({ applied }) => `It has applied ${applied.length}.`,
      (error: Error) => error.message,
    );
  }

  test.each(['0001_works_since', '0002_first'])(
    'that works with programs since %s, this one migrates nothing',
    async (since) => {
      expect(await started('0003_second', declared(since))).toBe('It has applied 0.');
    },
  );

  test.each([
    ['that says nothing of it', '0003_second', SECOND],
    ['that says it in another line', '0003_second', `\n${declared('0002_first')}`],
    ['that works with later programs only', '0003_second', declared('0003_second')],
    ['that is not of a later version', '0001_x', declared('0001_works_since')],
  ])('%s, the program stops with a clear line', async (_why, name, sql) => {
    expect(await started(name, sql)).toBe(
      `The database is newer than this program, which does not know its migration ${name}. Run the version that made it, or a later one.`,
    );
  });

  test('one of this version that it was not applied after is missing', async () => {
    await migrate(pool, NO_STEPS, await program({ ...known, '0004_second': declared('0002_first') }));
    const now = await program({ ...known, '0003_more': 'CREATE TABLE more ()' });
    await expect(migrate(pool, NO_STEPS, now)).rejects.toThrow(
      'The database is half migrated: migration 0004_second was applied, but not 0003_more.',
    );
  });

  test('a migration of this program names one before it, by which programs know how to read that', async () => {
    const names = (await readdir('prisma/migrations')).sort();
    for (const [at, name] of names.entries()) {
      const sql = await readFile(`prisma/migrations/${name}/migration.sql`, 'utf8');
      const since = /^-- Works with programs since: (.*)/m.exec(sql)?.[1];
      if (since !== undefined) expect(names.slice(0, at).filter((each) => each >= '0019')).toContain(since);
    }
  });
});

describe('a database that does not fit the program stops it with a clear line, and is left as it is', () => {
  async function rejection(directory: URL): Promise<string> {
    const before = await tables();
    const message = await migrate(pool, NO_STEPS, directory).then(
      () => 'It was migrated.',
      (error: Error) => `${error.name}: ${error.message}`,
    );
    expect(await tables()).toEqual(before);
    return message;
  }

  test('newer than the program', async () => {
    await migrate(pool, NO_STEPS, await program({ '0001_first': FIRST, '0002_second': SECOND }));
    expect(await rejection(await program({ '0001_first': FIRST }))).toMatch(
      /^OperationError: The database is newer than this program, which does not know its migration 0002_second\. .+$/,
    );
  });

  test('a migration missing in the middle', async () => {
    await migrate(pool, NO_STEPS, await program({ '0001_first': FIRST, '0003_second': SECOND }));
    const now = await program({
      '0001_first': FIRST,
      '0002_more': 'CREATE TABLE more ()',
      '0003_second': SECOND,
    });
    expect(await rejection(now)).toMatch(
      /^OperationError: The database is half migrated: migration 0003_second was applied, but not 0002_more\. .+$/,
    );
  });

  test('a migration whose file has changed since it was applied', async () => {
    await migrate(pool, NO_STEPS, await program({ '0001_first': FIRST }));
    expect(await rejection(await program({ '0001_first': `${FIRST} ` }))).toMatch(
      /^OperationError: Migration 0001_first is not the one that was applied: .+$/,
    );
  });

  test('tables of the same names that nothing records', async () => {
    await pool.query('CREATE TABLE first (other text)');
    expect(await rejection(await program({ '0001_first': FIRST }))).toMatch(
      /^OperationError: The database has a table first, but no record that this program made it\. .+$/,
    );
  });

  test('a record without the tables', async () => {
    const directory = await program({ '0001_first': FIRST, '0002_second': SECOND });
    await migrate(pool, NO_STEPS, directory);
    await pool.query('DROP TABLE second');
    expect(await rejection(directory)).toMatch(
      /^OperationError: The database is half migrated: migration 0002_second was applied, but there is no table second\. .+$/,
    );
  });

  test('tables without the record, which was emptied', async () => {
    const directory = await program({ '0001_first': FIRST });
    await migrate(pool, NO_STEPS, directory);
    await pool.query('DELETE FROM schema_migration');
    expect(await rejection(directory)).toMatch(
      /^OperationError: The database has a table first, but no record/,
    );
  });
});

test('every table of the program’s own migrations is known by name', async () => {
  await migrate(pool, DATA_STEPS);
  const names = await readdir('prisma/migrations');
  const sql = await Promise.all(
    names.map((name) => readFile(`prisma/migrations/${name}/migration.sql`, 'utf8')),
  );
  for (const table of await tables()) {
    await pool.query(`ALTER TABLE "${table}" RENAME TO renamed`);
    if (table !== 'schema_migration') {
      expect(sql.join('\n'), table).toContain(`CREATE TABLE ${table}`);
      await expect(migrate(pool, DATA_STEPS), table).rejects.toThrow(`there is no table ${table}`);
    }
    await pool.query(`ALTER TABLE renamed RENAME TO "${table}"`);
  }
});
