import { request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runDms } from '../journeys/dms-command.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { observationLine } from '../support/observations.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  service = await startTestService({ database, telemetry, rateLimits: { anonymous: 8, token: 100 } });
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

const telemetry = { metricsPort: 0, metricsHost: '127.0.0.1', traces: false };

/** The value of each series, by its name and labels. */
async function series({ metricsUrl } = service): Promise<Map<string, number>> {
  const response = await fetch(`${metricsUrl}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

function ask(query: string) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
  return fetch(`${service.url}/graphql`, { ...init, body: JSON.stringify({ query }) });
}

async function answers(requests: readonly Promise<Response>[]): Promise<void> {
  for (const response of await Promise.all(requests)) await response.text();
}

describe('the metrics, on a port of their own,', () => {
  test('count requests by API, operation and status, and never in a client’s own words', async () => {
    const get = (path: string, headers = {}) => fetch(service.url + path, { headers });
    await answers([
      get('/api/v1/domain/example.com'),
      get('/api/v1/domain/example.com'),
      get('/api/v1/domain/example.net'),
      get('/api/v1/domain/example.com/dns'),
      get('/api/v1/whatever-a-client-writes'),
      get('/whatever-a-client-writes'),
      get('/'),
      get('/graphql', { accept: 'text/html' }),
      ask('query WhateverAClientWrites { __typename }'),
      ask('{'),
    ]);
    const counted = (labels: string) => `dms_http_requests_total{${labels}}`;
    await vi.waitFor(
      async () =>
        expect([...(await series())].filter(([name]) => name.startsWith('dms_http_requests_total'))).toEqual(
          expect.arrayContaining([
            [counted('api="rest",operation="Get domain",status="200"'), 2],
            [counted('api="rest",operation="Get domain",status="404"'), 1],
            [counted('api="rest",operation="Domain DNS info",status="401"'), 1],
            [counted('api="rest",operation="unknown",status="404"'), 1],
            [counted('api="page",operation="page",status="404"'), 1],
            [counted('api="page",operation="page",status="200"'), 2],
            [counted('api="graphql",operation="query",status="200"'), 1],
            [counted('api="graphql",operation="query",status="400"'), 1],
          ]),
        ),
      { timeout: 60_000 },
    );
    const all = await series();
    expect([...all.keys()].join('\n')).not.toMatch(/whatever/i);
    const durations = 'dms_http_request_duration_seconds_count{api="rest",operation="Get domain"}';
    expect(all.get(durations)).toBe(3);
  });

  test('count the domains that one statement loads, and what the rate limit rejects', async () => {
    const names = Array.from(
      { length: 9 },
      (_, place) => `a${place}: domain(name: "example.com") { dnsRecords { __typename } }`,
    );
    const before = await series();
    await answers([ask(`{ ${names.join(' ')} }`)]);
    const after = await series();
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    const loaded = grown('dms_loader_batch_size_sum{loader="domainHistory"}');
    const rejected = grown('dms_rate_limit_rejections_total{policy="anonymous"}');
    expect([loaded + rejected, loaded > 0, rejected > 0]).toEqual([9, true, true]);
    expect(after.get('dms_loader_batch_duration_seconds_count{loader="domainHistory"}')).toBeGreaterThan(0);
  });

  test('tell of the connections to the database, and of the process', async () => {
    const client = await database.pool.connect();
    const all = await series();
    client.release();
    expect(all.get('dms_database_connections{pool="writing",state="busy"}')).toBeGreaterThanOrEqual(1);
    expect(all.has('dms_database_connections{pool="reading",state="idle"}')).toBe(true);
    expect(all.get('dms_database_connections_awaited{pool="reading"}')).toBe(0);
    for (const name of ['process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds']) {
      expect(all.has(name)).toBe(true);
    }
    expect(all.has('dms_observation_duration_seconds_count')).toBe(true);
  });

  test.each([
    ['reading', () => database.readPool],
    ['searching', () => database.searchPool],
    ['writing', () => database.pool],
  ])('tell the busy connections of the pool “%s”, and not those of the other', async (pool, poolOf) => {
    const busy = async () => (await series()).get(`dms_database_connections{pool="${pool}",state="busy"}`);
    const before = (await busy()) ?? 0;
    // More than other work may hold at times.
    const clients = await Promise.all(Array.from({ length: 4 }, () => poolOf().connect()));
    const held = await busy();
    for (const client of clients) client.release();
    expect(held).toBeGreaterThanOrEqual(before + 3);
  });

  test('are not on the port of the service', async () => {
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
  });

  test('have the probes beside them, and nothing else', async () => {
    const statusOf = async (path: string) => (await fetch(service.metricsUrl + path)).status;
    expect(await Promise.all(['/livez', '/readyz', '/', '/graphql'].map(statusOf))).toEqual([
      200, 200, 404, 404,
    ]);
  });
});

test('each rejection is counted under the name of the budget that is used up', async () => {
  const budgets = {
    rateLimits: { anonymous: 1, token: 1 },
  };
  const limited = await startTestService({ database, role: 'api', telemetry, ...budgets });
  const get = (headers: Record<string, string> = {}) =>
    fetch(`${limited.url}/api/v1/domain/example.com`, { headers });
  const askForNothing = () =>
    fetch(`${limited.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ __typename }"}',
    });
  const times = async (count: number, send: () => Promise<Response>) => {
    const statuses = [];
    for (let time = 0; time < count; time += 1) statuses.push((await send()).status);
    return statuses.filter((status) => status === 429).length;
  };
  const token = bearer(await limited.createToken());
  const wrong = bearer(`dms_${'A'.repeat(43)}`);
  const rejected = {
    anonymous: await times(2, () => get()),
    token: await times(3, () => get(token)),
  };
  rejected.anonymous += await times(4, askForNothing);
  rejected.anonymous += await times(5, () => get(wrong));
  const counted = await series(limited);
  await limited.stop();
  expect(rejected).toEqual({ anonymous: 1 + 4 + 5, token: 2 });
  const countOf = (policy: string) => counted.get(`dms_rate_limit_rejections_total{policy="${policy}"}`);
  expect(Object.fromEntries(Object.keys(rejected).map((policy) => [policy, countOf(policy)]))).toEqual(
    rejected,
  );
});

