import { beforeEach, expect, test } from 'vitest';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { selectDnsEntries } from '../../src/resolvers/lists.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';
import { executeFreely, openExecutor } from '../support/graphql-executor.js';
import { FIRST_SEEN, insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

let executor: GraphqlExecutor;

const database = databaseOfFile(async (opened) => {
  executor = openExecutor(opened);
});
beforeEach(() => emptyTestDatabase(database));

async function data(source: string, variables = {}): Promise<unknown> {
  const result = await executeFreely(executor, source, variables);
  expect(result.errors).toBeUndefined();
  return JSON.parse(JSON.stringify(result.data));
}

test('one variable may be the types of one list and the names of another', async () => {
  await insertDomain(database.pool, { name: 'both.example' });
  await insertDnsRecords(database.pool, 'both.example', [
    { type: 'A', rdata: { ip: '192.0.2.7' } },
    { type: 'A', rdata: { ip: '192.0.2.8' }, removed: FIRST_SEEN + 1n },
    { type: 'AAAA', rdata: { ipv6: '2001:db8::1' } },
  ]);
  await insertHeaderChanges(database.pool, 'both.example', [{ name: 'a', observedAt: 0n, value: 'x' }]);
  const source = `query ($list: [String!]) { domain(name: "both.example") {
    dnsRecords(types: $list, present: false) { ... on ARecord { ip removed } } httpHeaders(names: $list) { name } } }`;
  const dnsRecords = [{ ip: '192.0.2.8', removed: '2024-03-01T10:20:30.123457Z' }];
  const domain = { dnsRecords, httpHeaders: [{ name: 'a' }] };
  expect(await data(source, { list: ['a'] })).toEqual({ domain });
});

const ENTRIES = Array.from({ length: 100 }, (_, at) => ({
  host: `h${at}`,
  class: 'IN',
  type: ['A', 'MX', 'NS'][at % 3] ?? '',
  firstSeen: 0n,
  removed: at % 2 === 0 ? null : 1n,
  lastSeen: null,
  of: { domain: 'example.com', at: undefined },
}));

test.each([
  [{ types: ['mx'] }, ['MX'], [true, false]],
  [{ types: ['type15'] }, ['MX'], [true, false]],
  [{ types: ['NS', 'a', 'A'] }, ['A', 'NS'], [true, false]],
  [{ types: ['A', 'HINFO'], present: true }, ['A'], [true]],
  [{ types: ['A', 'MX', 'NS'], present: false }, ['A', 'MX', 'NS'], [false]],
  [{ types: [] }, [], [true, false]],
  [{ types: ['TYPE300'] }, [], [true, false]],
  [{ present: true }, ['A', 'MX', 'NS'], [true]],
  [{ present: null, types: null }, ['A', 'MX', 'NS'], [true, false]],
])('a list of records has those that a filter selects, in their order: %j', (filter, types, present) => {
  const isSelected = ({ type, removed }: (typeof ENTRIES)[number]) =>
    types.includes(type) && present.includes(removed === null);
  expect(selectDnsEntries(ENTRIES, filter)).toEqual(ENTRIES.filter(isSelected));
});

test('a list of records is not filtered by what is not a type of records', () => {
  const message = 'types: no record can have the type "ANY".';
  const error = expect.objectContaining({ code: 'INVALID_PARAMETER', message });
  expect(() => selectDnsEntries([], { types: ['A', 'ANY'] })).toThrow(error);
});

test('httpHeaders shows each header with its history, and only the requested ones', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  await insertHeaderChanges(database.pool, 'a.example', [
    { name: 'server', observedAt: 0n, value: 'nginx' },
    { name: 'server', observedAt: 1n },
    { name: 'server', observedAt: 1_000_000n, value: 'caddy' },
    { name: 'via', observedAt: 0n, value: '' },
  ]);
  const source = `query ($names: [String!]) { domain(name: "a.example") {
    httpHeaders(names: $names) { name value history { event date new old } }
  } }`;
  const created = { event: 'created', date: '1970-01-01T00:00:00.000000Z', old: null };
  const updated = { event: 'updated', date: '1970-01-01T00:00:01.000000Z', old: 'nginx', new: 'caddy' };
  const server = { name: 'server', value: 'caddy', history: [{ ...created, new: 'nginx' }, updated] };
  const via = { name: 'via', value: '', history: [{ ...created, new: '' }] };
  expect(await data(source)).toEqual({ domain: { httpHeaders: [server, via] } });
  expect(await data(source, { names: ['SERVER', 'etag'] })).toEqual({ domain: { httpHeaders: [server] } });
  expect(await data(source, { names: [] })).toEqual({ domain: { httpHeaders: [] } });
});

test('a domain has its names, its numbers, and when it was recorded last', async () => {
  const name = 'www.xn--bcher-kva.example';
  await insertDomain(database.pool, { name });
  const record = { type: 'A', rdata: { ip: '192.0.2.1' }, removed: FIRST_SEEN };
  await insertDnsRecords(database.pool, name, [record]);
  await database.pool.query('UPDATE domain SET version = 9007199254740993, recorded_at = 1700000000000001');
  const source = `query ($name: String!) { domain(name: $name) {
    name unicodeName registrableDomain dnsRecordCount httpHeaderCount changeCount version recordedAt } }`;
  expect(await data(source, { name: 'WWW.Bücher.example.' })).toEqual({
    domain: {
      name,
      unicodeName: 'www.bücher.example',
      registrableDomain: 'xn--bcher-kva.example',
      dnsRecordCount: 1,
      httpHeaderCount: 0,
      changeCount: 2,
      version: '9007199254740993',
      recordedAt: '2023-11-14T22:13:20.000001Z',
    },
  });
});

test('a domain of which nothing is recorded is null, and a name that no domain can have the error INVALID_DOMAIN, beside all other data', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  const { data: found, errors } = await executeFreely(
    executor,
    `{ bad: domain(name: "192.0.2.1") { name } good: domain(name: "a.example") { name }
       nobody: domain(name: "nobody.example") { name } }`,
  );
  expect(found).toEqual({ bad: null, good: { name: 'a.example' }, nobody: null });
  expect(errors).toMatchObject([{ path: ['bad'], originalError: { code: 'INVALID_DOMAIN' } }]);
});
