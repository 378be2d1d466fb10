import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { selectDnsEntries } from '../../src/resolvers/lists.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { executeFreely, openExecutor } from '../support/graphql-executor.js';
import { FIRST_SEEN, insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

let database: TestDatabase;
let executor: GraphqlExecutor;

beforeAll(async () => {
  database = await openTestDatabase();
  executor = openExecutor(database);
});
afterAll(() => database.close());
beforeEach(() => emptyTestDatabase(database));

/** The data of a query, as JSON has it; the query must have no errors. */
async function data(source: string, variables = {}): Promise<unknown> {
  const result = await executeFreely(executor, source, variables);
  expect(result.errors).toBeUndefined();
  return JSON.parse(JSON.stringify(result.data));
}

test('one variable may be the types of one list and the names of another', async () => {
  await insertDomain(database.pool, { name: 'both.example' });
  await insertDnsRecords(database.pool, 'both.example', [{ type: 'A', rdata: { ip: '192.0.2.7' } }]);
  await insertHeaderChanges(database.pool, 'both.example', [{ name: 'a', observedAt: 0n, value: 'x' }]);
  const source = `query ($list: [String!]) { domain(name: "both.example") {
    dnsRecords(types: $list) { __typename } httpHeaders(names: $list) { name } } }`;
  const found = { domain: { dnsRecords: [{ __typename: 'ARecord' }], httpHeaders: [{ name: 'a' }] } };
  expect(await data(source, { list: ['a'] })).toEqual(found);
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
  { types: ['mx'] },
  { types: ['NS', 'a', 'A'] },
  { types: ['A', 'HINFO'], present: true },
  { types: ['A', 'MX', 'NS'], present: false },
  { types: [] },
  { types: ['TYPE300'] },
  { present: true },
  { present: null, types: null },
])('a list of records has those that a filter selects, in their order: %j', (filter) => {
  const { types, present }: { types?: string[] | null; present?: boolean | null } = filter;
  const selected = ENTRIES.filter(
    ({ type, removed }) =>
      (types == null || types.map((each) => each.toUpperCase()).includes(type)) &&
      (present == null || present === (removed === null)),
  );
  expect(selectDnsEntries(ENTRIES, filter)).toEqual(selected);
});

test('a list of records is filtered by a type under each of its names', () => {
  const [byName, byNumber] = [['mx'], ['type15']].map((types) => selectDnsEntries(ENTRIES, { types }));
  expect(byName?.length).toBeGreaterThan(0);
  expect(byNumber).toEqual(byName);
});

test.each([
  ['AAAAA', 'types: the type "AAAAA" is not known: write TYPE and its number, such as TYPE65534.'],
  ['', 'types: "" is not a mnemonic of DNS, such as MX or IN.'],
  ['ANY', 'types: no record can have the type "ANY".'],
])('a list of records is not filtered by %j, which is not a type of records', (type, message) => {
  const filter = () => selectDnsEntries([], { types: ['A', type] });
  expect(filter).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETER', message }));
});

test('dnsRecords has the records that its arguments select, and a record that is gone says when', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  await insertDnsRecords(database.pool, 'a.example', [
    { type: 'A', rdata: { ip: '192.0.2.1' }, removed: FIRST_SEEN + 1n },
    { type: 'AAAA', rdata: { ipv6: '2001:db8::1' } },
  ]);
  const entry = '{ ... on DnsRecordEntry { type removed } }';
  expect(
    await data(`{ domain(name: "a.example") {
      dnsRecords ${entry} present: dnsRecords(present: true, types: null) ${entry} gone: dnsRecords(types: ["a"]) ${entry}
    } }`),
  ).toEqual({
    domain: {
      dnsRecords: [
        { type: 'A', removed: '2024-03-01T10:20:30.123457Z' },
        { type: 'AAAA', removed: null },
      ],
      present: [{ type: 'AAAA', removed: null }],
      gone: [{ type: 'A', removed: '2024-03-01T10:20:30.123457Z' }],
    },
  });
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
  const [server, via] = [
    {
      name: 'server',
      value: 'caddy',
      history: [
        { event: 'created', date: '1970-01-01T00:00:00.000000Z', new: 'nginx', old: null },
        { event: 'updated', date: '1970-01-01T00:00:01.000000Z', new: 'caddy', old: 'nginx' },
      ],
    },
    {
      name: 'via',
      value: '',
      history: [{ event: 'created', date: '1970-01-01T00:00:00.000000Z', new: '', old: null }],
    },
  ];
  expect(await data(source)).toEqual({ domain: { httpHeaders: [server, via] } });
  expect(await data(source, { names: ['SERVER', 'etag'] })).toEqual({ domain: { httpHeaders: [server] } });
  expect(await data(source, { names: [] })).toEqual({ domain: { httpHeaders: [] } });
});

test('times are shown with six digits, in any year', async () => {
  const times = {
    created: -11_644_473_600_000_000n,
    lastChange: 100_000n,
    lastUpdate: 253_402_300_799_999_990n,
  };
  await insertDomain(database.pool, { name: 'a.example', ...times });
  expect(await data('{ domain(name: "a.example") { created lastChange lastUpdate } }')).toEqual({
    domain: {
      created: '1601-01-01T00:00:00.000000Z',
      lastChange: '1970-01-01T00:00:00.100000Z',
      lastUpdate: '9999-12-31T23:59:59.999990Z',
    },
  });
});

test('a domain tells when it was recorded last, and has a name for what is recorded since', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  const [version, recordedAt] = [9_007_199_254_740_993n, 1_700_000_000_000_001n];
  const update = 'UPDATE domain SET version = $1, recorded_at = $2 WHERE name = $3';
  await database.pool.query(update, [version, recordedAt, 'a.example']);
  expect(await data('{ domain(name: "a.example") { version recordedAt } }')).toEqual({
    domain: { version: '9007199254740993', recordedAt: '2023-11-14T22:13:20.000001Z' },
  });
});

test('a domain has its names and its numbers', async () => {
  await insertDomain(database.pool, { name: 'www.xn--bcher-kva.example' });
  await insertDnsRecords(database.pool, 'www.xn--bcher-kva.example', [
    { type: 'A', rdata: { ip: '192.0.2.1' }, removed: FIRST_SEEN },
  ]);
  const source = `query ($name: String!) { domain(name: $name) {
    name unicodeName registrableDomain dnsRecordCount httpHeaderCount changeCount
  } }`;
  expect(await data(source, { name: 'WWW.Bücher.example.' })).toEqual({
    domain: {
      name: 'www.xn--bcher-kva.example',
      unicodeName: 'www.bücher.example',
      registrableDomain: 'xn--bcher-kva.example',
      ...{ dnsRecordCount: 1, httpHeaderCount: 0, changeCount: 2 },
    },
  });
});

test('a domain of which nothing is recorded is null, without an error', async () => {
  expect(await data('{ domain(name: "nobody.example") { name } }')).toEqual({ domain: null });
});

test('a name that no domain can have is the error INVALID_DOMAIN, beside all other data', async () => {
  await insertDomain(database.pool, { name: 'a.example' });
  const { data: found, errors } = await executeFreely(
    executor,
    '{ bad: domain(name: "192.0.2.1") { name } good: domain(name: "a.example") { name } }',
  );
  expect(found).toEqual({ bad: null, good: { name: 'a.example' } });
  expect(errors).toMatchObject([{ path: ['bad'], originalError: { code: 'INVALID_DOMAIN' } }]);
});
