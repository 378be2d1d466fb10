import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { partitionTables, readDistribution } from '../../src/database/distribution.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { runDms } from '../journeys/dms-command.js';
import { SHARDS, standInForCitus } from '../support/citus.js';
import { openTestDatabase, TEST_PARTITIONS, TEST_SERVER, type TestDatabase } from '../support/database.js';
import { observation, observationLine } from '../support/observations.js';
import { startTestService } from '../support/service.js';

const PARTITIONS = 5;

let database: TestDatabase;

describe.skipIf(TEST_SERVER === undefined || TEST_PARTITIONS !== undefined)('with partitions', () => {
  beforeAll(async () => {
    database = await openTestDatabase();
    const recorder = createRecorder(database.pool);
    const domains = Array.from({ length: 40 }, (_, number) => `d${number}.example`);
    for (const at of [1, 2]) {
      const [records, headers] = [[`192.0.2.${at}`], { server: `nginx ${at}` }];
      await recorder.record(domains.map((domain) => observation({ domain, at, records, headers })));
    }
  });
  afterAll(() => database.close());

  test('tables divided into partitions hold all that the whole tables held, with the same columns, constraints, indexes and storage parameters', async () => {
    const [rows, schema] = [await rowsOf(database), await schemaOf(database)];
    expect(await readDistribution(database.pool)).toEqual({ kind: 'whole' });
    expect(await partitionTables(database.pool, PARTITIONS)).toBe(true);
    expect(await readDistribution(database.pool)).toEqual({ kind: 'partitions', count: PARTITIONS });
    expect(await rowsOf(database)).toEqual(rows);
    expect(await schemaOf(database)).toEqual(schema);
  });

  test('tables divided into partitions are left where they have that number already, and divided anew where they have another', async () => {
    const [rows, schema] = [await rowsOf(database), await schemaOf(database)];
    expect(await partitionTables(database.pool, PARTITIONS)).toBe(false);
    expect(await partitionTables(database.pool, 3)).toBe(true);
    expect(await readDistribution(database.pool)).toEqual({ kind: 'partitions', count: 3 });
    expect(await partitionTables(database.pool, PARTITIONS)).toBe(true);
    expect(await rowsOf(database)).toEqual(rows);
    expect(await schemaOf(database)).toEqual(schema);
  });

  test('the rows of one domain are in the partitions of one number', async () => {
    const { rows } = await database.pool.query<{ domain: string; partitions: string[] }>(
      `SELECT domain, array_agg(DISTINCT substring(partition::text FROM '[0-9]+$')) AS partitions
         FROM (SELECT name AS domain, tableoid::regclass AS partition FROM domain
               UNION ALL SELECT domain, tableoid::regclass FROM dns_record
               UNION ALL SELECT domain, tableoid::regclass FROM header_change) AS row GROUP BY domain`,
    );
    expect(rows).toHaveLength(40);
    expect(rows.filter(({ partitions }) => partitions.length !== 1)).toEqual([]);
    expect(new Set(rows.flatMap(({ partitions }) => partitions)).size).toBe(PARTITIONS);
  });

  test('dms migrate --citus distributes nothing in a database without Citus', async () => {
    const { code, stderr } = await runDms(['migrate', '--citus'], database.environment);
    expect(code).toBe(1);
    expect(stderr).toContain('The database has no Citus.');
  });

  test('dms migrate --partitions divides the tables, and says so', async () => {
    const divided = await runDms(['migrate', '--partitions', '4'], database.environment);
    expect(divided).toMatchObject({
      code: 0,
      stdout: 'divided the tables of domains into 4 partitions each\n',
    });
    const again = await runDms(['migrate', '--partitions', '4'], database.environment);
    expect(again).toMatchObject({ code: 0, stdout: 'The database is up to date.\n' });
    const imported = await runDms(
      ['import', '-'],
      database.environment,
      Readable.from([observationLine({ at: 9, records: ['192.0.2.9'] })]),
    );
    expect(imported.code).toBe(0);
    expect(await runDms(['verify'], database.environment)).toMatchObject({ code: 0 });
  });
});

