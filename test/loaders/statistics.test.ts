import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadStatistics } from '../../src/loaders/search-domains.js';
import { loadStatisticsOfShards } from '../../src/loaders/search-shards.js';
import { standInForCitus } from '../support/citus.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

const [DOMAINS, RECORDS, REMOVED, HEADERS, VALUES] = [110_000, 150_000, 20_000, 20_000, 6];

beforeAll(async () => {
  database = await openTestDatabase();
  const { pool } = database;
  await pool.query(
    `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types)
     SELECT number || '.example', 1, number, 1, 1, '{}' FROM generate_series(1, ${DOMAINS}) AS number`,
  );
  await pool.query(
    `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata, removed, last_seen)
     SELECT number || '.example', 1, 'TXT', 0, number || '.example', 'IN', '{"txt":"","entries":[""]}',
            CASE WHEN number <= ${REMOVED} THEN 2 END, CASE WHEN number <= ${REMOVED} THEN 1 END
       FROM generate_series(1, ${RECORDS}) AS number`,
  );
  await pool.query(
    `INSERT INTO header_change (domain, name, observed_at, value)
     SELECT number % 1000 || '.example', 'x-' || number, time, 'a'
       FROM generate_series(1, ${HEADERS}) AS number, generate_series(1, ${VALUES}) AS time`,
  );
  await standInForCitus(pool);
}, 120_000);
afterAll(() => database.close());

describe.each([
  { place: 'on a server', load: loadStatistics },
  { place: 'on a cluster', load: loadStatisticsOfShards },
])('the statistics of more rows than are counted, $place', ({ load }) => {
  test('are about right once the tables were analyzed', async () => {
    await database.pool.query('ANALYZE domain, dns_record, header_change');
    const { domains, dnsRecords, httpHeaders, changes } = await load(database.prisma);
    const isAbout = (found: number, expected: number, off = 0.02) => {
      expect(found).toBeGreaterThan(expected * (1 - off));
      expect(found).toBeLessThan(expected * (1 + off));
    };
    isAbout(domains, DOMAINS);
    isAbout(dnsRecords, RECORDS);
    isAbout(changes, RECORDS + REMOVED + HEADERS * VALUES);
    isAbout(httpHeaders, HEADERS, 0.25);
  });
});
