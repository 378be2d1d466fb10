import { PrismaPg } from '@prisma/adapter-pg';
import type { QueryConfig } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { PrismaClient } from '../../src/database/generated/client.js';
import type { HeaderPlace } from '../../src/loaders/search-headers.js';
import type { RecordPlace } from '../../src/loaders/search-records.js';
import {
  searchDomainsOfShards,
  searchHeadersOfShards,
  searchRecordsOfShards,
} from '../../src/loaders/search-shards.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { observation } from '../support/observations.js';

let database: TestDatabase;
let prisma: PrismaClient;

/** The queries that read what was found: they are executed after those that find it, each by a snapshot of its own. */
const SECOND_READING =
  /((?:found|dns_record|header_change|domain) AS MATERIALIZED \(\s*SELECT [^()]* FROM (domain|dns_record|header_change)\s+WHERE )/g;
let secondReadings = 0;
const GONE = 'b.example';

beforeAll(async () => {
  database = await openTestDatabase();
  const names = ['a.example', GONE, 'c.example', 'd.example'];
  const look = { at: 1, records: ['192.0.2.1'], headers: { server: 'nginx' } };
  await createRecorder(database.pool).record(names.map((domain) => observation({ domain, ...look })));
  const pool = new Proxy(database.pool, {
    get: (target, key) =>
      key !== 'query'
        ? Reflect.get(target, key)
        : (statement: QueryConfig, values: unknown[]) => {
            const text = statement.text.replace(SECOND_READING, (start, _, table) => {
              secondReadings += 1;
              return `${start}${table === 'domain' ? 'name' : 'domain'} <> '${GONE}' AND `;
            });
            return target.query({ ...statement, text }, values);
          },
  });
  prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
});

beforeEach(() => {
  secondReadings = 0;
});

afterEach(() => {
  expect(secondReadings).toBeGreaterThan(0);
});

afterAll(() => database.close());

const OTHERS = ['a.example', 'c.example', 'd.example'];
const PAGES = [1, 2, 3];

test.each(PAGES)(
  'a domain that is erased between the finding of a page of %i and its reading is missing from the domains alone',
  async (first) => {
    for (const filter of [{}, { match: { parts: ['', 'example'] } }]) {
      const found = await all((after: { name: string } | undefined) =>
        searchDomainsOfShards(prisma, { filter, first, after }),
      );
      expect(found.map(({ name }) => name)).toEqual(OTHERS);
    }
  },
);

test.each(PAGES)(
  'a domain that is erased between the finding of a page of %i and its reading is missing from the records alone',
  async (first) => {
    for (const filter of [{ ip: '192.0.2.1' }, { types: ['A'] }]) {
      const found = await all((after: RecordPlace | undefined) =>
        searchRecordsOfShards(prisma, { filter, first, after, lastSeen: true }),
      );
      expect(found.map(({ place }) => place.domain)).toEqual(OTHERS);
    }
  },
);

test.each(PAGES)(
  'a domain that is erased between the finding of a page of %i and its reading is missing from the headers alone',
  async (first) => {
    for (const filter of [{ name: 'server', value: 'nginx' }, { name: 'server' }]) {
      const found = await all((after: HeaderPlace | undefined) =>
        searchHeadersOfShards(prisma, { filter, first, after, lastSeen: true }),
      );
      expect(found.map(({ domain }) => domain)).toEqual(OTHERS);
    }
  },
);

/** The matches of all pages. */
async function all<Match, Place>(
  page: (
    after: Place | undefined,
  ) => Promise<{ readonly items: readonly Match[]; readonly next: Place | null }>,
): Promise<Match[]> {
  const found: Match[] = [];
  for (let after: Place | undefined; ; ) {
    const { items, next } = await page(after);
    found.push(...items);
    if (next === null) return found;
    after = next;
  }
}
