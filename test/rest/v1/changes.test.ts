import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { DOMAIN_CHANGE_KINDS } from '../../../src/model/change-kinds.js';
import { cursorsOf } from '../../../src/model/cursor.js';

import { TEST_SERVER } from '../../support/database.js';
import { insertDnsRecords, insertDomain, insertHeaderChanges } from '../../support/rows.js';
import { serviceOfFile } from '../../support/service.js';

const NAME = 'changes.example';
const SECOND = 1_000_000n;
const at = (second: number) => BigInt(second) * SECOND;

/** 40 addresses that came together and went together, and a header that went and returned. */
const service = serviceOfFile({}, async ({ database }) => {
  const { pool } = database;
  await insertDomain(pool, { name: NAME, created: SECOND, lastUpdate: at(9) });
  await insertDomain(pool, { name: 'other.example' });
  const stay = { firstSeen: SECOND, lastSeen: at(5), removed: at(6) };
  await insertDnsRecords(
    pool,
    NAME,
    Array.from({ length: 40 }, (_, last) => ({ type: 'A', rdata: { ip: `192.0.2.${last}` }, ...stay })),
  );
  await insertHeaderChanges(pool, NAME, [
    { name: 'server', observedAt: SECOND, value: 'a' },
    { name: 'server', observedAt: at(3), lastSeen: at(2) },
    { name: 'server', observedAt: at(4), value: 'a' },
    { name: 'server', observedAt: at(6), value: 'b' },
  ]);
});

interface Change {
  readonly kind: string;
  readonly date: string;
  readonly name?: string;
  readonly data?: { readonly type: string };
}

const get = (query: string, name = NAME) => service.rest(`/domain/${name}/changes${query}`);

const askDomain = async (selection: string, of = `name: "${NAME}"`) => {
  const { data } = await service.graphql(`{ domain(${of}) { ${selection} } }`);
  return data.domain;
};

async function pagesOf(name: string, query: string): Promise<Change[][]> {
  const pages = [];
  for (let after = ''; ; ) {
    const { body } = await get(`?${query}${after}`, name);
    pages.push(body.changes);
    if (body.next === null) return pages;
    after = `&after=${body.next}`;
  }
}

test('a page of changes has 100 unless the request says how many, and each change once', async () => {
  const { body } = await get('');
  expect([body.changes.length, body.next]).toEqual([84, null]);
  const pages = await pagesOf(NAME, 'first=30');
  expect(pages.map(({ length }) => length)).toEqual([30, 30, 24]);
  expect(pages.flat()).toEqual(body.changes);
});

test('the changes of one time come by kind, and each kind has its own fields', async () => {
  const { changes } = (await get('?from=1970-01-01T00:00:02Z')).body;
  const common = (kind: string, second: number) => ({
    id: expect.any(String),
    kind,
    date: `1970-01-01T00:00:0${second}.000000Z`,
    source: null,
    routine: null,
  });
  const name = 'server';
  const data = { host: NAME, class: 'IN', type: 'A', ip: '192.0.2.0' };
  const lastSeen = (second: number) => ({ lastSeen: `1970-01-01T00:00:0${second}.000000Z` });
  expect([...changes.slice(0, 3), changes.at(-1)]).toEqual([
    { ...common('HEADER_GONE', 3), name, old: 'a', new: null, ...lastSeen(2) },
    { ...common('HEADER_RETURNED', 4), name, old: null, new: 'a' },
    { ...common('DNS_RECORD_REMOVED', 6), data, rdata: '192.0.2.0', ...lastSeen(5) },
    // Recorded by an earlier version: when the old value was last seen is not known but by when it was new.
    { ...common('HEADER_UPDATED', 6), name, old: 'a', new: 'b', ...lastSeen(4) },
  ]);
});

test('the changes of a domain that is not recorded are a 404, and null in GraphQL', async () => {
  expect(await get('', 'nothing.example')).toMatchObject({ status: 404, body: { code: 'DOMAIN_NOT_FOUND' } });
  expect(await askDomain('changes(first: 1) { nodes { kind } }', 'name: "nothing.example"')).toBeNull();
});

