import express from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { createGraphqlOverHttp } from '../../src/graphql/over-http.js';
import { forget } from '../../src/recorder/forget.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { anonymous, openExecutor } from '../support/graphql-executor.js';
import { insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

let database: TestDatabase;
let executor: GraphqlExecutor;

beforeAll(async () => {
  database = await openTestDatabase();
  executor = openExecutor(database);
  for (const name of ['one.example', 'two.example']) {
    await insertDomain(database.pool, { name, created: 0n });
    await insertHeaderChanges(database.pool, name, [
      ...[1n, 2n, 3n].map((observedAt) => ({ name: 'server', observedAt, value: `nginx/${observedAt}` })),
      { name: 'content-security-policy', observedAt: 1n, value: longValue() },
      { name: 'content-security-policy', observedAt: 2n, lastSeen: 1n },
    ]);
  }
  await database.pool.query(`UPDATE domain SET http_first = 1, http_latest = 3, http_digest = ''`);
  await insertDnsRecords(
    database.pool,
    'one.example',
    Array.from({ length: 3_000 }, (_, position) => ({
      type: 'A',
      position,
      rdata: { ip: `10.0.${position >> 8}.${position & 255}` },
    })),
  );
});
afterAll(() => database.close());

/** A value that PostgreSQL stores compressed. */
function longValue(): string {
  return Array.from({ length: 1_500 }, (_, at) => `https://${(at * 7919) % 1009}.example`).join(' ');
}

async function ask(query: string) {
  const viewer = { ...anonymous(), scopes: new Set(['search:read' as const]) };
  const { data, errors } = await executor.executeStored(executor.prepare(query), {}, viewer);
  const codes = errors?.map(
    ({ originalError }) => originalError && 'code' in originalError && originalError.code,
  );
  return { data: JSON.parse(JSON.stringify(data ?? null)), codes };
}

test('a header that is gone is gone on a page of headers, too, however long its value was', async () => {
  const fields = 'name present lastSeen';
  const whole = await ask(`{ domain(name: "one.example") { httpHeaders { ${fields} } } }`);
  const page = await ask(
    `{ domain(name: "one.example") { httpHeadersConnection(first: 10) { nodes { ${fields} } pageInfo { hasNextPage endCursor } } } }`,
  );
  const { nodes, pageInfo } = page.data.domain.httpHeadersConnection;
  expect(nodes[0]).toEqual(whole.data.domain.httpHeaders[0]);
  expect(nodes[0].present).toBe(false);
  const rest = pageInfo.hasNextPage
    ? (
        await ask(
          `{ domain(name: "one.example") { httpHeadersConnection(first: 10, after: "${pageInfo.endCursor}") { nodes { ${fields} } } } }`,
        )
      ).data.domain.httpHeadersConnection.nodes
    : [];
  expect([...nodes, ...rest]).toEqual(whole.data.domain.httpHeaders);
});

test('a cursor of the history of a header is one of its domain', async () => {
  const page = (domain: string, after = '') =>
    ask(
      `{ domain(name: "${domain}") { httpHeaders(names: ["server"]) { historyConnection(first: 1 ${after}) { nodes { new } pageInfo { endCursor } } } } }`,
    );
  const { data } = await page('one.example');
  const [{ historyConnection }] = data.domain.httpHeaders;
  const after = `after: "${historyConnection.pageInfo.endCursor}"`;
  expect((await page('one.example', after)).data.domain.httpHeaders[0].historyConnection.nodes).toEqual([
    { new: 'nginx/2' },
  ]);
  expect((await page('two.example', after)).codes).toEqual(['INVALID_CURSOR']);
});

test('one type of a domain with many present records of another is a complete page', async () => {
  const { data } = await ask(
    '{ domain(name: "one.example") { dnsRecords(types: ["TXT"]) { __typename } dnsRecordsConnection(types: ["TXT"], first: 10) { nodes { __typename } pageInfo { hasNextPage } } } }',
  );
  expect(data.domain).toEqual({
    dnsRecords: [],
    dnsRecordsConnection: { nodes: [], pageInfo: { hasNextPage: false } },
  });
});

test.each([
  'httpHeadersConnection(names: ["a\\u0000"], first: 2)',
  'httpHeadersConnection(names: [""], first: 2)',
])('a name that no header can have is found nowhere: %s', async (field) => {
  const { data, codes } = await ask(`{ domain(name: "one.example") { ${field} { nodes { name } } } }`);
  expect([codes, data]).toEqual([undefined, { domain: { httpHeadersConnection: { nodes: [] } } }]);
});

test('the number of headers is right where one of them has most of the changes', async () => {
  await database.pool.query(
    `INSERT INTO header_change (domain, name, observed_at, value)
     SELECT 'two.example', 'date', number, number::text FROM generate_series(1, 100000) AS number
     UNION ALL SELECT 'two.example', 'x-' || number, 1, '' FROM generate_series(1, 20000) AS number`,
  );
  const { data } = await ask('{ statistics { httpHeaders } }');
  expect(data.statistics.httpHeaders).toBeGreaterThan(15_000);
  expect(data.statistics.httpHeaders).toBeLessThan(25_000);
});

test('each domain whose history is read for a search is paid for', async () => {
  const graphql = await createGraphqlOverHttp(executor, {
    viewerOf: () => ({ ...anonymous(), scopes: new Set(['search:read']) }),
    onInternalError: () => {},
    introspection: true,
    sandbox: false,
    maxCost: 100_000,
  });
  const cost = async (field: string) => {
    const response = await supertest(express().use('/graphql', graphql.handle))
      .post('/graphql')
      .send({ query: `{ ${field} }` });
    expect(response.body.errors).toBeUndefined();
    return response.body.extensions.cost;
  };
  for (const fields of ['nodes { HERE }', 'edges { node { HERE } }']) {
    const field = `searchDomains(first: 10) { ${fields} }`;
    expect([
      await cost(field.replace('HERE', 'name created')),
      await cost(field.replace('HERE', 'changeCount')),
    ]).toEqual([1, 3]);
  }
  const matches = 'dnsRecords(where: { network: "10.0.0.0/29" }, first: 10) { nodes { domain { HERE } } }';
  expect([
    await cost(matches.replace('HERE', 'name')),
    await cost(matches.replace('HERE', 'httpHeaderCount')),
  ]).toEqual([1, 9]);
});

test('what is recorded of a domain while it is erased stays in the feed', async () => {
  await database.pool.query(
    `INSERT INTO change_feed (domain, observed_at, types, counts, octets, recorded_at)
     VALUES ('one.example', 0, '{A}', '{1,0,0,0,0,0}', 1, 1), ('gone.example', 0, '{A}', '{1,0,0,0,0,0}', 1, 1)`,
  );
  // As where the domain is recorded again between two statements: its row is there.
  await forget(database.writingPrisma, ['gone.example']);
  const { rows } = await database.pool.query(
    'SELECT domain FROM change_feed WHERE recorded_at = 1 ORDER BY number',
  );
  expect(rows).toEqual([{ domain: 'one.example' }, { domain: null }]);
});
