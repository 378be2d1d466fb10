import { execute, parse } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillForQuestions } from '../../bench/questions/fill.js';
import { Prisma } from '../../src/database/generated/client.js';
import { inTransaction } from '../../src/database/transaction.js';
import { createGraphqlExecutor } from '../../src/graphql/execute.js';
import { createLoaders } from '../../src/loaders/create-loaders.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { anonymous } from '../support/graphql-executor.js';

let database: TestDatabase;
/** The statements of the latest question, each with its values. */
const sent: { readonly text: string; readonly values: unknown[] }[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  const client = await database.pool.connect();
  try {
    await fillForQuestions(client, 3_000);
  } finally {
    client.release();
  }
});
afterAll(() => database.close());

async function ask(query: string) {
  const prisma = new Proxy(database.prisma, {
    get(client, name) {
      if (name !== '$queryRaw') return Reflect.get(client, name);
      return (strings: TemplateStringsArray, ...values: unknown[]) => {
        const { text, values: parameters } = Prisma.sql(strings, ...values);
        sent.push({ text, values: parameters });
        return client.$queryRaw(strings, ...values);
      };
    },
  });
  const loaders = createLoaders(prisma);
  const executor = createGraphqlExecutor({ loaders, rateLimits: { anonymous: 100_000, token: 100_000 } });
  const viewer = { ...anonymous(), scopes: new Set(['search:read' as const]) };
  return execute({
    schema: executor.schema,
    document: parse(query),
    contextValue: executor.contextFor(viewer),
  });
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly Plan[];
}

function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan;
  for (const inner of plan.Plans ?? []) yield* nodesOf(inner);
}

/** The plan that takes an index wherever one can be taken: of few rows, reading all takes less time. */
async function planOf({ text, values }: (typeof sent)[number]): Promise<Plan> {
  return inTransaction(database.pool, async (client) => {
    await client.query('SET LOCAL enable_seqscan = off');
    const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
    return rows[0]['QUERY PLAN'][0].Plan;
  });
}

const RECORDS = 'nodes { domain { name } record { ... on DnsRecordEntry { host lastSeen } } }';
const HEADERS = 'nodes { domain { name } value from to }';
const LATER = '2024-01-01T01:00:00Z';

test.each([
  ['records by address', `dnsRecords(where: { ip: "10.1.0.7" }, first: 100) { ${RECORDS} }`],
  ['records by network', `dnsRecords(where: { network: "10.1.0.0/28" }, first: 100) { ${RECORDS} }`],
  [
    'records by an IPv6 network',
    `dnsRecords(where: { network: "2001:db8:0:1::/120" }, first: 100) { ${RECORDS} }`,
  ],
  [
    'records by a host in their data',
    `dnsRecords(where: { target: "ns1.provider40.example" }, first: 100) { ${RECORDS} }`,
  ],
  [
    'records by hosts below a name',
    `dnsRecords(where: { target: "*.provider40.example" }, first: 100) { ${RECORDS} }`,
  ],
  [
    'records by a part of a text',
    `dnsRecords(where: { text: "verification=27" }, first: 100) { ${RECORDS} }`,
  ],
  ['records by a part without trigrams', `dnsRecords(where: { text: "=1 " }, first: 100) { ${RECORDS} }`],
  ['records by owner name', `dnsRecords(where: { host: "shop10.net" }, first: 100) { ${RECORDS} }`],
  ['records by a pattern of owner names', `dnsRecords(where: { host: "*op27*" }, first: 100) { ${RECORDS} }`],
  [
    'records by types, presence and times',
    `dnsRecords(where: { target: "ns1.provider40.example", types: ["NS"], present: false, seenFrom: "${LATER}" }, first: 100) { ${RECORDS} }`,
  ],
  [
    'records as of a time',
    `dnsRecords(where: { ip: "10.1.0.7", at: "${LATER}" }, first: 100) { nodes { domain { name } record { __typename } } }`,
  ],
  [
    'headers by value',
    `httpHeaders(where: { name: "server", value: "nginx/1.7.0" }, first: 100) { ${HEADERS} }`,
  ],
  ['headers by a part', `httpHeaders(where: { name: "etag", contains: "a1b" }, first: 100) { ${HEADERS} }`],
  [
    'headers by a part without trigrams',
    `httpHeaders(where: { name: "etag", contains: "--d" }, first: 100) { ${HEADERS} }`,
  ],
  ['domains by suffix', 'searchDomains(match: "*27.net", first: 100) { nodes { name created } }'],
  ['domains by prefix', 'searchDomains(match: "blog27*", first: 100) { nodes { name created } }'],
  ['domains by a part', 'searchDomains(match: "*og27*", first: 100) { nodes { name created } }'],
  [
    'domains below a registrable domain',
    'searchDomains(registrableDomain: "shop10.net", first: 100) { nodes { name } }',
  ],
  ['domains by time of creation', `searchDomains(createdTo: "${LATER}", first: 100) { nodes { name } }`],
  [
    'domains by time of change',
    'searchDomains(changedFrom: "2024-06-30T00:00:00Z", changedTo: "2024-06-30T01:00:00Z", first: 100) { nodes { name } }',
  ],
  ['all domains', 'searchDomains(first: 100) { nodes { name } }'],
  ['the feed', 'changes(first: 100) { nodes { id ... on DnsRecordAdded { record { __typename } } } }'],
  ['the feed, backwards', 'changes(first: 100, order: NEWEST_FIRST) { nodes { id } }'],
  [
    'present records of a domain',
    'domain(name: "shop10.net") { dnsRecordsConnection(first: 100, present: true) { nodes { __typename } } }',
  ],
  [
    'records of a domain by type',
    'domain(name: "shop10.net") { dnsRecordsConnection(first: 100, types: ["NS", "MX"]) { nodes { __typename } } }',
  ],
  [
    'headers of a domain',
    'domain(name: "shop10.net") { httpHeadersConnection(first: 100) { nodes { name history { new } historyConnection(first: 10) { nodes { new } } } } }',
  ],
])('a question reads no table as a whole: %s', async (_kind, field) => {
  sent.length = 0;
  const { errors } = await ask(`{ ${field} }`);
  expect(errors).toBeUndefined();
  expect(sent.length).toBeGreaterThan(0);
  for (const statement of sent) {
    const scans = [...nodesOf(await planOf(statement))].filter((node) => node['Node Type'] === 'Seq Scan');
    expect(scans.map((node) => `${node['Relation Name']}: ${statement.text}`)).toEqual([]);
  }
});