test.each([
  ['?first=0', 'first must be an integer from 1 to 500.'],
  ['?first=501', 'first must be an integer from 1 to 500.'],
  ['?first=ten', 'first must be an integer from 1 to 500.'],
  ['?kinds=HEADER_GONE&kinds=GONE', expect.stringContaining('kinds: "GONE" is not one of DNS_RECORD_ADDED')],
  ['?from=2024-01-02&to=2024-01-01', expect.stringMatching(/^from, .*, is later than to, .*: exchange them/)],
  ['?types=%21', expect.stringContaining('types: "!" ')],
])('a question for changes that is not valid is rejected with what is wrong: %s', async (query, detail) => {
  expect(await get(query)).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER', detail } });
});

test.each([
  ['in another order', '?order=NEWEST_FIRST&after=NEXT'],
  ['of other kinds', '?kinds=DNS_RECORD_ADDED&after=NEXT'],
  ['of other types', '?types=MX&after=NEXT'],
  ['in another interval', '?to=2024-01-01T00:00:00Z&after=NEXT'],
  ['of another domain', '?after=NEXT', 'other.example'],
  ['that has more', '?after=NEXT.'],
])('a cursor %s is INVALID_CURSOR', async (_case, query, name = NAME) => {
  const { next } = (await get('?first=10')).body;
  const { status, body } = await get(query.replace('NEXT', next), name);
  expect([status, body.code]).toEqual([400, 'INVALID_CURSOR']);
});

const FIRST_PLACE = { date: '0n', kind: 0, firstSeen: '0n', type: 'A', position: 0 };

test.each([
  ['of no place', null],
  ['of too few values', { date: '0n' }],
  ['of too many values', { ...FIRST_PLACE, more: 0 }],
  ['of a time that is no number', { ...FIRST_PLACE, date: 'x' }],
  ['of a time beyond all', { ...FIRST_PLACE, date: `${'9'.repeat(30)}n` }],
  ['of a position beyond all', { ...FIRST_PLACE, position: 2 ** 40 }],
  ['of a text that cannot be stored', { ...FIRST_PLACE, kind: 2, type: '\0' }],
])('a cursor %s is INVALID_CURSOR, though it was made for the question', async (_case, place) => {
  const kinds = DOMAIN_CHANGE_KINDS.toSorted();
  const question = JSON.stringify(Object.entries({ kinds, newestFirst: false }));
  const cursors = cursorsOf(`changes ${NAME} ${question}`);
  // A place that is one, to see that the question is right.
  expect((await get(`?after=${cursors.write(FIRST_PLACE)}`)).status).toBe(200);
  const { status, body } = await get(`?after=${cursors.write(place)}`);
  expect([status, body.code]).toEqual([400, 'INVALID_CURSOR']);
});

test('a cursor of REST may be used with another length of the page, and in GraphQL', async () => {
  const { next } = (await get('?first=10')).body;
  expect((await get(`?first=3&after=${next}`)).body.changes).toHaveLength(3);
  const page = `changes(first: 2, after: "${next}") { nodes { date } edges { cursor } pageInfo { endCursor } }`;
  const { nodes, edges, pageInfo } = (await askDomain(page)).changes;
  expect([nodes.length, edges.at(-1).cursor]).toEqual([2, pageInfo.endCursor]);
});

test('as of a time, a domain has no later changes, and its records no later removals', async () => {
  const page = `changes(first: 100, order: NEWEST_FIRST) {
    nodes { kind ... on DnsRecordAdded { record { ... on DnsRecordEntry { removed } } } } pageInfo { hasNextPage } }`;
  const { changes } = await askDomain(page, `name: "${NAME}", at: "1970-01-01T00:00:04Z"`);
  const { nodes, pageInfo } = changes;
  expect([nodes.length, nodes[0].kind, pageInfo.hasNextPage]).toEqual([43, 'HEADER_RETURNED', false]);
  expect(nodes.at(-1)).toEqual({ kind: 'DNS_RECORD_ADDED', record: { removed: null } });
});

