import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { type Database, openDatabase } from '../../src/database/client.js';
import { answerAt, createHealth } from '../../src/http/endpoint.js';
import { DEFAULT_FIELDS } from '../../src/http/response-fields.js';
import { startHttpServer } from '../../src/http/server.js';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { databaseOfFile, openTestDatabase } from '../support/database.js';
import { startDnsServer } from '../support/dns-server.js';
import { bearer, serviceOfFile, startTestService } from '../support/service.js';

let database: Database;

const home = databaseOfFile(async ({ options }) => {
  database = await openDatabase({ ...options, poolSize: 1 });
});
afterAll(() => database.close());
const service = serviceOfFile(() => ({ database, basePath: '/dms' }));

const probe = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${service.port}${path}`, init);

test('probes and metrics have the header fields of every answer, and a request id', async () => {
  for (const path of ['/livez', '/readyz', '/metrics']) {
    for (const method of ['GET', 'POST']) {
      const { headers } = await probe(path, { method });
      expect(Object.fromEntries(headers)).toMatchObject(DEFAULT_FIELDS);
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
    const { headers } = await probe(path, { headers: { 'x-request-id': 'mine' } });
    expect(headers.get('x-request-id')).toBe('mine');
  }
});

test('probes say that all is well, to anyone by GET or HEAD, at the root whatever the base path, to no cache, and not in the log', async () => {
  for (const path of ['/livez', '/readyz']) {
    const response = await probe(`${path}?verbose`, { headers: bearer('no token') });
    const fields = ['content-type', 'cache-control'].map((name) => response.headers.get(name));
    expect([response.status, ...fields]).toEqual([200, 'application/json; charset=utf-8', 'no-store']);
    expect(await response.json()).toEqual({ status: 'ok' });
    expect((await probe(`/dms${path}`)).status).toBe(404);
    expect((await probe(path, { method: 'HEAD' })).status).toBe(200);
    const rejected = await probe(path, { method: 'POST' });
    expect([rejected.status, rejected.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(service.logged.filter((line) => line['path'] === path)).toEqual([]);
  }
});

async function said() {
  const [live, ready] = await Promise.all([probe('/livez'), probe('/readyz')]);
  const body: unknown = await ready.json();
  return { live: live.status, ready: ready.status, retryAfter: ready.headers.get('retry-after'), body };
}

const UNAVAILABLE = { status: 'unavailable', reason: 'The database is unavailable.' };
const WELL = { live: 200, ready: 200, retryAfter: null, body: { status: 'ok' } };
const UNREADY = { live: 200, ready: 503, retryAfter: '5', body: UNAVAILABLE };

test('a process whose connections to the database are all lent is alive and not ready, until one is free', async () => {
  const client = await database.readPool.connect();
  expect(await said()).toEqual(UNREADY);
  client.release();
  expect(await said()).toEqual(WELL);
  expect(service.logged.filter(({ msg }) => msg === 'not ready' || msg === 'ready again')).toMatchObject([
    { level: 'warn', reason: 'The database is unavailable.' },
    { level: 'info' },
  ]);
});

test('a process whose database lacks a migration of its own is alive and not ready; one of a later version is no matter', async () => {
  const reason = "The database's schema is not that of this version of the program.";
  const unready = { ...UNREADY, body: { ...UNAVAILABLE, reason } };
  const { pool } = home;
  await pool.query("INSERT INTO schema_migration VALUES ('9999_of_tomorrow', '', 0)");
  expect(await said()).toEqual(WELL);
  await pool.query("UPDATE schema_migration SET name = '0000' WHERE name = '0001_baseline'");
  expect(await said()).toEqual(unready);
  await pool.query("UPDATE schema_migration SET name = '0001_baseline' WHERE name = '0000'");
  await pool.query("DELETE FROM schema_migration WHERE name = '9999_of_tomorrow'");
  expect(await said()).toEqual(WELL);
  await pool.query('ALTER TABLE schema_migration RENAME TO gone');
  expect(await said()).toEqual(unready);
  await pool.query('ALTER TABLE gone RENAME TO schema_migration');
  expect(await said()).toEqual(WELL);
});

/** Serves probes alone, until the test ends. @returns what asks one. */
async function serveHealth(health: ReturnType<typeof createHealth>) {
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    void answerAt(health.endpoint, request, response);
  const log = createLogger({ level: 'silent' });
  const server = await startHttpServer(listener, { host: '127.0.0.1', port: 0, log });
  onTestFinished(() => server.close());
  return async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return [response.status, await response.json()];
  };
}

test('why a process is not ready is told the log in full, once for each cause, and the client in short', async () => {
  const lines: object[] = [];
  const log = createLogger({ level: 'info', stream: { write: (line) => lines.push(JSON.parse(line)) } });
  let cause: string | undefined = 'The data folder /data cannot be used.';
  const ask = await serveHealth(createHealth(async () => ({ reason: UNAVAILABLE.reason, cause }), log));
  for (const _time of [1, 2]) expect(await ask('/readyz')).toEqual([503, UNAVAILABLE]);
  cause = undefined;
  expect(await ask('/readyz')).toEqual([503, UNAVAILABLE]);
  expect(lines).toMatchObject([{ cause: 'The data folder /data cannot be used.' }, { msg: 'not ready' }]);
  expect(lines[1]).not.toHaveProperty('cause');
});

test('a resolver that gives addresses for names that do not exist is in the body of /readyz, without its place; the process stays ready', async () => {
  const [inventing, honest] = [await startDnsServer(), await startDnsServer()];
  inventing.generate((_name, type) => (type === 'A' ? ['192.0.2.66'] : []));
  inventing.invent((_name, type) => (type === 'A' ? ['192.0.2.66'] : []));
  const servers = [inventing, honest].map(({ port }) => `127.0.0.1:${port}`);
  const { observe } = readSettings({ DNS_SERVERS: servers.join() });
  // No other process is to observe what this one watches.
  const own = await openTestDatabase();
  const observing = await startTestService({ database: own, observe });
  onTestFinished(async () => {
    await observing.stop();
    await own.close();
    await Promise.all([inventing.close(), honest.close()]);
  });
  const ready = async () => {
    const response = await fetch(`http://127.0.0.1:${observing.port}/readyz`);
    return [response.status, await response.json()];
  };
  expect(await ready()).toEqual([200, { status: 'ok' }]);
  const at = BigInt(Date.now()) * 1000n;
  await watchDomains(own.writingPrisma, ['parked.example'], null, at);
  const reason =
    'It gives addresses for names that do not exist. They are not recorded: name another resolver in DNS_SERVERS.';
  const resolvers = [
    { state: 'invents addresses', reason },
    { state: 'in use', reason: null },
  ];
  await expect.poll(ready, { timeout: 60_000 }).toEqual([200, { status: 'ok', resolvers }]);
});
