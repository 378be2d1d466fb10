import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type Caller, NEVER_GONE } from '../../src/limits/caller.js';
import { createLoaders, type Loaders } from '../../src/loaders/create-loaders.js';
import type { DomainHistory, DomainHistoryKey, HistoryParts } from '../../src/loaders/domain-history.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { FIRST_SEEN, insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

const NOTHING: HistoryParts = { dnsRecords: false, httpHeaders: false, counts: false, times: false };
const ALL: HistoryParts = { dnsRecords: true, httpHeaders: true, counts: true, times: false };

let database: TestDatabase;
let loaders: Loaders;

beforeAll(async () => {
  database = await openTestDatabase();
  loaders = createLoaders({ prisma: database.prisma, searchPrisma: database.prisma });
});
afterAll(() => database.close());
beforeEach(() => emptyTestDatabase(database));

function load(name: string, parts: Partial<DomainHistoryKey> = {}): Promise<DomainHistory | null> {
  return loaders.domainHistory.load({ ...NOTHING, ...parts, name }, { signal: NEVER_GONE });
}

async function loadAll(name: string): Promise<DomainHistory> {
  const history = await load(name, ALL);
  if (history === null) throw new Error(`${name} is not recorded.`);
  return history;
}

/** What is sent to the database meanwhile. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(pg.Pool.prototype, 'query');
  await work();
  const statements = query.mock.calls.map(([statement]) => JSON.stringify(statement));
  query.mockRestore();
  return statements;
}

test('domains that are requested at once cost one statement for every eight, for all clients together', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `d${index}.example`);
  await insertDomain(database.pool, { name: 'd7.example' });
  let found: (string | undefined)[] = [];
  const statements = await statementsOf(async () => {
    found = (await Promise.all(names.map((name) => load(name, ALL)))).map((history) => history?.name);
  });
  expect(statements).toHaveLength(Math.ceil(names.length / 8));
  expect(found).toEqual(names.map((name) => (name === 'd7.example' ? name : undefined)));
});

test('domains that one client requests at once are loaded a few at a time: another client does not wait for all of them', async () => {
  const order: string[] = [];
  const askFor = async (name: string, client: Pick<Caller, 'signal'>) => {
    await loaders.domainHistory.load({ ...ALL, name }, client);
    order.push(name);
  };
  const [one, other] = [{ signal: NEVER_GONE }, { signal: NEVER_GONE }];
  const many = Array.from({ length: 200 }, (_, at) => askFor(`d${at}.example`, one));
  await Promise.all([...many, askFor('other.example', other)]);
  expect(order.indexOf('other.example')).toBeLessThan(100);
});

test('domains that are requested at once come in their places, with each part that any of their clients needs', async () => {
  for (const name of ['a.example', 'b.example']) {
    await insertDomain(database.pool, { name });
    await insertDnsRecords(database.pool, name, [{ type: 'A', rdata: { ip: '192.0.2.1' } }]);
  }
  const [b, nobody, a, bAgain] = await Promise.all([
    load('b.example', { dnsRecords: true }),
    load('nobody.example', ALL),
    load('a.example', { counts: true }),
    load('b.example', { httpHeaders: true }),
  ]);
  expect(nobody).toBeNull();
  const counts = { dnsRecords: 1, httpHeaders: 0, changes: 1 };
  expect(a).toMatchObject({ name: 'a.example', dnsRecords: null, httpHeaders: null, counts });
  expect(b?.dnsRecords).toHaveLength(1);
  expect(bAgain).toMatchObject({ name: 'b.example', httpHeaders: [], counts: null });
});

const LARGE = 64 * 1024;

test.each([
  [LARGE, LARGE, [1, 1]],
  [LARGE + 1, LARGE, [undefined, 1]],
  [7, LARGE + 1, [1, undefined]],
  [70_000, 80_000, [undefined, undefined]],
])(
  'a large history has no lists, which are read by pages: of %i octets of records and %i of headers',
  async (dnsRecords, httpHeaders, lists) => {
    await insertDomain(database.pool, { name: 'a.example' });
    await insertDnsRecords(database.pool, 'a.example', [{ type: 'A', rdata: { ip: '192.0.2.1' } }]);
    await insertHeaderChanges(database.pool, 'a.example', [{ name: 'via', observedAt: 1n, value: '' }]);
    const update = 'UPDATE domain SET record_octets = $1, header_octets = $2';
    await database.pool.query(update, [dnsRecords, httpHeaders]);
    const history = await loadAll('a.example');
    expect([history.dnsRecords?.length, history.httpHeaders?.length]).toEqual(lists);
    if (dnsRecords > LARGE || httpHeaders > LARGE)
      expect(history.octets).toEqual({ dnsRecords, httpHeaders });
    expect(history.counts).toEqual({ dnsRecords: 1, httpHeaders: 1, changes: 2 });
  },
);

test('without a part, only the table of domains is read', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  const statements = await statementsOf(async () => {
    const [row, nobody] = await Promise.all([load('a.example'), load('nobody.example')]);
    expect(row).toMatchObject({ name: 'a.example', dnsRecords: null, httpHeaders: null, counts: null });
    expect(nobody).toBeNull();
  });
  expect(statements).toEqual([expect.not.stringMatching(/dns_record|header_change/)]);
});

test('nothing is kept: a change in the database shows in the next answer', async () => {
  expect(await load('a.example')).toBeNull();
  await insertDomain(database.pool, { name: 'a.example' });
  expect(await load('a.example')).not.toBeNull();
  await database.pool.query("UPDATE domain SET last_update = last_update + 1 WHERE name = 'a.example'");
  expect((await load('a.example'))?.lastUpdate).toBe(FIRST_SEEN + 1n);
});

test('times come back to the microsecond, from year 0 to 9999', async () => {
  const times = [-62_167_219_200_000_000n, -11_644_473_600_000_001n, -1n, 0n, 253_402_300_799_999_999n];
  const [created = 0n, lastUpdate = 0n] = [times[0], times.at(-1)];
  await insertDomain(database.pool, { name: 'a.example', created, lastUpdate, lastChange: -1n });
  await insertDnsRecords(
    database.pool,
    'a.example',
    times.map((firstSeen) => ({ type: 'A', rdata: { ip: '192.0.2.1' }, firstSeen, removed: firstSeen })),
  );
  await insertHeaderChanges(
    database.pool,
    'a.example',
    times.map((observedAt) => ({ name: 'server', observedAt, value: String(observedAt) })),
  );
  const { dnsRecords, httpHeaders, ...history } = await loadAll('a.example');
  expect(history).toMatchObject({ created, lastUpdate, lastChange: -1n });
  const stays = dnsRecords?.map(({ firstSeen, removed }) => [firstSeen, removed]);
  expect(stays).toEqual(times.map((time) => [time, time]));
  expect(httpHeaders?.[0]?.history.map(({ date }) => date)).toEqual(times);
});

test('records come by the time they were first seen, then by type and place', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  const written = [
    ['TXT', 2n],
    ['MX', 2n],
    ['MX', 2n],
    ['TXT', 1n],
    ['A', 3n],
  ] as const;
  await insertDnsRecords(
    database.pool,
    'a.example',
    written.map(([type, firstSeen], place) => ({ type, firstSeen, rdata: { data: `${place}` } })),
  );
  const { dnsRecords } = await loadAll('a.example');
  expect(dnsRecords?.map((record) => ('data' in record ? record.data : undefined))).toEqual([
    ...['3', '1', '2', '0', '4'],
  ]);
});

test('headers that went and came back tell whether they are present, and when they were last seen', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  await insertHeaderChanges(database.pool, 'a.example', [
    { name: 'age', observedAt: 1n, value: '' },
    { name: 'age', observedAt: 2n },
    { name: 'age', observedAt: 3n, value: '' },
    { name: 'server', observedAt: 1n, value: 'nginx' },
    { name: 'server', observedAt: 3n, value: 'caddy' },
    { name: 'server', observedAt: 5n },
  ]);
  const { httpHeaders, counts } = await loadAll('a.example');
  expect(httpHeaders).toMatchObject([
    { name: 'age', value: '', present: true, lastSeen: null },
    { name: 'server', value: 'caddy', present: false, lastSeen: 4n },
  ]);
  expect(counts).toMatchObject({ dnsRecords: 0, httpHeaders: 2, changes: 6 });
});

test('headers keep any value that can be stored, and follow the rules of 2.4 and 2.5', async () => {
  const value = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'));
  // An equal value is no change.
  const values = fc
    .array(value, { minLength: 1 })
    .map((drawn) => drawn.filter((text, at) => text !== drawn[at - 1]));
  const names = fc.uniqueArray(fc.stringMatching(/^[!#$%&'*+.^_`|~0-9a-z-]{1,9}$/), { maxLength: 5 });
  const headers = names.chain((keys) => fc.tuple(...keys.map((name) => fc.tuple(fc.constant(name), values))));
  await fc.assert(
    fc.asyncProperty(headers, async (drawn) => {
      await emptyTestDatabase(database);
      await insertDomain(database.pool, { name: 'a.example' });
      for (const [name, values] of drawn) {
        const rows = values.map((text, index) => ({ name, observedAt: BigInt(index), value: text }));
        await insertHeaderChanges(database.pool, 'a.example', rows);
      }
      const { httpHeaders } = await loadAll('a.example');
      expect(httpHeaders?.map(({ name }) => name)).toEqual(drawn.map(([name]) => name).sort());
      for (const { name, value: current, history } of httpHeaders ?? []) {
        const values = new Map(drawn).get(name);
        expect(history.map((item) => item.new)).toEqual(values);
        expect(history.map((item) => item.old)).toEqual([null, ...(values ?? [])].slice(0, -1));
        expect(history.map(({ event }) => event === 'created')).toEqual(
          values?.map((_, index) => index === 0),
        );
        expect(current).toBe(values?.at(-1));
      }
    }),
    { numRuns: 20 },
  );
});