test('GraphQL’s failures are counted, whatever the status of the response', async () => {
  const failing = await startTestService({ database, telemetry });
  await database.pool.query('ALTER TABLE domain RENAME TO gone');
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const body = JSON.stringify({ query: '{ domain(name: "example.com") { name } }' });
  const response = await fetch(`${failing.url}/graphql`, { ...init, body });
  await database.pool.query('ALTER TABLE gone RENAME TO domain');
  expect(response.status).toBe(200);
  const metrics = await (await fetch(`${failing.metricsUrl}/metrics`)).text();
  await failing.stop();
  expect(metrics).toMatch(/^dms_graphql_failures_total\{code="INTERNAL"\} 1$/m);
  expect(metrics).toMatch(/^dms_graphql_failures_total\{code="UNAVAILABLE"\} 0$/m);
});

test('lines that other processes have imported are counted by outcome, from one import to the next', async () => {
  const lines = [
    { at: 1, records: ['192.0.2.1'] },
    { at: 2, records: ['192.0.2.1'] },
  ].map(observationLine);
  const importLines = () =>
    runDms(['import', '-'], database.environment, Readable.from(`${lines.join('\n')}\nno observation\n`));
  expect(await importLines()).toMatchObject({ code: 1 });
  await importLines();
  const imported = [...(await series())].filter(([name]) => name.startsWith('dms_import'));
  expect(Object.fromEntries(imported)).toEqual({
    'dms_import_lines_total{outcome="changed"}': 1,
    'dms_import_lines_total{outcome="unchanged"}': 1,
    'dms_import_lines_total{outcome="repeated"}': 1,
    'dms_import_lines_total{outcome="stale"}': 1,
    'dms_import_lines_total{outcome="rejected"}': 2,
  });
});

describe('without a port of their own', () => {
  let alone: TestService;
  beforeAll(async () => {
    alone = await startTestService({ database });
  });
  afterAll(() => alone.stop());

  async function statusWith(headers: Readonly<Record<string, string>>): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const asked = request(`${alone.url}/metrics`, { headers }, (response) => {
        text(response).then(() => resolve(response.statusCode), reject);
      });
      asked.on('error', reject).end();
    });
  }

  test.each(['127.0.0.1:4000', 'localhost', '[::1]:4000'])(
    'they are shown to a client on this machine that requests %s',
    async (host) => {
      expect(await statusWith({ host })).toBe(200);
    },
  );

  test.each([
    { 'x-forwarded-for': '192.0.2.1' },
    { forwarded: 'for=192.0.2.1' },
    { via: '1.1 proxy' },
    { origin: 'http://attacker.example' },
    { host: 'dms.example' },
    { host: '127.attacker.example' },
  ])('and not behind a proxy or to a page of another site: %j', async (headers) => {
    expect(await statusWith({ ...headers })).toBe(404);
  });
});

test.each([1, ['10.0.0.0/8']])(
  'without a port of their own, and with TRUST_PROXY=%s, they are not shown',
  async (trustProxy) => {
    const proxied = await startTestService({ database, trustProxy });
    const statuses = ['/metrics', '/livez'].map(async (path) => (await fetch(proxied.url + path)).status);
    const answered = await Promise.all(statuses);
    await proxied.stop();
    expect(answered).toEqual([404, 200]);
  },
);