test('pages of long records are shorter, and have each change once', async () => {
  const { pool } = service.database;
  const name = 'long.example';
  await insertDomain(pool, { name });
  const entries = Array<string>(65_000).fill('');
  const rdata = (number: number) => ({ txt: `${number}`, entries });
  const records = Array.from({ length: 9 }, (_, number) => ({ type: 'TXT', rdata: rdata(number) }));
  await insertDnsRecords(pool, name, records);
  const headers = Array.from({ length: 12 }, (_, number) => ({
    name: 'a',
    observedAt: BigInt(number),
    // Each value goes before the next one comes.
    ...(number % 2 === 0 && { value: randomBytes(30_000).toString('hex') }),
  }));
  await insertHeaderChanges(pool, name, headers);
  const pages = await pagesOf(name, '');
  expect(Math.max(...pages.map((page) => JSON.stringify(page).length))).toBeLessThan(700_000);
  const found = pages.flat().map((change) => JSON.stringify(change));
  expect([found.length, new Set(found).size]).toEqual([21, 21]);
});

describe('when records in changes and differences were last seen', () => {
  const askSeen = (selection: string, time = '') => askDomain(selection, `name: "seen.example"${time}`);

  beforeAll(async () => {
    const { pool } = service.database;
    await insertDomain(pool, { name: 'seen.example', created: SECOND, lastUpdate: at(10) });
    await pool.query(
      `UPDATE domain SET dns_first = $1, dns_latest = $2, dns_types = '{"A":{"digest":""}}' WHERE name = 'seen.example'`,
      [SECOND, at(10)],
    );
    await insertDnsRecords(pool, 'seen.example', [
      { type: 'A', rdata: { ip: '192.0.2.1' }, firstSeen: SECOND, lastSeen: at(4), removed: at(5) },
      { type: 'A', rdata: { ip: '192.0.2.2' }, firstSeen: SECOND },
    ]);
  });

  const SEEN = '... on DnsRecordEntry { removed lastSeen }';
  const CHANGES = `nodes { ... on DnsRecordAdded { record { ${SEEN} } } }`;
  const time = (second: string) => `1970-01-01T00:00:${second}Z`;

  test('a removed record in changes was last seen as the record says, also in an interval that ends before its removal', async () => {
    const interval = `kinds: [DNS_RECORD_ADDED], to: "${time('04.5')}"`;
    expect((await askSeen(`changes(first: 9, ${interval}) { ${CHANGES} }`)).changes.nodes).toEqual([
      { record: { removed: time('05.000000'), lastSeen: time('04.000000') } },
      { record: { removed: null, lastSeen: time('10.000000') } },
    ]);
  });

  test('records in changes as of an instant were last seen up to it, whatever is selected beside them', async () => {
    const then = `, at: "${time('04.5')}"`;
    const seen = { removed: null, lastSeen: time('04.000000') };
    const changes = { nodes: [{ record: seen }, { record: seen }] };
    expect(await askSeen(`changes(first: 9) { ${CHANGES} }`, then)).toEqual({ changes });
    const both = `changes(first: 9) { ${CHANGES} } dnsRecords { ${SEEN} }`;
    expect(await askSeen(both, then)).toEqual({ changes, dnsRecords: [seen, seen] });
  });

  test.each([
    ['02', ['01.000000', '01.000000']],
    ['04.5', ['04.000000', '04.000000']],
    ['11', ['10.000000']],
  ])('records of a difference up to second %s were last seen at seconds %j', async (to, seconds) => {
    const times = `from: "${time('00')}", to: "${time(to)}"`;
    const { diff } = await askSeen(`diff(${times}) { dnsRecordsAdded { ${SEEN} } }`);
    const seen = seconds.map((second) => ({ removed: null, lastSeen: time(second) }));
    expect(diff).toEqual({ dnsRecordsAdded: seen });
  });
});

const ORDERS = ['OLDEST_FIRST', 'NEWEST_FIRST'];

