import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { partitionTables, readDistribution } from '../../src/database/distribution.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { runDms } from '../journeys/dms-command.js';
import { SHARDS, standInForCitus } from '../support/citus.js';
import { openTestDatabase, TEST_PARTITIONS, TEST_SERVER, type TestDatabase } from '../support/database.js';
import { observation, observationLine } from '../support/observations.js';
import { startTestService } from '../support/service.js';

const PARTITIONS = 5;

let database: TestDatabase;

function dms(args: readonly string[], ...lines: readonly string[]) {
  return runDms(args, database.environment, Readable.from(lines.map((line) => `${line}\n`)));
}

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

  test('tables divided into partitions, or divided anew, hold all that the whole tables held, with the same columns, constraints, indexes and storage parameters', async () => {
    const before = await contentOf(database);
    expect(await readDistribution(database.pool)).toEqual({ kind: 'whole' });
    for (const count of [3, PARTITIONS]) {
      expect(await partitionTables(database.pool, count)).toBe(true);
      expect(await partitionTables(database.pool, count)).toBe(false);
      expect(await readDistribution(database.pool)).toEqual({ kind: 'partitions', count });
      expect(await contentOf(database)).toEqual(before);
    }
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
    expect(await dms(['migrate', '--citus'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The database has no Citus.'),
    });
  });

  test('dms migrate --partitions divides the tables, and says so', async () => {
    const divided = 'divided the tables of domains into 4 partitions each\n';
    for (const stdout of [divided, 'The database is up to date.\n']) {
      expect(await dms(['migrate', '--partitions', '4'])).toMatchObject({ code: 0, stdout });
    }
    const line = observationLine({ at: 9, records: ['192.0.2.9'] });
    expect(await dms(['import', '-'], line)).toMatchObject({ code: 0 });
    expect(await dms(['verify'])).toMatchObject({ code: 0 });
  });
});

describe.skipIf(TEST_SERVER === undefined || TEST_PARTITIONS !== undefined)('with Citus', () => {
  const TABLES = 'domain dns_record header_change site_response earlier_changes watched_domain'.split(' ');

  beforeAll(async () => {
    database = await openTestDatabase();
    await standInForCitus(database.pool);
    const stdout = TABLES.map((table) => `distributed ${table}\n`).join('');
    expect(await dms(['migrate', '--citus'])).toMatchObject({ code: 0, stdout });
  });
  afterAll(() => database.close());

  test('tables distributed over a Citus cluster are colocated by the name of the domain, with statistics, and with the settings that recording needs', async () => {
    const { rows } = await database.pool.query(
      'SELECT logicalrelid::text AS table, partkey AS column, colocated FROM pg_dist_partition ',
    );
    expect(rows.map(({ table, column, colocated }) => `${table}.${column} ${colocated}`).sort()).toEqual([
      ...['dns_record.domain domain', 'domain.name none', 'earlier_changes.domain domain'],
      ...['header_change.domain domain', 'site_response.domain domain', 'watched_domain.name domain'],
    ]);
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
    const migrated = (stdout: string) => ({ code: 0, stdout });
    expect(await dms(['migrate', '--citus'])).toMatchObject(migrated('The database is up to date.\n'));
    await database.pool.query(
      `DELETE FROM pg_dist_shard WHERE logicalrelid = 'watched_domain'::regclass;
         DELETE FROM pg_dist_partition WHERE logicalrelid = 'watched_domain'::regclass`,
    );
    const line = observationLine({ domain: 'part.example', at: 1, records: ['192.0.2.1'] });
    for (const args of [['show', 'example.com'], ['import', '-'], ['export'], ['observe', 'part.invalid']]) {
      const reason = 'dms migrate --citus was ended before it was done. Run it again.';
      expect(await dms(args, line)).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) });
    }
    const { rows } = await database.pool.query("SELECT FROM domain WHERE name = 'part.example'");
    expect(rows).toHaveLength(0);
    expect(await dms(['migrate', '--citus'])).toMatchObject(migrated('distributed watched_domain\n'));
  });

  test('tables distributed over a Citus cluster give what was recorded to all commands', async () => {
    const lines = [
      observationLine({ domain: 'a.example', at: 1, records: ['192.0.2.1'], headers: { server: 'a' } }),
      observationLine({ domain: 'a.example', at: 2, records: ['192.0.2.2'], headers: { server: 'b' } }),
      observationLine({ domain: 'b.example', at: 1, records: ['192.0.2.2'] }),
    ];
    expect(await dms(['import', '-'], ...lines)).toMatchObject({ code: 0 });
    const search = ['search', '--ip', '192.0.2.2'];
    expect((await dms(search)).stdout).toMatch(/a\.example.*b\.example/s);
    expect((await dms(['show', 'a.example'])).stdout).toContain('192.0.2.1');
    expect((await dms(['export'])).stdout.match(/^.*a\.example.*$/gm)).toHaveLength(2);
    expect(await dms(['verify'])).toMatchObject({ code: 0 });
    expect(await dms(['forget', '--yes', 'a.example'])).toMatchObject({ code: 0 });
    expect((await dms(search)).stdout).not.toContain('a.example');
    expect(await dms(['verify'])).toMatchObject({ code: 0 });
  });
});

test('a process from before the tables were distributed answers a search that the cluster refuses with 503, and asks for its restart', async () => {
  const service = await startTestService();
  onTestFinished(() => service.stop());
  // As Citus refuses what it cannot divide.
  await service.database.pool.query(`
    ALTER TABLE dns_record RENAME TO divided;
    CREATE FUNCTION refused() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
      RAISE 'complex joins are only supported when all distributed tables are co-located' USING ERRCODE = 'feature_not_supported';
    END $$;
    CREATE VIEW dns_record AS SELECT * FROM divided WHERE refused()`);
  const response = await fetch(`${service.url}/api/v1/search/dns-records?ip=192.0.2.1`);
  const detail = expect.stringContaining('It has to be started again.');
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'UNAVAILABLE', detail }]);
  expect(response.headers.get('retry-after')).not.toBeNull();
});

/** All rows of the tables of domains; columns, constraints, indexes and storage parameters, partitions apart. */
async function contentOf({ pool }: TestDatabase): Promise<unknown> {
  const content = await pool.query(
    `SELECT (SELECT json_agg(row ORDER BY name) FROM domain AS row) AS domains,
            (SELECT json_agg(row ORDER BY domain, first_seen, type, position) FROM dns_record AS row) AS records,
            (SELECT json_agg(row ORDER BY domain, name, observed_at) FROM header_change AS row) AS headers`,
  );
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
  return [content.rows, rows.map(({ line }) => line)];
}
