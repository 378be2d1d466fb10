import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { whileLocked } from '../support/locked-table.js';
import { observation } from '../support/observations.js';
import { expectProbes } from '../support/probes.js';
import { startTestService, type TestService } from '../support/service.js';

/** A query of an answer may take so long, in milliseconds: short, since these wait for it. */
const ANSWER_LIMIT = 600;

let home: TestDatabase;
let impatient: Database;
let service: TestService;

beforeAll(async () => {
  home = await openTestDatabase();
  const recorder = createRecorder(home.pool);
  await recorder.record([observation({ at: 1, records: ['192.0.2.1'] })]);
  impatient = await openDatabase({ ...home.options, queryMilliseconds: ANSWER_LIMIT });
  service = await startTestService({ database: impatient });
});

afterAll(async () => {
  await service.stop();
  await impatient.close();
  await home.close();
});

test('a database that is connected and silent gives 503 with Retry-After in both APIs, and recovers by itself', async () => {
  const address = `${service.url}/api/v1/domain/example.com`;
  await whileLocked(home.pool, async () => {
    const response = await fetch(address);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ code: 'UNAVAILABLE' });
    const asked = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ domain(name: \\"example.com\\") { name } }"}',
    });
    expect(await asked.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE' } }] });
    await expectProbes(service.url, 503);
  });
  expect((await fetch(address)).status).toBe(200);
  await expectProbes(service.url, 200);
});

test('a pool whose connections are all lent gives 503 with Retry-After, and answers resume when there is one', async () => {
  const address = `${service.url}/api/v1/domain/example.com`;
  const { readPool } = impatient;
  const lent: PoolClient[] = [];
  try {
    while (lent.length < readPool.options.max) lent.push(await readPool.connect());
    const response = await fetch(address);
    expect([response.status, await response.json()]).toMatchObject([503, { code: 'UNAVAILABLE' }]);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectProbes(service.url, 503);
  } finally {
    for (const client of lent) client.release();
  }
  expect((await fetch(address)).status).toBe(200);
  await expectProbes(service.url, 200);
});

test('a request of which every domain fails with the database is one line of the log', async () => {
  const aliases = Array.from(
    { length: 20 },
    (_, place) => `a${place}: domain(name: "${place}.example") { name }`,
  );
  const requestId = 'all-domains-fail';
  await whileLocked(home.pool, async () => {
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': requestId },
      body: JSON.stringify({ query: `{ ${aliases.join(' ')} }` }),
    });
    expect(await response.json()).toMatchObject({ errors: { length: 20 } });
  });
  const lines = service.logged.filter(
    (line) => line['requestId'] === requestId && line['msg'] === 'request failed',
  );
  expect(lines).toHaveLength(1);
});

test('a database with a query that never ends can be closed', async () => {
  const other = await openDatabase(home.options);
  const client = await other.pool.connect();
  await whileLocked(home.pool, async () => {
    const stuck = client.query('SELECT count(*) FROM domain').finally(() => client.release(true));
    await Promise.all([expect(stuck).rejects.toThrow(), other.close()]);
  });
});
