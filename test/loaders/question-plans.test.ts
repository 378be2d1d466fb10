import { execute, parse } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { fillForQuestions } from '../../bench/questions/fill.js';
import { openDatabase } from '../../src/database/client.js';
import { Prisma } from '../../src/database/generated/client.js';
import { ON_SERVER, type Tables, tablesOf } from '../../src/database/tables.js';
import { inTransaction } from '../../src/database/transaction.js';
import { Feed } from '../../src/feed/feed.js';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { createLoaders } from '../../src/loaders/create-loaders.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { standInForCitus } from '../support/citus.js';
import { databaseOfFile, IS_POOLED, TEST_SERVER } from '../support/database.js';
import { anonymous, callerOf, openExecutor } from '../support/graphql-executor.js';
import { observation } from '../support/observations.js';

/** The statements of the latest question, each with its values. */
const sent: { readonly text: string; readonly values: unknown[] }[] = [];

const database = databaseOfFile(async ({ pool }) => {
  await standInForCitus(pool);
  const client = await pool.connect();
  try {
    await fillForQuestions(client, 3_000);
  } finally {
    client.release();
  }
});

async function ask(query: string, tables = ON_SERVER) {
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
  const loaders = createLoaders({ prisma, searchPrisma: prisma }, { tables });
  const feed = new Feed(prisma, { tables });
  return executeBy(openExecutor(database, undefined, { loaders, feed }), query);
}

