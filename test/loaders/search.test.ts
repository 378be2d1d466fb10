import { PrismaPg } from '@prisma/adapter-pg';
import type { QueryConfig } from 'pg';
import { expect, test } from 'vitest';
import { ON_SHARDS } from '../../src/database/citus.js';
import { PrismaClient } from '../../src/database/generated/client.js';
import { ON_SERVER } from '../../src/database/tables.js';
import type { DomainRow } from '../../src/loaders/domain-row.js';
import type { Page, SearchKey, SearchReader } from '../../src/loaders/search.js';
import { searchDomains } from '../../src/loaders/search-domains.js';
import { type HeaderMatch, searchHeaders } from '../../src/loaders/search-headers.js';
import { type RecordMatch, searchRecords } from '../../src/loaders/search-records.js';
import { UnavailableError } from '../../src/model/errors.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { standInForCitus } from '../support/citus.js';
import { databaseOfFile } from '../support/database.js';
import { observation } from '../support/observations.js';

/** The queries that read what was found: on a cluster, each has a snapshot of its own. */
const SECOND_READING =
  /((?:dns_record|header_change|domain) AS MATERIALIZED \(\s*SELECT [^()]* FROM (domain|dns_record|header_change)\s+WHERE )/g;
let changeStatement = (text: string) => text;
let prisma: PrismaClient;

/** What must come to each part of a table as it is: marks of the templates by which it gets there, and of SQL. */
const ODD = `100%'s "%s" %1$s %% \\' $1 <shard> {}`;

databaseOfFile(async ({ pool }) => {
  await standInForCitus(pool);
  const recorder = createRecorder(pool);
  const names = ['a.example', 'b.example', 'c.example', 'd.example'];
  const look = { at: 1, records: ['192.0.2.1'], headers: { server: 'nginx' } };
  await recorder.record(names.map((domain) => observation({ domain, ...look })));
  const records = [{ host: 'odd.test', class: 'IN', type: 'TXT', entries: [ODD] }];
  await recorder.record([observation({ domain: 'odd.test', at: 1, records, headers: { 'x-odd': ODD } })]);
  const changing = new Proxy(pool, {
    get: (target, key) =>
      key !== 'query'
        ? Reflect.get(target, key)
        : (statement: QueryConfig, values: unknown[]) =>
            target.query({ ...statement, text: changeStatement(statement.text) }, values),
  });
  prisma = new PrismaClient({ adapter: new PrismaPg(changing) });
});

/** The domains of the matches of all pages. */
async function foundBy<Filter, Match extends DomainRow | RecordMatch | HeaderMatch, Place>(
  search: (reader: SearchReader, key: SearchKey<Filter, Place>) => Promise<Page<Match, Place>>,
  filter: Filter,
  { tables = ON_SHARDS, first = 10 } = {},
): Promise<string[]> {
  const found: string[] = [];
  for (let after: Place | null | undefined; after !== null; ) {
    const { items, next } = await search({ prisma, tables }, { filter, first, after, lastSeen: true });
    for (const match of items)
      found.push('place' in match ? match.place.domain : 'domain' in match ? match.domain : match.name);
    after = next;
  }
  return found;
}

test.each([1, 2, 3])(
  'on a cluster, a domain erased before its page of %i is read is missing alone',
  async (first) => {
    let secondReadings = 0;
    changeStatement = (text) =>
      text.replace(SECOND_READING, (start, _, table) => {
        secondReadings += 1;
        return `${start}${table === 'domain' ? 'name' : 'domain'} <> 'b.example' AND `;
      });
    const found = [
      await foundBy(searchDomains, { registrableDomain: 'example' }, { first }),
      await foundBy(searchDomains, { match: { parts: ['', '.example'] } }, { first }),
      await foundBy(searchRecords, { ip: '192.0.2.1' }, { first }),
      await foundBy(searchRecords, { types: ['A'] }, { first }),
      await foundBy(searchHeaders, { name: 'server', value: 'nginx' }, { first }),
      await foundBy(searchHeaders, { name: 'server' }, { first }),
    ];
    expect(found).toEqual(found.map(() => ['a.example', 'c.example', 'd.example']));
    expect(secondReadings).toBeGreaterThan(0);
  },
);

test('on a cluster, a search with a part of a table that cannot be read fails, in place of finding less', async () => {
  changeStatement = (text) => text.replace('success THEN', 'success AND shardid <> 1 THEN');
  await expect(foundBy(searchRecords, { ip: '192.0.2.1' })).rejects.toThrow(UnavailableError);
});

test('values with marks of SQL and of templates find the same on a cluster as on a server', async () => {
  changeStatement = (text) => text;
  for (const tables of [ON_SERVER, ON_SHARDS]) {
    const found = [
      await foundBy(searchRecords, { text: ODD }, { tables }),
      await foundBy(searchHeaders, { name: 'x-odd', contains: ODD.slice(3, -3) }, { tables }),
      await foundBy(searchHeaders, { name: 'x-odd', value: ODD }, { tables }),
    ];
    expect(found).toEqual(found.map(() => ['odd.test']));
  }
});
