import { PrismaPg } from '@prisma/adapter-pg';
import type { QueryConfig } from 'pg';
import { expect, test } from 'vitest';
import { PrismaClient } from '../../src/database/generated/client.js';
import type { Page, SearchKey } from '../../src/loaders/search.js';
import {
  searchDomainsOfShards,
  searchHeadersOfShards,
  searchRecordsOfShards,
} from '../../src/loaders/search-shards.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { databaseOfFile } from '../support/database.js';
import { observation } from '../support/observations.js';

let prisma: PrismaClient;

/** The queries that read what was found: they are executed after those that find it, each by a snapshot of its own. */
const SECOND_READING =
  /((?:found|dns_record|header_change|domain) AS MATERIALIZED \(\s*SELECT [^()]* FROM (domain|dns_record|header_change)\s+WHERE )/g;
let secondReadings = 0;
const GONE = 'b.example';

databaseOfFile(async (database) => {
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
/** For each filter, the domains of the matches of all pages. */
async function domainsOf<Filter, Match, Place>(
  search: (prisma: PrismaClient, key: SearchKey<Filter, Place>) => Promise<Page<Match, Place>>,
  domainOf: (match: Match) => string,
  filters: readonly Filter[],
  first: number,
): Promise<string[][]> {
  const found: string[][] = [];
  for (const filter of filters) {
    secondReadings = 0;
    const matches: Match[] = [];
    for (let after: Place | null | undefined; after !== null; ) {
      const { items, next } = await search(prisma, { filter, first, after, lastSeen: true });
      matches.push(...items);
      after = next;
    }
    expect(secondReadings).toBeGreaterThan(0);
    found.push(matches.map(domainOf));
  }
  return found;
}

test.each([1, 2, 3])('a domain erased before its page of %i is read is missing alone', async (first) => {
  const names = [{}, { match: { parts: ['', 'example'] } }];
  const records = [{ ip: '192.0.2.1' }, { types: ['A'] }];
  const headers = [{ name: 'server', value: 'nginx' }, { name: 'server' }];
  const others = [OTHERS, OTHERS];
  expect(await domainsOf(searchDomainsOfShards, ({ name }) => name, names, first)).toEqual(others);
  const found = await domainsOf(searchRecordsOfShards, ({ place }) => place.domain, records, first);
  expect(found).toEqual(others);
  expect(await domainsOf(searchHeadersOfShards, ({ domain }) => domain, headers, first)).toEqual(others);
});

const OTHERS = ['a.example', 'c.example', 'd.example'];
