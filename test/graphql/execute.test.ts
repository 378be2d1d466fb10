import { type ExecutionResult, execute, getOperationAST, parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.js';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { PublicError } from '../../src/model/errors.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { anonymous, callerOf, openExecutor, withToken } from '../support/graphql-executor.js';
import { FIRST_SEEN, insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

let database: TestDatabase;
let executor: GraphqlExecutor;

const target = 'target.example';
const SOA = { mname: target, rname: target, serial: 4_294_967_295, refresh: 1, retry: 2, expire: 3 };
const NAPTR = { order: 1, pref: 2, flags: 'u', services: 's', regex: '', replacement: target };
const EVERY_TYPE = [
  { type: 'A', rdata: { ip: '192.0.2.7' }, removed: FIRST_SEEN + 1n },
  { type: 'AAAA', rdata: { ipv6: '2001:db8::7' } },
  { type: 'NS', rdata: { target } },
  { type: 'SOA', rdata: { ...SOA, 'minimum-ttl': 0 } },
  { type: 'TXT', rdata: { txt: '"\\"😀\n', entries: ['"\\"', '😀\n'] } },
  { type: 'CNAME', rdata: { target } },
  { type: 'MX', rdata: { pri: 0, target } },
  { type: 'SRV', rdata: { pri: 1, weight: 2, port: 3, target } },
  { type: 'CAA', rdata: { flags: 128, tag: 'issue', value: '' } },
  { type: 'PTR', rdata: { target } },
  { type: 'NAPTR', rdata: NAPTR },
  { type: 'HINFO', rdata: { cpu: 'x', os: 'y' } },
  { type: 'HTTPS', rdata: { data: '1 . alpn=h2' } },
];

beforeAll(async () => {
  database = await openTestDatabase();
  executor = openExecutor(database);
  await insertDomain(database.pool, { name: 'a.example' });
  await insertDnsRecords(database.pool, 'a.example', EVERY_TYPE);
  await insertHeaderChanges(database.pool, 'a.example', [
    { name: 'server', observedAt: 1n, value: 'nginx' },
    { name: 'server', observedAt: 2n, value: 'caddy' },
    { name: 'via', observedAt: 1n, value: '1.1 a' },
  ]);
});
afterAll(() => database.close());

const HISTORY = `query History($name: String!, $types: [String!]) { domain(name: $name) {
  name unicodeName registrableDomain created lastUpdate lastChange dnsRecordCount httpHeaderCount changeCount
  dnsRecords(types: $types) {
    __typename
    ... on DnsRecordEntry { host class type firstSeen removed }
    ... on ARecord { ip } ... on AaaaRecord { ipv6 } ... on NsRecord { target } ... on CnameRecord { target }
    ... on SoaRecord { mname rname serial refresh retry expire minimumTtl } ... on TxtRecord { txt entries }
    ... on MxRecord { pri target } ... on SrvRecord { pri weight port target }
    ... on CaaRecord { flags tag value } ... on PtrRecord { target }
    ... on NaptrRecord { order pref naptrFlags services regex replacement }
    ... on HinfoRecord { cpu os } ... on OtherRecord { data }
  }
  httpHeaders { name value history { event date new old } }
} }`;

describe('a compiled operation gives what graphql-js gives', () => {
  test.each([
    ['every type of record', HISTORY, { name: 'a.example' }],
    ['a variable for a list', HISTORY, { name: 'a.example', types: ['a', 'TXT'] }],
    ['a domain that is not recorded', HISTORY, { name: 'nobody.example' }],
    ['an error beside data', '{ a: domain(name: "a.example") { name } b: domain(name: "..") { name } }', {}],
    [
      'fields of one name in several places',
      '{ domain(name: "a.example") { name name ...F } } fragment F on Domain { httpHeaders { value } httpHeaders { name } }',
      {},
    ],
    ['a variable that is missing', HISTORY, {}],
    ['a variable of another type', HISTORY, { name: 7 }],
    ['a list with null in it', HISTORY, { name: 'a.example', types: [null] }],
  ])('%s', async (_case, source, variables) => {
    const expected = await execute({
      schema: executor.schema,
      document: parse(source),
      contextValue: executor.contextFor(callerOf()),
      variableValues: variables,
    });
    const result = await runStored(executor, source, variables);
    expect(plain(result)).toEqual(plain(expected));
  });
});

/** As REST executes an operation, from the primary. */
function runStored(executor: GraphqlExecutor, source: string, variables = {}): Promise<ExecutionResult> {
  return executor.executeStored(executor.prepare(source), variables, callerOf(), executor.primary, false);
}

/** What a client can tell: the data as JSON, and of each error its place and the code of what was thrown. */
function plain({ data, errors }: ExecutionResult): unknown {
  const told = errors?.map(({ path, originalError }) => {
    return { path, code: originalError instanceof PublicError ? originalError.code : null };
  });
  return JSON.parse(JSON.stringify({ data, errors: told }));
}

test('an operation that the schema does not allow cannot be prepared', () => {
  expect(() => executor.prepare('{ domain { nonsense } }')).toThrow(/nonsense/);
  expect(() => executor.prepare('{ domain(')).toThrow(/Syntax Error/);
});

test.each([
  ['as graphql-js and compiled', HISTORY, { name: 'a.example' }],
  [
    'with an error beside data',
    '{ a: domain(name: "a.example") { name } b: domain(name: "..") { name } }',
    {},
  ],
  ['with variables that are wrong', HISTORY, { name: [7] }],
  ['with the alias __proto__', '{ __proto__: domain(name: "a.example") { __proto__: name } }', {}],
])("a client's document gives the same as often as it comes: %s", async (_how, source, variables) => {
  const document = parse(source, { noLocation: true });
  const operation = getOperationAST(document);
  if (operation == null) throw new Error('There is no operation.');
  const results = new Set<string>();
  for (let time = 0; time < 4; time += 1) {
    const context = executor.contextFor(callerOf());
    context.cost = executor.costs.of(document, operation, variables);
    const result = await executor.execute({ document, variableValues: variables, contextValue: context });
    results.add(JSON.stringify(plain(result)));
  }
  expect(results.size).toBe(1);
});

describe('the rate limits', () => {
  const limits = { anonymous: 3, token: 5 };
  const THREE =
    '{ a: domain(name: "a.example") { name } b: domain(name: "b.example") { name } c: domain(name: "c.example") { name } }';

  async function run(limited: GraphqlExecutor, source: string, viewer: Viewer, variables = {}) {
    const document = parse(source, { noLocation: true });
    const operation = getOperationAST(document);
    if (operation == null) throw new Error('There is no operation.');
    const context = limited.contextFor(callerOf(viewer));
    context.cost = limited.costs.of(document, operation, variables);
    return limited.execute({ document, variableValues: variables, contextValue: context });
  }

  test('count every alias, answer what is within them, and say when to come back', async () => {
    const limited = openExecutor(database, limits);
    const source = '{ a: domain(name: "a.example") { name } b: domain(name: "b.example") { name } }';
    expect((await run(limited, source, anonymous())).errors).toBeUndefined();
    const { data, errors } = await run(limited, source, anonymous());
    expect(data).toEqual({ a: { name: 'a.example' }, b: null });
    expect(errors).toHaveLength(1);
    expect(errors).toMatchObject([{ path: ['b'], originalError: { code: 'RATE_LIMITED' } }]);
    const retryAfter: unknown = Reflect.get(errors?.[0]?.originalError ?? {}, 'retryAfter');
    expect(retryAfter).toSatisfy(
      (seconds: number) => Number.isInteger(seconds) && seconds >= 1 && seconds <= 60,
    );
  });

  test('are one budget for each client, which no other client uses up', async () => {
    const limited = openExecutor(database, limits);
    for (const viewer of [anonymous('192.0.2.1'), anonymous('192.0.2.2'), withToken('192.0.2.1')]) {
      expect((await run(limited, THREE, viewer)).errors).toBeUndefined();
    }
    expect((await run(limited, THREE, anonymous('192.0.2.2'))).errors).toHaveLength(3);
  });

  test('are wider for clients with a token', async () => {
    const limited = openExecutor(database, limits);
    expect((await run(limited, THREE, withToken())).errors).toBeUndefined();
    expect((await run(limited, THREE, withToken())).errors).toHaveLength(1);
  });

  test('are one and the same for all operations of a process, and for what is charged besides', async () => {
    const limited = openExecutor(database, limits);
    expect((await run(limited, THREE, anonymous())).errors).toBeUndefined();
    const other = 'query ($name: String!) { domain(name: $name) { created } }';
    expect((await run(limited, other, anonymous(), { name: 'a.example' })).errors).toHaveLength(1);
    const viewer = anonymous();
    await expect(limited.charge({ viewer }, 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(viewer.rates).toMatchObject({ policy: { name: 'anonymous', limit: 3 }, remaining: 0 });
    await limited.charge({ viewer: withToken() }, 1);
  });

  test('are apart for a token and an address that read alike', async () => {
    const limited = openExecutor(database, { anonymous: 3, token: 3 });
    for (const viewer of [anonymous('same'), withToken('same')]) {
      expect((await run(limited, THREE, viewer)).errors).toBeUndefined();
      await expect(limited.charge({ viewer }, 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    }
  });

  test('grant the whole of a request to who has something left', async () => {
    const limited = openExecutor(database, { anonymous: 1, token: 1 });
    const source = '{ domains(names: ["a.example", "b.example", "c.example"]) { name } }';
    expect((await run(limited, source, anonymous())).errors).toBeUndefined();
    expect((await run(limited, source, anonymous())).errors).toHaveLength(1);
  });

  test('tell of each rejection, with the kind of its client', async () => {
    const rejected: Viewer['kind'][] = [];
    const onRateLimited = (kind: Viewer['kind']) => rejected.push(kind);
    const limited = openExecutor(database, { anonymous: 0, token: 0 }, { onRateLimited });
    await run(limited, '{ domain(name: "a.example") { name } }', withToken());
    await limited.charge({ viewer: anonymous() }, 1).catch(() => {});
    expect(rejected).toEqual(['token', 'anonymous']);
  });
});

test('a database that is away is an error of the field, not of the program', async () => {
  const gone = await openTestDatabase();
  const closed = openExecutor(gone);
  await gone.close();
  const result = await runStored(closed, '{ domain(name: "a.example") { name } }');
  expect(result).toMatchObject({ data: { domain: null }, errors: [{ path: ['domain'] }] });
});
