import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { type Caller, NEVER_GONE } from '../../src/limits/caller.js';
import { createLoaders, type Loaders } from '../../src/loaders/create-loaders.js';
import type { DomainHistory, HistoryParts } from '../../src/loaders/domain-history.js';
import { ClientGoneError } from '../../src/model/errors.js';
import { anyCharacter } from '../support/any-character.js';
import { databaseOfFile, emptyTestDatabase, statementsOf } from '../support/database.js';
import { insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

const ALL: HistoryParts = { dnsRecords: true, httpHeaders: true, counts: true };

let loaders: Loaders;

const database = databaseOfFile(async ({ prisma }) => {
  loaders = createLoaders({ prisma, searchPrisma: prisma });
});
beforeEach(() => emptyTestDatabase(database));

function load(name: string, parts: HistoryParts = {}): Promise<DomainHistory | null> {
  return loaders.domainHistory.load({ ...parts, name }, { signal: NEVER_GONE });
}

async function loadAll(name: string): Promise<DomainHistory> {
  const history = await load(name, ALL);
  if (history === null) throw new Error(`${name} is not recorded.`);
  return history;
}

test('domains that are requested at once cost one statement for every eight, for all clients together', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `d${index}.example`);
  const statements = await statementsOf(() => Promise.all(names.map((name) => load(name, ALL))));
  expect(statements).toHaveLength(Math.ceil(names.length / 8));
});

test('domains that one client requests at once are loaded a few at a time: another client does not wait for all of them', async () => {
  const order: string[] = [];
  const askFor = async (name: string, client: Pick<Caller, 'signal'>) => {
    await loaders.domainHistory.load({ ...ALL, name }, client);
    order.push(name);
  };
  const one = { signal: NEVER_GONE };
  const many = Array.from({ length: 200 }, (_, at) => askFor(`d${at}.example`, one));
  await Promise.all([...many, askFor('other.example', { signal: NEVER_GONE })]);
  expect(order.indexOf('other.example')).toBeLessThan(100);
});

test('nothing is sent to the database for a client that has gone', async () => {
  const ask = () => loaders.domainHistory.load({ name: 'a.example' }, { signal: { destroyed: true } });
  expect(await statementsOf(() => expect(ask()).rejects.toThrow(ClientGoneError))).toEqual([]);
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
  const statements = await statementsOf(() => Promise.all([load('a.example'), load('nobody.example')]));
  expect(statements).toEqual([expect.not.stringMatching(/dns_record|header_change/)]);
});

test('times come back to the microsecond, from year 0 to 9999', async () => {
  const times = [-62_167_219_200_000_000n, -11_644_473_600_000_001n, -1n, 0n, 253_402_300_799_999_999n];
  const [created = 0n, lastUpdate = 0n] = [times[0], times.at(-1)];
  await insertDomain(database.pool, { name: 'a.example', created, lastUpdate, lastChange: -1n });
  const record = { type: 'A', rdata: { ip: '192.0.2.1' } };
  const records = times.map((firstSeen) => ({ ...record, firstSeen, removed: firstSeen }));
  await insertDnsRecords(database.pool, 'a.example', records);
  const changes = times.map((observedAt) => ({ name: 'server', observedAt, value: String(observedAt) }));
  await insertHeaderChanges(database.pool, 'a.example', changes);
  const { dnsRecords, httpHeaders, ...history } = await loadAll('a.example');
  expect(history).toMatchObject({ created, lastUpdate, lastChange: -1n });
  const stays = dnsRecords?.map(({ firstSeen, removed }) => [firstSeen, removed]);
  expect(stays).toEqual(times.map((time) => [time, time]));
  expect(httpHeaders?.[0]?.history.map(({ date }) => date)).toEqual(times);
});

test('headers keep any value that can be stored', async () => {
  const value = fc.string({ unit: anyCharacter }).filter((text) => !text.includes('\0'));
  // An equal value is no change.
  const anyValues = fc
    .array(value, { minLength: 1 })
    .map((drawn) => drawn.filter((text, at) => text !== drawn[at - 1]));
  await fc.assert(
    fc.asyncProperty(anyValues, async (values) => {
      await emptyTestDatabase(database);
      await insertDomain(database.pool, { name: 'a.example' });
      const rows = values.map((text, index) => ({ name: 'x', observedAt: BigInt(index), value: text }));
      await insertHeaderChanges(database.pool, 'a.example', rows);
      const { httpHeaders } = await loadAll('a.example');
      expect(httpHeaders?.[0]?.history.map((item) => item.new)).toEqual(values);
    }),
    { numRuns: 20 },
  );
});
