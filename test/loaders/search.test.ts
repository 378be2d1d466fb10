import { PrismaPg } from '@prisma/adapter-pg';
import type { QueryConfig } from 'pg';
import { expect, test } from 'vitest';
import { ON_SHARDS } from '../../src/database/citus.js';
import { PrismaClient } from '../../src/database/generated/client.js';
import { ON_SERVER, type Tables } from '../../src/database/tables.js';
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
  await recorder.record([
    observation({
      domain: 'odd.test',
      at: 1,
      records: [{ host: 'odd.test', class: 'IN', type: 'TXT', txt: ODD, entries: [ODD] }],
      headers: { 'x-odd': ODD },
    }),
  ]);
  const changing = new Proxy(pool, {
    get: (target, key) =>
      key !== 'query'
        ? Reflect.get(target, key)
        : (statement: QueryConfig, values: unknown[]) =>
            target.query({ ...statement, text: changeStatement(statement.text) }, values),
  });
  prisma = new PrismaClient({ adapter: new PrismaPg(changing) });
});

/** The matches of all pages. */
async function allOf<Filter, Match, Place>(
  search: (reader: SearchReader, key: SearchKey<Filter, Place>) => Promise<Page<Match, Place>>,
  filter: Filter,
  { tables = ON_SHARDS, first = 10 }: { tables?: Tables; first?: number } = {},
): Promise<Match[]> {
  const found: Match[] = [];
  for (let after: Place | null | undefined; after !== null; ) {
    const { items, next } = await search({ prisma, tables }, { filter, first, after, lastSeen: true });
    found.push(...items);
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
      await allOf(searchDomains, { registrableDomain: 'example' }, { first }),
      await allOf(searchDomains, { match: { parts: ['', '.example'] } }, { first }),
      await allOf(searchRecords, { ip: '192.0.2.1' }, { first }),
      await allOf(searchRecords, { types: ['A'] }, { first }),
      await allOf(searchHeaders, { name: 'server', value: 'nginx' }, { first }),
      await allOf(searchHeaders, { name: 'server' }, { first }),
    ];
    const others = ['a.example', 'c.example', 'd.example'];
    expect(found.map((matches) => matches.map(domainOf))).toEqual(found.map(() => others));
    expect(secondReadings).toBeGreaterThan(0);
  },
);

function domainOf(match: DomainRow | RecordMatch | HeaderMatch): string {
  if ('place' in match) return match.place.domain;
  return 'domain' in match ? match.domain : match.name;
}

test('on a cluster, a search with a part of a table that cannot be read fails, in place of finding less', async () => {
  changeStatement = (text) => text.replace('success THEN', 'success AND shardid <> 1 THEN');
  const filter = { ip: '192.0.2.1' };
  await expect(allOf(searchRecords, filter)).rejects.toThrow(UnavailableError);
  expect(await allOf(searchRecords, filter, { tables: ON_SERVER })).toHaveLength(4);
});

test('values with marks of SQL and of templates find the same on a cluster as on a server', async () => {
  changeStatement = (text) => text;
  for (const tables of [ON_SERVER, ON_SHARDS]) {
    expect((await allOf(searchRecords, { text: ODD }, { tables })).map(domainOf)).toEqual(['odd.test']);
    const part = ODD.slice(3, -3);
    expect((await allOf(searchHeaders, { name: 'x-odd', contains: part }, { tables })).map(domainOf)).toEqual(
      ['odd.test'],
    );
    expect((await allOf(searchHeaders, { name: 'x-odd', value: ODD }, { tables })).map(domainOf)).toEqual([
      'odd.test',
    ]);
  }
});