describe('changes of types and names', () => {
  const name = 'kinds.example';
  const MANY = 10_500;

  /** An address for each second, with a mail server and two headers in between. */
  beforeAll(async () => {
    const { pool } = service.database;
    await insertDomain(pool, { name, created: SECOND, lastUpdate: at(MANY) });
    await pool.query(
      `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata, removed, last_seen)
       SELECT $1, second * 1000000::bigint, 'A', 0, $1, 'IN', '{"ip":"192.0.2.1"}'::json, (second + 1) * 1000000::bigint,
              second * 1000000::bigint
         FROM generate_series(0, $2::int - 1) AS second`,
      [name, MANY],
    );
    const mail = { type: 'MX', rdata: { pri: 10, target: 'mail.example' } };
    await insertDnsRecords(pool, name, [
      { ...mail, firstSeen: at(1), lastSeen: at(2), removed: at(3) },
      { ...mail, firstSeen: at(MANY - 5), lastSeen: at(MANY) },
    ]);
    const changes = ['server', 'via'].flatMap((header) =>
      [1, 2, 3].map((second) => ({ name: header, observedAt: at(second), value: `${header} ${second}` })),
    );
    await insertHeaderChanges(pool, name, changes);
  });

  test.each(ORDERS)('changes of types and names are these alone, each once: %s', async (order) => {
    const added = 'DNS_RECORD_ADDED 00:00:01 MX';
    const removed = 'DNS_RECORD_REMOVED 00:00:03 MX';
    const again = 'DNS_RECORD_ADDED 02:54:55 MX';
    const created = 'HEADER_CREATED 00:00:01 server';
    const second = 'HEADER_UPDATED 00:00:02 server';
    const third = 'HEADER_UPDATED 00:00:03 server';
    for (const [query, expected] of [
      ['types=mx', [added, removed, again]],
      ['headers=Server', [created, second, third]],
      ['types=MX&headers=server', [added, created, second, removed, third, again]],
      ['types=MX&headers=server&kinds=HEADER_CREATED', [created]],
      ['types=MX&kinds=HEADER_CREATED', []],
      ['types=NS', []],
    ] as const) {
      const pages = await pagesOf(name, `first=100&order=${order}&${query}`);
      const found = pages
        .flat()
        .map(({ kind, date, name, data }) => `${kind} ${date.slice(11, 19)} ${name ?? data?.type}`);
      expect([query, found]).toEqual([query, order === 'OLDEST_FIRST' ? expected : expected.toReversed()]);
    }
  });

  test('a page looks at a bounded number of records, and says where it ended', async () => {
    const pages = await pagesOf(name, 'first=100&types=MX&order=NEWEST_FIRST');
    expect(pages.length).toBeGreaterThanOrEqual(2);
    expect(pages.flat()).toHaveLength(3);
  });
});

// The embedded database has one session: a lock would hold up the row, too.
describe.skipIf(TEST_SERVER === undefined)('a domain that changes after its row was read', () => {
  const name = 'racing.example';
  const LOCK = 'BEGIN; LOCK TABLE header_change IN ACCESS EXCLUSIVE MODE';
  const IS_WAITING = `SELECT FROM pg_locks WHERE relation = 'header_change'::regclass AND mode = 'AccessShareLock' AND NOT granted`;

  beforeAll(async () => {
    const { pool } = service.database;
    await insertDomain(pool, { name, created: SECOND, lastUpdate: at(9) });
    await insertHeaderChanges(pool, name, [{ name: 'server', observedAt: SECOND, value: 'a' }]);
  });

  /** Requests its changes, which wait for the table of headers until something else is committed. */
  async function getWhile(change: (client: PoolClient) => Promise<void>) {
    const { pool } = service.database;
    const client = await pool.connect();
    try {
      await client.query(LOCK);
      const response = get('', name);
      await vi.waitUntil(async () => (await pool.query(IS_WAITING)).rowCount !== 0, { timeout: 5_000 });
      await change(client);
      await client.query('COMMIT');
      return await response;
    } finally {
      // Where it failed, the connection has the lock, which ends with it.
      client.release(true);
    }
  }

  test('an entity tag and its page of changes are of one state, whatever is recorded meanwhile', async () => {
    const { fields, body } = await getWhile(async (client) => {
      await client.query(
        `INSERT INTO header_change (domain, name, observed_at, value) VALUES ($1, 'server', $2, 'v2')`,
        [name, at(2)],
      );
      await client.query('UPDATE domain SET version = 2 WHERE name = $1', [name]);
    });
    expect(body.changes).toHaveLength(2);
    expect(fields.get('etag')).toMatch(/^W\/"2-/);
  });

  test('changes are not found where the domain is erased meanwhile', async () => {
    const { status, body } = await getWhile(async (client) => {
      await client.query('DELETE FROM header_change WHERE domain = $1', [name]);
      await client.query('DELETE FROM domain WHERE name = $1', [name]);
    });
    expect([status, body.code]).toEqual([404, 'DOMAIN_NOT_FOUND']);
  });
});
