import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ON_SHARDS } from '../../src/database/citus.js';
import { ON_SERVER } from '../../src/database/tables.js';
import { loadStatistics } from '../../src/loaders/statistics.js';
import { standInForCitus } from '../support/citus.js';
import { databaseOfFile } from '../support/database.js';

const [DOMAINS, RECORDS, REMOVED, HEADERS, VALUES] = [101_000, 206_000, 102_000, 20_000, 101_000];

const database = databaseOfFile(async ({ pool }) => {
  await pool.query(
    `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types)
     SELECT number || '.example', 1, number, 1, 1, '{}' FROM generate_series(1, ${DOMAINS}) AS number`,
  );
  await pool.query(
    `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata, removed, last_seen)
     SELECT number || '.example', 1, 'SPF', 0, number || '.example', 'IN', '{}',
            CASE WHEN number <= ${REMOVED} THEN 2 END, CASE WHEN number <= ${REMOVED} THEN 1 END
       FROM generate_series(1, ${RECORDS}) AS number`,
  );
  // One header has most of the changes.
  await pool.query(
    `INSERT INTO header_change (domain, name, observed_at, value)
     SELECT '1.example', CASE WHEN number <= ${HEADERS} THEN 'x-' || number ELSE 'date' END, number, 'a'
       FROM generate_series(1, ${HEADERS + VALUES}) AS number ORDER BY hashint8(number)`,
  );
  await standInForCitus(pool);
});

function expectAbout(found: number, expected: number, off = 0.02) {
  expect(found).toBeGreaterThan(expected * (1 - off));
  expect(found).toBeLessThan(expected * (1 + off));
}

describe.each([
  { place: 'on a server', tables: ON_SERVER },
  { place: 'on a cluster', tables: ON_SHARDS },
])('the statistics of more rows than are counted, $place', ({ tables }) => {
  const rename = async (from: string, to: string) => {
    if (tables === ON_SHARDS) await database.pool.query(`ALTER INDEX ${from} RENAME TO ${to}`);
  };
  beforeAll(async () => {
    // The index of a shard has its number.
    await rename('dns_record_removed', 'dns_record_removed_102008');
    await database.pool.query('ANALYZE domain, dns_record, header_change');
  });
  afterAll(() => rename('dns_record_removed_102008', 'dns_record_removed'));

  test('are about right once the tables were analyzed', async () => {
    const { domains, dnsRecords, httpHeaders, changes } = await loadStatistics(database.prisma, tables);
    expectAbout(domains, DOMAINS);
    expectAbout(dnsRecords, RECORDS);
    expectAbout(changes, RECORDS + REMOVED + HEADERS + VALUES);
    expectAbout(httpHeaders, HEADERS, 0.25);
  });

  test('are estimated by the size of tables that were never analyzed with rows', async () => {
    await database.pool.query("UPDATE pg_class SET reltuples = 0 WHERE relname ~ '^(domain|dns_record)'");
    expectAbout((await loadStatistics(database.prisma, tables)).dnsRecords, RECORDS, 0.4);
  });
});

test('the statistics are exact where fewer rows are left than estimates tell', async () => {
  await database.pool.query('DELETE FROM domain WHERE recorded_at > 40000');
  for (const tables of [ON_SERVER, ON_SHARDS]) {
    const exact = { domains: 40_000, lastRecordedAt: 40_000n };
    expect(await loadStatistics(database.prisma, tables)).toMatchObject(exact);
  }
});