describe.skipIf(TEST_SERVER === undefined || TEST_PARTITIONS !== undefined)('with Citus', () => {
  const dms = (...args: string[]) => runDms(args, database.environment);
  const TABLES = [
    ...['domain', 'dns_record', 'header_change', 'site_response', 'earlier_changes'],
    'watched_domain',
  ];

  beforeAll(async () => {
    database = await openTestDatabase();
    await standInForCitus(database.pool);
    expect(await dms('migrate', '--citus')).toMatchObject({
      code: 0,
      stdout: TABLES.map((table) => `distributed ${table}\n`).join(''),
    });
  });
  afterAll(() => database.close());

  test('tables distributed over a Citus cluster are colocated by the name of the domain, with statistics, and with the settings that recording needs', async () => {
    const { rows } = await database.pool.query(
      'SELECT logicalrelid::text AS table, partkey AS column, colocated FROM pg_dist_partition ORDER BY logicalrelid::oid',
    );
    expect(rows).toEqual(
      expect.arrayContaining([
        { table: 'domain', column: 'name', colocated: 'none' },
        { table: 'dns_record', column: 'domain', colocated: 'domain' },
        { table: 'header_change', column: 'domain', colocated: 'domain' },
        { table: 'site_response', column: 'domain', colocated: 'domain' },
        { table: 'watched_domain', column: 'name', colocated: 'domain' },
      ]),
    );
    expect(await readDistribution(database.pool)).toEqual({ kind: 'shards', count: SHARDS });
    const unanalyzed = await database.pool.query(
      'SELECT FROM pg_class WHERE oid = ANY ($1::text[]::regclass[]) AND reltuples < 0',
      [TABLES],
    );
    expect(unanalyzed.rows).toHaveLength(0);
    const settings = await database.pool.query<{ setconfig: string[] }>(
      `SELECT setconfig FROM pg_db_role_setting JOIN pg_database ON pg_database.oid = setdatabase
          WHERE datname = current_database() AND setrole = 0`,
    );
    expect(settings.rows[0]?.setconfig).toEqual(
      expect.arrayContaining([
        'citus.enable_deadlock_prevention=off',
        'citus.max_adaptive_executor_pool_size=4',
      ]),
    );
  });

  test('tables of a Citus cluster are used only if all of them are distributed, which dms migrate does with those that are left', async () => {
    expect(await dms('migrate', '--citus')).toMatchObject({
      code: 0,
      stdout: 'The database is up to date.\n',
    });
    await database.pool.query(
      `DELETE FROM pg_dist_shard WHERE logicalrelid = 'watched_domain'::regclass;
         DELETE FROM pg_dist_partition WHERE logicalrelid = 'watched_domain'::regclass`,
    );
    const line = observationLine({ domain: 'part.example', at: 1, records: ['192.0.2.1'] });
    for (const args of [['show', 'example.com'], ['import', '-'], ['export'], ['observe', 'part.invalid']]) {
      expect(await runDms(args, database.environment, Readable.from([line]))).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('dms migrate --citus was ended before it was done. Run it again.'),
      });
    }
    const { rows } = await database.pool.query("SELECT FROM domain WHERE name = 'part.example'");
    expect(rows).toHaveLength(0);
    expect(await dms('migrate', '--citus')).toMatchObject({
      code: 0,
      stdout: 'distributed watched_domain\n',
    });
  });

  test('tables distributed over a Citus cluster give what was recorded to all commands', async () => {
    const lines = [
      observationLine({ domain: 'a.example', at: 1, records: ['192.0.2.1'], headers: { server: 'a' } }),
      observationLine({ domain: 'a.example', at: 2, records: ['192.0.2.2'], headers: { server: 'b' } }),
      observationLine({ domain: 'b.example', at: 1, records: ['192.0.2.2'] }),
    ];
    const imported = await runDms(
      ['import', '-'],
      database.environment,
      Readable.from(lines.map((line) => `${line}\n`)),
    );
    expect(imported).toMatchObject({ code: 0 });
    const found = await dms('search', '--ip', '192.0.2.2');
    expect(found).toMatchObject({ code: 0, stdout: expect.stringMatching(/a\.example.*b\.example/s) });
    expect(await dms('show', 'a.example')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('192.0.2.1'),
    });
    const exported = await dms('export');
    expect(exported.stdout.split('\n').filter((line) => line.includes('a.example')).length).toBe(2);
    expect(await dms('verify')).toMatchObject({ code: 0 });
    expect(await dms('forget', '--yes', 'a.example')).toMatchObject({ code: 0 });
    expect(await dms('search', '--ip', '192.0.2.2')).toMatchObject({
      stdout: expect.not.stringContaining('a.example'),
    });
    expect(await dms('verify')).toMatchObject({ code: 0 });
  });
});

test('a process from before the tables were distributed answers a search that the cluster refuses with 503, and asks for its restart', async () => {
  const service = await startTestService();
  try {
    // As Citus refuses what it cannot divide.
    await service.database.pool.query(`
      ALTER TABLE dns_record RENAME TO divided;
      CREATE FUNCTION refused() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
        RAISE 'complex joins are only supported when all distributed tables are co-located' USING ERRCODE = 'feature_not_supported';
      END $$;
      CREATE VIEW dns_record AS SELECT * FROM divided WHERE refused()`);
    const response = await fetch(`${service.url}/api/v1/search/dns-records?ip=192.0.2.1`);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).not.toBeNull();
    expect(await response.json()).toMatchObject({
      code: 'UNAVAILABLE',
      detail: expect.stringContaining('It has to be started again.'),
    });
  } finally {
    await service.stop();
  }
});

/** All rows of the tables of domains. */
async function rowsOf({ pool }: TestDatabase): Promise<unknown> {
  const { rows } = await pool.query(
    `SELECT (SELECT json_agg(row ORDER BY name) FROM domain AS row) AS domains,
            (SELECT json_agg(row ORDER BY domain, first_seen, type, position) FROM dns_record AS row) AS records,
            (SELECT json_agg(row ORDER BY domain, name, observed_at) FROM header_change AS row) AS headers`,
  );
  return rows;
}

/** Columns, constraints, indexes and storage parameters of the tables, partitions apart. */
async function schemaOf({ pool }: TestDatabase): Promise<unknown> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT concat_ws(' ', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, attcollation::regcollation) AS line
       FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
      WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        AND attnum > 0 AND NOT attisdropped
      UNION ALL SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')
       FROM pg_index JOIN pg_class c ON c.oid = indexrelid
      WHERE relnamespace = current_schema()::regnamespace AND NOT relispartition
      UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, replace(pg_get_constraintdef(oid), ' NOT VALID', '')) FROM pg_constraint
      WHERE connamespace = current_schema()::regnamespace
        AND conrelid::regclass::text !~ '_p[0-9]+$'
      UNION ALL SELECT DISTINCT concat_ws(' ', regexp_replace(relname, '_p[0-9]+$', ''), reloptions::text) FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1`,
  );
  return rows.map(({ line }) => line);
}
