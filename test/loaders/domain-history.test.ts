import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
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

describe('what is requested at once', () => {
  test('costs one statement for every eight domains, for all clients together', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `d${index}.example`);
    await insertDomain(database.pool, { name: 'd7.example' });
    const query = vi.spyOn(pg.Pool.prototype, 'query');
    const histories = await Promise.all(names.map((name) => load(name, ALL)));
    expect(query).toHaveBeenCalledTimes(Math.ceil(names.length / 8));
    query.mockRestore();
    expect(histories.map((history) => history?.name)).toEqual(
      names.map((name) => (name === 'd7.example' ? name : undefined)),
    );
  });

  test('by one client, is loaded a few at a time: another client does not wait for all of them', async () => {
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

  test('is answered in its place, with each part that any of the clients of a domain needs', async () => {
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
    expect(a).toMatchObject({ name: 'a.example', dnsRecords: null, httpHeaders: null });
    expect(a?.counts).toEqual({ dnsRecords: 1, httpHeaders: 0, changes: 1 });
    expect(b?.dnsRecords).toHaveLength(1);
    expect(bAgain).toMatchObject({ name: 'b.example', httpHeaders: [], counts: null });
  });

  test('has no lists of a large history, which are read by pages, and its size', async () => {
    await insertDomain(database.pool, { name: 'a.example' });
    await insertDnsRecords(database.pool, 'a.example', [{ type: 'A', rdata: { ip: '192.0.2.1' } }]);
    await insertHeaderChanges(database.pool, 'a.example', [{ name: 'via', observedAt: 1n, value: '' }]);
    const LARGE = 64 * 1024;
    for (const [dnsRecords, httpHeaders, lists] of [
      [LARGE, LARGE, [1, 1]],
      [LARGE + 1, LARGE, [undefined, 1]],
      [7, LARGE + 1, [1, undefined]],
      [70_000, 80_000, [undefined, undefined]],
    ] as const) {
      const update = 'UPDATE domain SET record_octets = $1, header_octets = $2';
      await database.pool.query(update, [dnsRecords, httpHeaders]);
      const history = await loadAll('a.example');
      expect([history.dnsRecords?.length, history.httpHeaders?.length]).toEqual(lists);
      if (dnsRecords > LARGE || httpHeaders > LARGE)
        expect(history.octets).toEqual({ dnsRecords, httpHeaders });
      expect(history.counts).toEqual({ dnsRecords: 1, httpHeaders: 1, changes: 2 });
    }
  });

  test('does not load what is not needed: without a part, only the table of domains is read', async () => {
    await insertDomain(database.pool, { name: 'a.example' });
    const query = vi.spyOn(pg.Pool.prototype, 'query');
    const [row, nobody] = await Promise.all([load('a.example'), load('nobody.example')]);
    const statements = query.mock.calls.map(([statement]) => JSON.stringify(statement));
    query.mockRestore();
    expect(row).toEqual({
      ...{ name: 'a.example', created: FIRST_SEEN, lastUpdate: FIRST_SEEN, lastChange: FIRST_SEEN },
      ...{
        recordedAt: 0n,
        version: 1n,
        times: null,
        site: null,
        at: undefined,
        of: { domain: 'a.example', at: undefined },
      },
      ...{ dnsRecords: null, httpHeaders: null, counts: null, octets: { dnsRecords: 0, httpHeaders: 0 } },
    });
    expect(nobody).toBeNull();
    expect(statements).toHaveLength(1);
    expect(statements[0]).not.toMatch(/dns_record|header_change/);
  });
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
  const [created = 0n, , , , lastUpdate = 0n] = times;
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
  const history = await loadAll('a.example');
  expect(history).toMatchObject({ created, lastUpdate, lastChange: -1n });
  expect(history.dnsRecords?.map(({ firstSeen }) => firstSeen)).toEqual(times);
  expect(history.dnsRecords?.map(({ removed }) => removed)).toEqual(times);
  expect(history.httpHeaders?.[0]?.history.map(({ date }) => date)).toEqual(times);
});

test('a domain without any change has changed when it was created', async () => {
  await insertDomain(database.pool, { name: 'a.example', created: 5n, lastUpdate: 9n, lastChange: null });
  expect(await load('a.example')).toMatchObject({ created: 5n, lastUpdate: 9n, lastChange: 5n });
});