function executeBy(executor: GraphqlExecutor, query: string) {
  const viewer = { ...anonymous(), scopes: new Set(['search:read' as const]) };
  const contextValue = executor.contextFor(callerOf(viewer));
  return execute({ schema: executor.schema, document: parse(query), contextValue });
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Rows Removed by Filter'?: number;
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

const LATER = '2024-01-01T01:00:00Z';
const records = (where: string) => `dnsRecords(where: { ${where} }, first: 100) {
  nodes { domain { name } record { ... on DnsRecordEntry { host lastSeen } } } }`;
const headers = (where: string) => `httpHeaders(where: { ${where} }, first: 100) {
  nodes { domain { name } value from to } }`;
const domains = (where: string) =>
  `searchDomains(where: { ${where} }, first: 100) { nodes { name created } }`;
const own = (field: string) => `domain(name: "shop10.net") { ${field} }`;
const target = 'target: "ns1.provider40.example"';
const VALUES = 'historyConnection(first: 10) { nodes { new } }';

test.each([
  ['records by address', records('ip: "10.1.0.7"')],
  ['records by network', records('network: "10.1.0.0/28"')],
  ['records by an IPv6 network', records('network: "2001:db8:0:1::/120"')],
  ['records by a host in their data', records(target)],
  ['records by hosts below a name', records('target: "*.provider40.example"')],
  ['records by a part of a text', records('text: "verification=27"')],
  ['records by a part without trigrams', records('text: "=1 "')],
  ['records by owner name', records('host: "shop10.net"')],
  ['records by a pattern of owner names', records('host: "*op27*"')],
  ['records by presence and times', records(`${target}, types: ["NS"], present: false, seenTo: "${LATER}"`)],
  ['records as of a time', records(`ip: "10.1.0.7", at: "${LATER}"`)],
  ['headers by value', headers('name: "server", value: "nginx/1.7.0"')],
  ['headers by a part', headers('name: "etag", contains: "a1b"')],
  ['headers by a part without trigrams', headers('name: "etag", contains: "--d"')],
  ['domains by suffix', domains('match: "*27.net"')],
  ['domains by prefix', domains('match: "blog27*"')],
  ['domains by a part', domains('match: "*og27*"')],
  ['domains below a registrable domain', domains('registrableDomain: "shop10.net"')],
  ['domains by time of creation', domains(`createdTo: "${LATER}"`)],
  ['domains by time of change', domains(`changedFrom: "${LATER}", changedTo: "2024-01-01T02:00:00Z"`)],
  ['all domains', domains('')],
  ['the feed', 'changes(first: 100) { nodes { id ... on DnsRecordAdded { record { __typename } } } }'],
  ['the feed, backwards', 'changes(first: 100, order: NEWEST_FIRST) { nodes { id } }'],
  ['present records of a domain', own('dnsRecordsConnection(present: true) { nodes { __typename } }')],
  ['records of a domain by type', own('dnsRecordsConnection(types: ["NS", "MX"]) { nodes { __typename } }')],
  ['headers of a domain', own(`httpHeadersConnection { nodes { name history { new } ${VALUES} } }`)],
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

describe('what no index finds comes in pages of a bounded number of rows, to the last match, on a cluster as on a server', () => {
  beforeAll(async () => {
    // Of more domains than a page reads, which have none of what is sought.
    await database.pool.query(`
      WITH name AS (SELECT number || '.none.example' AS name FROM generate_series(1, 5000) AS number),
      record AS (
        INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
        SELECT name, 1, 'A', 0, name, 'IN', '{"ip":"192.0.2.1"}' FROM name)
      INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types, record_octets, header_octets)
      SELECT name, 1, 1, 1, 1, '{}', 0, 0 FROM name`);
  });

  /** All matches, and how many pages had fewer than were wanted. */
  async function all(field: string, condition: string, nodes: string, tables: Tables) {
    const found: string[] = [];
    let shorter = 0;
    for (let after: string | null = null; ; ) {
      const page: string = `{ page: ${field}(where: { ${condition} }, first: 100, after: ${JSON.stringify(after)}) {
        nodes { ${nodes} } pageInfo { hasNextPage endCursor } } }`;
      const { data, errors } = await ask(page, tables);
      expect(errors).toBeUndefined();
      const { page: read } = JSON.parse(JSON.stringify(data));
      found.push(...read.nodes.map((node: unknown) => JSON.stringify(node)));
      if (!read.pageInfo.hasNextPage) return { found, shorter };
      shorter += Number(read.nodes.length < 100);
      after = read.pageInfo.endCursor;
    }
  }

  test.each([
    ['dnsRecords', 'text: "n=9"', 'domain { name } record { ... on DnsRecordEntry { host } }'],
    ['httpHeaders', 'name: "etag", contains: "bb-"', 'domain { name } value from to'],
  ])('%s', async (field, condition, nodes) => {
    const onServer = await all(field, condition, nodes, ON_SERVER);
    const onCluster = await all(field, condition, nodes, tablesOf({ kind: 'shards', count: 1 }));
    expect(onServer.found.length).toBeGreaterThan(0);
    expect(onCluster.found).toEqual(onServer.found);
    expect(onServer.shorter).toBeGreaterThan(0);
  });
});

/** How many blocks of the database's files a statement reads. */
async function blocksOf({ text, values }: (typeof sent)[number]): Promise<number> {
  const { rows } = await database.pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
  const { Plan: plan } = rows[0]['QUERY PLAN'][0];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

describe('the last pages of a long list of records read no more than the first', () => {
  beforeAll(async () => {
    const addresses = (at: number) =>
      Array.from({ length: 20 }, (_, one) => `10.${one}.${at >> 8}.${at & 255}`);
    const looks = Array.from({ length: 500 }, (_, at) => ({ at, records: addresses(at) }));
    const observed = looks.map((look) => observation({ domain: 'long.example', ...look }));
    await createRecorder(database.pool).record(observed);
    await database.pool.query('VACUUM ANALYZE dns_record');
  }, 60_000);

  test.each(['', 'types: ["A"], present: false, '])('with the arguments "%s"', async (condition) => {
    const page = (after: string, first: number) =>
      ask(`{ domain(name: "long.example") { dnsRecordsConnection(${condition}first: ${first}, after: ${after}) {
        nodes { __typename } pageInfo { hasNextPage endCursor } } } }`);
    const blocksAfter = async (after: string) => {
      sent.length = 0;
      await page(after, 10);
      return blocksOf(sent.at(-1) ?? { text: '', values: [] });
    };
    let after = 'null';
    for (let pages = 0; pages < 19; pages += 1) {
      const { data } = await page(after, 500);
      const { pageInfo } = JSON.parse(JSON.stringify(data)).domain.dnsRecordsConnection;
      expect(pageInfo.hasNextPage).toBe(true);
      after = JSON.stringify(pageInfo.endCursor);
    }
    expect(await blocksAfter(after)).toBeLessThan(1.5 * (await blocksAfter('null')));
  });
});

test.skipIf(TEST_SERVER === undefined || IS_POOLED)(
  'questions are planned with their values, however often they come: a plan for any interval may read a whole history',
  async () => {
    const one = await openDatabase({ ...database.options, poolSize: 1 });
    const executor = openExecutor(one);
    const question = `{
      domain(name: "d0000001.example") {
        changes(first: 9, from: "2024-01-01T00:00:00Z", to: "2026-01-01T00:00:00Z") { nodes { id } }
        dnsRecordsConnection(first: 9) { nodes { __typename } }
        httpHeadersConnection(first: 9) { nodes { historyConnection(first: 9) { nodes { date } } } }
      }
      dnsRecords(first: 9, where: { network: "10.1.0.0/28" }) { nodes { domain { name } } }
      httpHeaders(first: 9, where: { name: "server", contains: "nginx" }) { nodes { value } }
      searchDomains(first: 9, where: { match: "*.example", changedFrom: "2024-01-01T00:00:00Z" }) { nodes { name } }
      changes(first: 9) { nodes { id } }
    }`;
    for (let time = 0; time < 7; time += 1)
      expect((await executeBy(executor, question)).errors).toBeUndefined();
    const prepared = await one.prisma.$queryRaw<{ statement: string }[]>`
      SELECT statement FROM pg_prepared_statements WHERE NOT from_sql AND statement !~ 'pg_prepared_statements'`;
    await one.close();
    // The domain's row, whose plan is the same for every name.
    expect(prepared.map(({ statement }) => /FROM (\w+)/.exec(statement)?.[1])).toEqual(['domain']);
  },
);

test('of a zone with many names, a page reads a bounded number of them', async () => {
  await database.pool.query(
    `INSERT INTO known_name (name)
     SELECT number || '.large.example' FROM generate_series(1, 10000) AS number
     UNION ALL SELECT number || '.other.example' FROM generate_series(1, 40000) AS number`,
  );
  await database.pool.query('ANALYZE known_name');
  sent.length = 0;
  await ask('{ searchDomains(where: { registrableDomain: "large.example" }, first: 1) { nodes { name } } }');
  const [first] = sent;
  if (first === undefined) throw new Error('Nothing was read.');
  const { rows } = await database.pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${first.text}`, first.values);
  const read = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)]
    .filter((node) => node['Relation Name'] === 'known_name' || node['Index Name']?.startsWith('known_name'))
    .map((node) => Number(node['Actual Rows']) + Number(node['Rows Removed by Filter'] ?? 0));
  expect(read.length).toBeGreaterThan(0);
  expect(Math.max(...read)).toBeLessThan(3_000);
});
