import { once } from 'node:events';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runDms } from '../journeys/dms-command.js';
import { graphqlRequest } from '../support/ask.js';
import { databaseOfFile } from '../support/database.js';
import { aliases } from '../support/every-field.js';
import { observationLine } from '../support/observations.js';
import { insertDomain } from '../support/rows.js';
import { bearer, serviceOfFile, startServiceForTest } from '../support/service.js';

const telemetry = { metricsPort: 0, metricsHost: '127.0.0.1', traces: false };

const database = databaseOfFile(({ pool }) => insertDomain(pool, { name: 'example.com' }));
const rateLimits = { anonymous: 8, token: 100 };
const service = serviceOfFile(() => ({ database, telemetry, rateLimits }));
const withoutPort = serviceOfFile(() => ({ database }));

async function series({ metricsUrl } = service): Promise<Map<string, number>> {
  const response = await fetch(`${metricsUrl}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

test('metrics count requests by API, operation and status, and never in a client’s own words', async () => {
  for (const [path, init] of [
    ['/api/v1/domain/example.com', {}],
    ['/api/v1/domain/example.com', {}],
    ['/api/v1/domain/example.net', {}],
    ['/api/v1/domain/example.com/dns', {}],
    ['/api/v1/whatever-a-client-writes', {}],
    ['/whatever-a-client-writes', {}],
    ['/', {}],
    ['/graphql', { headers: { accept: 'text/html' } }],
    ['/graphql', graphqlRequest('query WhateverAClientWrites { __typename }')],
    ['/graphql', graphqlRequest('{')],
  ] as const)
    await (await service.fetch(path, init)).text();
  const expected = [
    ['api="rest",operation="Get domain",status="200"', 2],
    ['api="rest",operation="Get domain",status="404"', 1],
    ['api="rest",operation="Domain DNS info",status="401"', 1],
    ['api="rest",operation="unknown",status="404"', 1],
    ['api="page",operation="page",status="404"', 1],
    ['api="page",operation="page",status="200"', 2],
    ['api="graphql",operation="query",status="200"', 1],
    ['api="graphql",operation="query",status="400"', 1],
  ].map(([labels, count]) => [`dms_http_requests_total{${labels}}`, count]);
  const counted = async () => [...(await series())];
  await expect.poll(counted, { timeout: 60_000 }).toEqual(expect.arrayContaining(expected));
  const all = await series();
  expect([...all.keys()].join('\n')).not.toMatch(/whatever/i);
  const durations = 'dms_http_request_duration_seconds_count{api="rest",operation="Get domain"}';
  expect(all.get(durations)).toBe(3);
});

test('metrics count the domains that one statement loads, and what the rate limit rejects', async () => {
  const field = 'domain(name: "example.com") { dnsRecords { __typename } }';
  const before = await series();
  await service.graphql(`{ ${aliases(9, field)} }`);
  const after = await series();
  const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const loaded = grown('dms_loader_batch_size_sum{loader="domainHistory"}');
  const rejected = grown('dms_rate_limit_rejections_total{policy="anonymous"}');
  expect([loaded + rejected, loaded > 0, rejected > 0]).toEqual([9, true, true]);
  expect(after.get('dms_loader_batch_duration_seconds_count{loader="domainHistory"}')).toBeGreaterThan(0);
});

test('metrics tell of the process, and of requests that wait for a connection', async () => {
  const all = await series();
  expect(all.get('dms_database_connections_awaited{pool="reading"}')).toBe(0);
  for (const name of [
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_p99_seconds',
    'dms_observation_duration_seconds_count',
    'dms_database_connections{pool="reading",state="idle"}',
  ])
    expect([name, all.has(name)]).toEqual([name, true]);
});

test.each([
  ['reading', () => database.readPool],
  ['searching', () => database.searchPool],
  ['writing', () => database.pool],
])('metrics tell the busy connections of the pool “%s”, and not those of the other', async (pool, poolOf) => {
  const busy = async () => (await series()).get(`dms_database_connections{pool="${pool}",state="busy"}`);
  const before = (await busy()) ?? 0;
  // More than other work may hold at times.
  const clients = await Promise.all(Array.from({ length: 4 }, () => poolOf().connect()));
  const held = await busy();
  for (const client of clients) client.release();
  expect(held).toBeGreaterThanOrEqual(before + 3);
});

test('metrics on a port of their own are not on that of the service, and have the probes beside them, and nothing else', async () => {
  expect((await service.fetch('/metrics')).status).toBe(404);
  const statusOf = async (path: string) => (await fetch(service.metricsUrl + path)).status;
  const statuses = await Promise.all(['/livez', '/readyz', '/', '/graphql'].map(statusOf));
  expect(statuses).toEqual([200, 200, 404, 404]);
});

test('each rejection is counted under the name of the budget that is used up', async () => {
  const one = { anonymous: 1, token: 1 };
  const limited = await startServiceForTest({ database, role: 'api', telemetry, rateLimits: one });
  const get = (headers = {}) => limited.rest('/domain/example.com', headers);
  const rejections = async (count: number, send: () => Promise<{ readonly status: number }>) => {
    let rejected = 0;
    for (let time = 0; time < count; time += 1) rejected += Number((await send()).status === 429);
    return rejected;
  };
  const token = bearer(await limited.createToken());
  expect([
    await rejections(2, () => get()),
    await rejections(3, () => get(token)),
    await rejections(4, () => limited.graphql('{ __typename }')),
    await rejections(5, () => get(bearer(`dms_${'A'.repeat(43)}`))),
  ]).toEqual([1, 2, 4, 5]);
  const counted = await series(limited);
  const of = (policy: string) => counted.get(`dms_rate_limit_rejections_total{policy="${policy}"}`);
  expect([of('anonymous'), of('token')]).toEqual([1 + 4 + 5, 2]);
});

test('GraphQL’s failures are counted, whatever the status of the response', async () => {
  const failing = await startServiceForTest({ database, telemetry });
  await database.pool.query('ALTER TABLE domain RENAME TO gone');
  const { status } = await failing.graphql('{ domain(name: "example.com") { name } }');
  await database.pool.query('ALTER TABLE gone RENAME TO domain');
  const failures = await series(failing);
  const of = (code: string) => failures.get(`dms_graphql_failures_total{code="${code}"}`);
  expect([status, of('INTERNAL'), of('UNAVAILABLE')]).toEqual([200, 1, 0]);
});

test('lines that other processes have imported are counted by outcome, from one import to the next', async () => {
  const lines = [1, 2].map((at) => observationLine({ at, records: ['192.0.2.1'] }));
  for (const _time of [1, 2]) {
    const input = Readable.from(`${lines.join('\n')}\nno observation\n`);
    expect(await runDms(['import', '-'], database.environment, input)).toMatchObject({ code: 1 });
  }
  const imported = [...(await series())].filter(([name]) => name.startsWith('dms_import'));
  expect(Object.fromEntries(imported)).toEqual({
    'dms_import_lines_total{outcome="changed"}': 1,
    'dms_import_lines_total{outcome="unchanged"}': 1,
    'dms_import_lines_total{outcome="repeated"}': 1,
    'dms_import_lines_total{outcome="stale"}': 1,
    'dms_import_lines_total{outcome="rejected"}': 2,
  });
});

test.each([
  [200, { host: '127.0.0.1:4000' }],
  [200, { host: 'localhost' }],
  [200, { host: '[::1]:4000' }],
  [404, { 'x-forwarded-for': '192.0.2.1' }],
  [404, { forwarded: 'for=192.0.2.1' }],
  [404, { via: '1.1 proxy' }],
  [404, { origin: 'http://attacker.example' }],
  [404, { host: 'dms.example' }],
  [404, { host: '127.attacker.example' }],
])('metrics without a port of their own are for this machine alone: %i for %j', async (status, fields) => {
  const sent = request(`${withoutPort.url}/metrics`, { headers: { ...fields } }).end();
  const [response] = await once(sent, 'response');
  await text(response);
  expect(response.statusCode).toBe(status);
});

test.each([1, ['10.0.0.0/8']])('with TRUST_PROXY=%s, there are probes and no metrics', async (trustProxy) => {
  const proxied = await startServiceForTest({ database, trustProxy });
  const statusOf = async (path: string) => (await proxied.fetch(path)).status;
  expect([await statusOf('/metrics'), await statusOf('/livez')]).toEqual([404, 200]);
});
