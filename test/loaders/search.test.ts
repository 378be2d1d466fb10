import { PrismaPg } from '@prisma/adapter-pg';
import type { QueryConfig } from 'pg';
import { expect, test } from 'vitest';
import { ON_SHARDS } from '../../src/database/citus.js';
import { isDatabaseFailure } from '../../src/database/database-failure.js';
import { partitionTables } from '../../src/database/distribution.js';
import { PrismaClient } from '../../src/database/generated/client.js';
import { ON_SERVER } from '../../src/database/tables.js';
import type { Page, SearchKey, SearchReader } from '../../src/loaders/search.js';
import { type HeaderMatch, searchHeaders } from '../../src/loaders/search-headers.js';
import { type RecordMatch, searchRecords } from '../../src/loaders/search-records.js';
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

/** One in each part of the tables. The former comes after many others of its part, the latter before many of its. */
const WANTED: string[] = [];

databaseOfFile(async ({ pool }) => {
  await partitionTables(pool, 2);
  await standInForCitus(pool);
  const recorder = createRecorder(pool);
  const names = ['a.example', 'b.example', 'c.example', 'd.example'];
  const look = { at: 1, records: ['192.0.2.1'], headers: { server: 'nginx' } };
  await recorder.record(names.map((domain) => observation({ domain, ...look })));
  const records = [{ host: 'odd.test', class: 'IN', type: 'TXT', entries: [ODD] }];
  await recorder.record([observation({ domain: 'odd.test', at: 1, records, headers: { 'x-odd': ODD } })]);
  const inPart = async (part: number, letter: string, count: number) => {
    const candidates = Array.from({ length: 300 }, (_, at) => `${letter}${100 + at}.test`);
    const { rows } = await pool.query<{ name: string }>(
      `SELECT name FROM unnest($1::text[]) AS name WHERE satisfies_hash_partition('domain'::regclass, 2, $2, name) LIMIT $3`,
      [candidates, part, count],
    );
    return rows.map(({ name }) => name);
  };
  WANTED.push(...(await inPart(0, 'v', 1)), ...(await inPart(1, 'w', 1)));
  const others = [...(await inPart(0, 'u', 60)), ...(await inPart(1, 'x', 60))];
  for (const domain of [...others, ...WANTED]) {
    const entries = [WANTED.includes(domain) ? 'n=9' : 'n=1'];
    const held = ['192.0.2.9', { host: domain, class: 'IN', type: 'TXT', entries }];
    await recorder.record([observation({ domain, at: 1, records: held })]);
    if (WANTED.includes(domain)) await recorder.record([observation({ domain, at: 2, records: [] })]);
  }
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
async function foundBy<Filter, Match extends RecordMatch | HeaderMatch, Place>(
  search: (reader: SearchReader, key: SearchKey<Filter, Place>) => Promise<Page<Match, Place>>,
  filter: Filter,
  { tables = ON_SHARDS, first = 10 } = {},
): Promise<string[]> {
  const found: string[] = [];
  for (let after: Place | null | undefined; after !== null; ) {
    const { items, next } = await search({ prisma, tables }, { filter, first, after, lastSeen: true });
    found.push(...items.map((match) => ('place' in match ? match.place.domain : match.domain)));
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
      await foundBy(searchRecords, { ip: '192.0.2.1' }, { first }),
      await foundBy(
        searchRecords,
        { types: ['A'], network: { first: '192.0.2.0', last: '192.0.2.7' } },
        { first },
      ),
      await foundBy(searchHeaders, { name: 'server', value: 'nginx' }, { first }),
      await foundBy(searchHeaders, { name: 'server' }, { first }),
    ];
    expect(found).toEqual(found.map(() => ['a.example', 'c.example', 'd.example']));
    expect(secondReadings).toBeGreaterThan(0);
  },
);

test('on a cluster, a search with a part of a table that cannot be read fails as a database that is away, in place of finding less', async () => {
  changeStatement = (text) =>
    text
      .replace('success THEN', 'shardid <> 1 THEN')
      .replace('|| result', "|| 'failed to connect to a:5432'");
  const asked = foundBy(searchRecords, { ip: '192.0.2.1' });
  await expect(asked).rejects.toSatisfy(isDatabaseFailure);
});

test.each([
  ['in order', { text: '=9' }],
  ['by their value', { ip: '192.0.2.9', present: false }],
])(
  'on a cluster, a page of matches found %s ends where one part has rows that were not looked at',
  async (_, filter) => {
    changeStatement = (text) => text;
    expect(await foundBy(searchRecords, filter, { first: 1 })).toEqual(WANTED);
  },
);

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
