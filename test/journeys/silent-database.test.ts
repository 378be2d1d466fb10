import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { graphqlRequest } from '../support/ask.js';
import { databaseOfFile, whileLocked } from '../support/database.js';
import { domainAliases } from '../support/every-field.js';
import { expectProbes } from '../support/probes.js';
import { serviceOfFile, startTestService } from '../support/service.js';

const home = databaseOfFile();
/** A query of an answer may take 0.6 seconds: short, since these wait for it. */
let impatient: Database;
beforeAll(async () => {
  impatient = await openDatabase({ ...home.options, queryMilliseconds: 600 });
});
afterAll(() => impatient.close());
const service = serviceOfFile(
  () => ({ database: impatient }),
  ({ record }) => record({ at: 1, records: ['192.0.2.1'] }),
);

const ask = ({ url } = service) => fetch(`${url}/api/v1/domain/example.com`);

async function expectUnavailable(): Promise<void> {
  const response = await ask();
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'UNAVAILABLE' }]);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  const { errors } = await service.graphql('{ domain(name: "example.com") { name } }');
  expect(errors).toMatchObject([{ extensions: { code: 'UNAVAILABLE' } }]);
  await expectProbes(service.url, 503);
}

async function expectAvailable(): Promise<void> {
  expect((await ask()).status).toBe(200);
  await expectProbes(service.url, 200);
}

test('a database that is connected and silent gives 503 with Retry-After in both APIs, and recovers by itself', async () => {
  await whileLocked(home.pool, expectUnavailable);
  await expectAvailable();
});

test('a request of which every domain fails with the database is one line of the log', async () => {
  const requestId = 'all-domains-fail';
  await whileLocked(home.pool, async () => {
    const fields = { 'x-request-id': requestId };
    const { errors } = await service.graphql(domainAliases(20, 'name'), {}, fields);
    expect(errors).toHaveLength(20);
  });
  const failures = service.logged.filter(({ msg }) => msg === 'request failed');
  expect(failures.filter((line) => line['requestId'] === requestId)).toHaveLength(1);
});

test('of requests whose client has gone, those that wait for a place are not executed, and those of others in the same batch are completed; none is an error', async () => {
  // One connection for answers: one batch is at the database, and the others wait for their turn.
  const database = await openDatabase({ ...home.options, poolSize: 1 });
  const waiting = await startTestService({ database, role: 'api' });
  onTestFinished(() => waiting.stop().then(() => database.close()));
  let arrived = 0;
  const countArrival = () => {
    arrived += 1;
  };
  subscribe('http.server.request.start', countArrival);
  onTestFinished(() => void unsubscribe('http.server.request.start', countArrival));
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => sent.mockRestore());
  /** How many statements were sent that read what answers are made of. */
  const statements = () =>
    sent.mock.calls.filter(([query]) => JSON.stringify(query)?.includes('AS numbers') === true).length;

  const client = new AbortController();
  await whileLocked(home.pool, async () => {
    const paths = Array.from({ length: 30 }, (_, at) => `${waiting.url}/api/v1/domain/a${at}.example`);
    const results = Promise.allSettled(paths.map((path) => fetch(path, { signal: client.signal })));
    await expect.poll(() => [arrived, statements()]).toEqual([paths.length, 1]);
    client.abort();
    expect((await results).map(({ status }) => status)).not.toContain('fulfilled');
    await expect
      .poll(() => waiting.logged.filter(({ aborted }) => aborted === true))
      .toHaveLength(paths.length);
  });
  expect((await ask(waiting)).status).toBe(200);
  // A client has eight places.
  expect(statements()).toBeLessThan(10);

  let answer: Promise<Response> | undefined;
  await whileLocked(home.pool, async () => {
    const other = new AbortController();
    const request = { ...graphqlRequest(domainAliases(100, 'name')), signal: other.signal };
    const gone = fetch(`${waiting.url}/graphql`, request).catch(() => {});
    answer = ask(waiting);
    other.abort();
    await gone;
  });
  expect((await answer)?.status).toBe(200);
  expect(waiting.logged.filter(({ level }) => level === 'error')).toEqual([]);
});