test('DNS entries come by the time they were first seen, then by type and place', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  await insertDnsRecords(database.pool, 'a.example', [
    { type: 'TXT', rdata: { txt: '0', entries: ['0'] }, firstSeen: 2n },
    { type: 'MX', rdata: { pri: 1, target: '1' }, firstSeen: 2n },
    { type: 'MX', rdata: { pri: 2, target: '2' }, firstSeen: 2n },
    {
      type: 'TXT',
      rdata: { txt: '3', entries: ['3'] },
      firstSeen: 1n,
      removed: 2n,
      host: 'x"\\032.a.example',
    },
    { type: 'A', rdata: { ip: '4' }, firstSeen: 3n, class: 'CH' },
  ]);
  const of = { domain: 'a.example', at: undefined };
  const common = { host: 'a.example', class: 'IN', removed: null, lastSeen: null, of };
  expect((await loadAll('a.example')).dnsRecords).toEqual([
    {
      ...common,
      type: 'TXT',
      firstSeen: 1n,
      removed: 2n,
      lastSeen: 1n,
      of,
      host: 'x"\\032.a.example',
      txt: '3',
      entries: ['3'],
    },
    { ...common, type: 'MX', firstSeen: 2n, pri: 1, target: '1' },
    { ...common, type: 'MX', firstSeen: 2n, pri: 2, target: '2' },
    { ...common, type: 'TXT', firstSeen: 2n, txt: '0', entries: ['0'] },
    { ...common, type: 'A', firstSeen: 3n, class: 'CH', ip: '4' },
  ]);
});

describe('HTTP headers', () => {
  test('that went and came back show their values, whether they are present, and when they were not', async () => {
    await insertDomain(database.pool, { name: 'a.example' });
    await insertHeaderChanges(database.pool, 'a.example', [
      { name: 'age', observedAt: 1n, value: '' },
      { name: 'age', observedAt: 2n },
      { name: 'age', observedAt: 3n, value: '' },
      { name: 'via', observedAt: 1n, value: 'one' },
      { name: 'server', observedAt: 1n, value: 'nginx' },
      { name: 'server', observedAt: 2n },
      { name: 'server', observedAt: 3n, value: 'nginx' },
      { name: 'server', observedAt: 4n, value: 'caddy' },
      { name: 'server', observedAt: 5n },
    ]);
    const history = await loadAll('a.example');
    const of = { domain: 'a.example', at: undefined };
    expect(history.httpHeaders).toEqual([
      {
        name: 'age',
        value: '',
        present: true,
        lastSeen: null,
        of,
        absences: [{ from: 2n, to: 3n, lastSeen: 1n }],
        history: [{ event: 'created', date: 1n, new: '', old: null }],
      },
      {
        name: 'server',
        value: 'caddy',
        present: false,
        lastSeen: 4n,
        of,
        absences: [
          { from: 2n, to: 3n, lastSeen: 1n },
          { from: 5n, to: null, lastSeen: 4n },
        ],
        history: [
          { event: 'created', date: 1n, new: 'nginx', old: null },
          { event: 'updated', date: 4n, new: 'caddy', old: 'nginx' },
        ],
      },
      {
        name: 'via',
        value: 'one',
        present: true,
        lastSeen: null,
        of,
        absences: [],
        history: [{ event: 'created', date: 1n, new: 'one', old: null }],
      },
    ]);
    expect(history.counts).toMatchObject({ dnsRecords: 0, httpHeaders: 3, changes: 9 });
  });

  test('keep any value that can be stored, and follow the rules of 2.4 and 2.5', async () => {
    const value = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'));
    // An equal value is no change.
    const values = fc
      .array(value, { minLength: 1 })
      .map((drawn) => drawn.filter((text, at) => text !== drawn[at - 1]));
    const names = fc.uniqueArray(fc.stringMatching(/^[!#$%&'*+.^_`|~0-9a-z-]{1,9}$/), { maxLength: 5 });
    const headers = names.chain((keys) =>
      fc.tuple(...keys.map((name) => fc.tuple(fc.constant(name), values))),
    );
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
});

test('the counts are those of all entries and of all changes', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  await insertDnsRecords(database.pool, 'a.example', [
    { type: 'A', rdata: { ip: '192.0.2.1' }, firstSeen: 1n, removed: 2n },
    { type: 'A', rdata: { ip: '192.0.2.1' }, firstSeen: 3n },
    { type: 'A', rdata: { ip: '192.0.2.2' }, firstSeen: 3n },
  ]);
  await insertHeaderChanges(database.pool, 'a.example', [
    { name: 'server', observedAt: 1n, value: 'nginx' },
    { name: 'server', observedAt: 2n },
  ]);
  expect((await loadAll('a.example')).counts).toMatchObject({ dnsRecords: 3, httpHeaders: 1, changes: 6 });
});
