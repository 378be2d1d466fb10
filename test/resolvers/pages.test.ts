import { expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { tablesOf } from '../../src/database/tables.js';
import type { FeedPage, FeedPlace } from '../../src/feed/change-feed.js';
import { Feed } from '../../src/feed/feed.js';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { loadHeaderPage } from '../../src/loaders/header-entries.js';
import { CHANGE_KINDS } from '../../src/model/change-kinds.js';
import { formatInstant } from '../../src/model/instant.js';
import { forget } from '../../src/recorder/forget.js';
import { databaseOfFile } from '../support/database.js';
import { anonymous, callerOf, executeFreely, openExecutor } from '../support/graphql-executor.js';
import { FIRST_SEEN, insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

let executor: GraphqlExecutor;

const database = databaseOfFile(async (opened) => {
  executor = openExecutor(opened);
  const { pool } = opened;
  for (const name of ['one.example', 'two.example']) {
    await insertDomain(pool, { name, created: 0n });
    await insertHeaderChanges(pool, name, [
      ...[1n, 2n, 3n].map((observedAt) => ({ name: 'server', observedAt, value: `nginx/${observedAt}` })),
      { name: 'content-security-policy', observedAt: 1n, value: longValue() },
      { name: 'content-security-policy', observedAt: 2n, lastSeen: 1n },
    ]);
  }
  await pool.query(`UPDATE domain SET http_first = 1, http_latest = 3, http_digest = ''`);
  const addresses = Array.from({ length: 3_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
  const records = addresses.map((ip) => ({ type: 'A', rdata: { ip } }));
  await insertDnsRecords(pool, 'one.example', records);
});

/** A value that PostgreSQL stores compressed. */
function longValue(): string {
  return Array.from({ length: 1_500 }, (_, at) => `https://${(at * 7919) % 1009}.example`).join(' ');
}

async function ask(query: string, variables = {}) {
  const viewer = { ...anonymous(), scopes: new Set(['search:read' as const]) };
  const { data, errors } = await executeFreely(executor, query, variables, viewer);
  const codes = errors?.map(({ originalError }) => Object(originalError).code);
  const paths = errors?.map(({ path }) => path?.join('.') ?? '');
  return { data: JSON.parse(JSON.stringify(data ?? null)), codes, paths };
}

async function fieldsOf(fields: string, name = 'one.example') {
  const { data, codes } = await ask(`{ domain(name: "${name}") { ${fields} } }`);
  expect(codes).toBeUndefined();
  return data.domain;
}

test('a header that is gone is gone on a page of headers, too, however long its value was', async () => {
  const fields = 'name present lastSeen';
  const { httpHeaders } = await fieldsOf(`httpHeaders { ${fields} }`);
  const found = [];
  for (let after = 'null'; after !== ''; ) {
    const page = `httpHeadersConnection(after: ${after}) { nodes { ${fields} } pageInfo { hasNextPage endCursor } }`;
    const { nodes, pageInfo } = (await fieldsOf(page)).httpHeadersConnection;
    found.push(...nodes);
    after = pageInfo.hasNextPage ? JSON.stringify(pageInfo.endCursor) : '';
  }
  expect(found).toEqual(httpHeaders);
  expect(found[0]).toMatchObject({ name: 'content-security-policy', present: false });
});

test('a list or page of a domain that cannot be given leaves its other fields', async () => {
  const query = `query ($from: Timestamp!, $to: Timestamp!) { domain(name: "two.example") {
    name
    dnsRecords(types: ["?"]) { __typename }
    dnsRecordsConnection(first: 0) { nodes { __typename } }
    httpHeadersConnection(after: "x") { nodes { name } }
    changes(first: 501) { nodes { id } }
    diff(from: $from, to: $to) { from }
    httpHeaders(names: ["server"]) { value historyConnection(first: 0) { nodes { new } } }
  } }`;
  const reversed = { from: '2024-01-02T00:00:00Z', to: '2024-01-01T00:00:00Z' };
  const { data, paths, codes } = await ask(query, reversed);
  expect(data.domain).toEqual({
    ...{ name: 'two.example', dnsRecords: null, dnsRecordsConnection: null, httpHeadersConnection: null },
    ...{ changes: null, diff: null, httpHeaders: [{ value: 'nginx/3', historyConnection: null }] },
  });
  expect(Object.fromEntries((paths ?? []).map((path, at) => [path, codes?.[at]]))).toEqual({
    'domain.dnsRecords': 'INVALID_PARAMETER',
    'domain.dnsRecordsConnection': 'INVALID_PARAMETER',
    'domain.httpHeadersConnection': 'INVALID_CURSOR',
    'domain.changes': 'INVALID_PARAMETER',
    'domain.diff': 'INVALID_PARAMETER',
    'domain.httpHeaders.0.historyConnection': 'INVALID_PARAMETER',
  });
});

test('as of an instant, a list, a page and the parts tell the same of what an absence shows since', async () => {
  const name = 'gone.example';
  await insertDomain(database.pool, { name, created: 1n });
  const update = `UPDATE domain SET http_first = 1, http_latest = 30, http_digest = '' WHERE name = $1`;
  await database.pool.query(update, [name]);
  await insertHeaderChanges(database.pool, name, [
    { name: 'server', observedAt: 1n, value: 'nginx' },
    { name: 'server', observedAt: 30n, lastSeen: 20n },
  ]);
  const { data } = await ask(
    `query ($at: Timestamp) { domain(name: "${name}", at: $at) {
       httpHeaders { lastSeen } httpHeadersConnection { nodes { name lastSeen } } parts { lastObserved } } }`,
    { at: formatInstant(25n) },
  );
  const lastSeen = formatInstant(20n);
  expect(data.domain).toEqual({
    httpHeaders: [{ lastSeen }],
    httpHeadersConnection: { nodes: [{ name: 'server', lastSeen }] },
    parts: [{ lastObserved: lastSeen }],
  });
});

test('a cursor of the history of a header is one of its domain', async () => {
  const page = (domain: string, after = '') =>
    ask(`{ domain(name: "${domain}") { httpHeaders(names: ["server"]) {
      historyConnection(first: 1 ${after}) { nodes { new } pageInfo { endCursor } } } } }`);
  const { data } = await page('one.example');
  const [{ historyConnection }] = data.domain.httpHeaders;
  const after = `after: "${historyConnection.pageInfo.endCursor}"`;
  const [next] = (await page('one.example', after)).data.domain.httpHeaders;
  expect(next.historyConnection.nodes).toEqual([{ new: 'nginx/2' }]);
  expect((await page('two.example', after)).codes).toEqual(['INVALID_CURSOR']);
});

test('one type of a domain with many present records of another is a complete page', async () => {
  const fields = `dnsRecords(types: ["TXT"]) { __typename }
    dnsRecordsConnection(types: ["TXT"], first: 10) { nodes { __typename } pageInfo { hasNextPage } }`;
  const dnsRecordsConnection = { nodes: [], pageInfo: { hasNextPage: false } };
  expect(await fieldsOf(fields)).toEqual({ dnsRecords: [], dnsRecordsConnection });
});

test('a name that no header can have is found nowhere', async () => {
  const found = await fieldsOf('httpHeadersConnection(names: ["a\\u0000", ""], first: 2) { nodes { name } }');
  expect(found).toEqual({ httpHeadersConnection: { nodes: [] } });
});

test('pages of headers have each in its order, however PostgreSQL joins', async () => {
  const names = Array.from({ length: 999 }, (_, at) => `x-${String(at + 1).padStart(3, '0')}`);
  await insertDomain(database.pool, { name: 'order.example' });
  await database.pool.query(
    `INSERT INTO header_change (domain, name, observed_at, value)
     SELECT 'order.example', name, 1, 'a' FROM unnest($1::text[]) AS name ORDER BY name DESC`,
    [names],
  );
  const other = await openDatabase({ ...database.options, poolSize: 1 });
  try {
    for (const method of ['nestloop', 'mergejoin', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort']) {
      await other.readPool.query(`SET enable_${method} = off`);
      for (const given of [undefined, names]) {
        const of = { domain: 'order.example', at: undefined };
        const key = { of, names: given, first: 2, history: false };
        const { items, next } = await loadHeaderPage(other.prisma, key);
        const found = [method, ...items.map(({ name }) => name), next?.name];
        expect(found).toEqual([method, 'x-001', 'x-002', 'x-002']);
      }
    }
  } finally {
    // The embedded database has one session for all.
    await other.readPool.query('RESET ALL');
    await other.close();
    await forget(database, ['order.example']);
  }
});

test('pageInfo tells where a page begins and ends, and that of another than the first that others precede it', async () => {
  const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
  const page = async (args: string) =>
    (await fieldsOf(`page: dnsRecordsConnection(${args}) { edges { cursor } ${pageInfo} }`)).page;
  const first = await page('first: 2');
  const [startCursor, endCursor] = first.edges.map(({ cursor }: { cursor: string }) => cursor);
  expect(first.pageInfo).toEqual({ hasNextPage: true, hasPreviousPage: false, startCursor, endCursor });
  const second = await page(`first: 2, after: "${endCursor}"`);
  expect(second.pageInfo).toMatchObject({ hasPreviousPage: true, startCursor: second.edges[0].cursor });
  const none = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null };
  expect((await page('present: false, first: 2')).pageInfo).toEqual(none);
});

test('a page has up to 100 entries where its size is not given, or null', async () => {
  for (const args of ['', '(first: null)']) {
    const { page } = await fieldsOf(`page: dnsRecordsConnection${args} { nodes { __typename } }`);
    expect(page.nodes).toHaveLength(100);
  }
});

const changesOf = (selection: string) =>
  `query ($at: Timestamp) { domain(name: "one.example", at: $at) {
     changes(kinds: [DNS_RECORD_ADDED], first: 2) { nodes { domain { ${selection} } } } } }`;

test('the domain of a change is as of the time that was asked for', async () => {
  const at = formatInstant(FIRST_SEEN + 7n);
  const { data, codes } = await ask(changesOf('name at dnsRecordCount'), { at });
  const domain = { name: 'one.example', at, dnsRecordCount: 3_000 };
  expect([codes, data.domain.changes.nodes]).toEqual([undefined, [{ domain }, { domain }]]);
});

test.each([
  ['__typename', 1],
  ['name unicodeName registrableDomain', 1],
  ['lastUpdate', 3],
])('the domain of a change is read for more than its names alone: %s', async (selection, loads) => {
  const load = vi.spyOn(executor.primary.domainHistory, 'load');
  await ask(changesOf(selection));
  expect(load).toHaveBeenCalledTimes(loads);
  load.mockRestore();
});

test('a page of the feed whose changes are erased while it is read loses nothing of what follows', async () => {
  const { rows } = await database.pool.query<{ number: string }>(
    `INSERT INTO change_feed (domain, observed_at, types, counts, octets, recorded_at)
     VALUES (NULL, 0, '{}', '{0,0,0,0,0,0}', 0, 7), ('gone.example', 0, '{A}', '{3,0,0,0,0,0}', 1, 7),
            ('gone.example', 1, '{A}', '{1,0,0,0,0,0}', 1, 7), ('one.example', ${FIRST_SEEN}, '{A}', '{3000,0,0,0,0,0}', 1, 7),
            (NULL, 0, '{}', '{0,0,0,0,0,0}', 0, 7)
     RETURNING number`,
  );
  const feed = new Feed(database.prisma, { tables: tablesOf(database.distribution) });
  const key = { first: 1, kinds: new Set(CHANGE_KINDS), newestFirst: false };
  const found: string[] = [];
  let after: FeedPlace | null = { number: BigInt(rows[0]?.number ?? 0), recordedAt: 7n, given: 0 };
  for (let pages = 0; pages < 10 && after !== null && found.length === 0; pages += 1) {
    // Its row says that there are three changes; they are not there any more.
    const page: FeedPage | null = await feed.page({ ...key, after }, callerOf());
    found.push(...(page?.items ?? []).map(({ domain }) => domain));
    after = page?.next ?? null;
  }
  expect(found).toEqual(['one.example']);
  await database.pool.query('DELETE FROM change_feed WHERE recorded_at = 7');
});

test('what is recorded of a domain while it is erased stays in the feed', async () => {
  await database.pool.query(
    `INSERT INTO change_feed (domain, observed_at, types, counts, octets, recorded_at)
     VALUES ('one.example', 0, '{A}', '{1,0,0,0,0,0}', 1, 1), ('gone.example', 0, '{A}', '{1,0,0,0,0,0}', 1, 1)`,
  );
  // As where the domain is recorded again between two statements: its row is there.
  await forget(database, ['gone.example']);
  const query = 'SELECT domain FROM change_feed WHERE recorded_at = 1 ORDER BY number';
  const { rows } = await database.pool.query(query);
  expect(rows).toEqual([{ domain: 'one.example' }, { domain: null }]);
});
