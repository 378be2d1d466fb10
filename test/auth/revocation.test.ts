import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRecorder } from '../../src/recorder/recorder.js';
import { startDms } from '../journeys/dms-command.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { observation } from '../support/observations.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let services: TestService[];

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  services = [await startTestService({ database }), await startTestService({ database })];
});
afterAll(async () => {
  for (const service of services) await service.stop();
  await database.close();
});

test('a token that one process makes works in others at once, and within five seconds of its revocation nowhere', async () => {
  const made = await startDms(
    ['token', 'create', '--name', 'probe', '--scope', 'dns:read'],
    database.environment,
  ).result;
  const token = made.stdout.trim();
  const statuses = () =>
    Promise.all(
      services.map(
        async ({ url }) =>
          (await fetch(`${url}/api/v1/domain/example.com/dns`, { headers: bearer(token) })).status,
      ),
    );
  expect(await statuses()).toEqual([200, 200]);
  expect(await statuses()).toEqual([200, 200]);
  const revoked = await startDms(['token', 'revoke', 'probe'], database.environment).result;
  expect([revoked.code, revoked.stdout]).toEqual([0, 'revoked probe\n']);
  const end = performance.now() + 5_000;
  let begun = performance.now();
  const next = () => {
    begun = performance.now();
    return statuses();
  };
  // However slow the machine is: no request that is begun after five seconds is served.
  for (let now = await next(); String(now) !== '401,401'; now = await next()) {
    expect(begun).toBeLessThan(end);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

test('a stream that is open gives nothing once its token is revoked: it ends, and says why', async () => {
  const [service] = services;
  const made = await startDms(
    ['token', 'create', '--name', 'listener', '--scope', 'search:read'],
    database.environment,
  ).result;
  const url = `${service?.url}/api/v1/changes`;
  const headers = { ...bearer(made.stdout.trim()), accept: 'text/event-stream' };
  const stream = await fetch(url, { headers });
  expect(stream.status).toBe(200);
  await startDms(['token', 'revoke', 'listener'], database.environment).result;
  await expect.poll(async () => (await fetch(url, { headers })).status, { timeout: 10_000 }).toBe(401);
  const line = observation({ domain: 'later.example', at: 1, records: ['192.0.2.1'] });
  await createRecorder(database.pool).record([line]);
  const text = await stream.text();
  expect(text).not.toContain('later.example');
  expect(text).toMatch(/event: end\ndata: .*"code":"UNAUTHENTICATED"/);
});
