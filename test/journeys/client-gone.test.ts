import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { whileLocked } from '../support/locked-table.js';
import { observation } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let home: TestDatabase;
let database: Database;
let service: TestService;
/** Requests that have come to the server. */
let arrived = 0;
const countArrival = () => {
  arrived += 1;
};

beforeAll(async () => {
  subscribe('http.server.request.start', countArrival);
  home = await openTestDatabase();
  await createRecorder(home.pool).record([observation({ at: 1, records: ['192.0.2.1'] })]);
  // One connection for answers: one batch is at the database, and the others wait for their turn.
  database = await openDatabase({ ...home.options, poolSize: 1 });
  service = await startTestService({ database, role: 'api' });
});

afterEach(() => {
  vi.restoreAllMocks();
});

afterAll(async () => {
  unsubscribe('http.server.request.start', countArrival);
  await service.stop();
  await database.close();
  await home.close();
});

/** Counts the statements that read what answers are made of, as they are sent to the database. */
function countStatements(): () => number {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  return () =>
    sent.mock.calls.filter(([query]) => JSON.stringify(query)?.includes('AS numbers') === true).length;
}

function abortedRequests(): number {
  return service.logged.filter(({ aborted }) => aborted === true).length;
}

/** The answer that comes when all is done before it. */
async function askAfterwards(): Promise<void> {
  expect((await fetch(`${service.url}/api/v1/domain/example.com`)).status).toBe(200);
}

/**
 * Sends requests, waits until all have come and the first statement is sent, and goes away.
 *
 * @returns how many statements were sent in all, with the one of a request afterwards.
 */
async function goAwayFrom(send: (signal: AbortSignal) => readonly Promise<unknown>[]): Promise<number> {
  const statements = countStatements();
  const [before, arrivedBefore] = [abortedRequests(), arrived];
  await whileLocked(home.pool, async () => {
    const client = new AbortController();
    const answers = send(client.signal);
    const results = Promise.allSettled(answers);
    await expect.poll(() => [arrived - arrivedBefore, statements()]).toEqual([answers.length, 1]);
    client.abort();
    expect((await results).map(({ status }) => status)).not.toContain('fulfilled');
    await expect.poll(() => abortedRequests() - before).toBe(answers.length);
  });
  await askAfterwards();
  return statements();
}

function aliases(count: number): string {
  const fields = Array.from(
    { length: count },
    (_, place) => `d${place}: domain(name: "a${place}.example") { name }`,
  );
  return JSON.stringify({ query: `{ ${fields.join(' ')} }` });
}

function post(body: string, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${service.url}/graphql`, { method: 'POST', headers, body, signal: signal ?? null });
}

test('requests that wait for a place are not executed once their client has gone', async () => {
  const paths = Array.from({ length: 30 }, (_, place) => `${service.url}/api/v1/domain/a${place}.example`);
  // A client has eight places.
  expect(await goAwayFrom((signal) => paths.map((path) => fetch(path, { signal })))).toBeLessThan(10);
});

test('requests of others in the same batch are completed', async () => {
  const client = new AbortController();
  let answer: Promise<Response> | undefined;
  await whileLocked(home.pool, async () => {
    const gone = post(aliases(100), client.signal).catch(() => {});
    answer = fetch(`${service.url}/api/v1/domain/example.com`);
    client.abort();
    await gone;
  });
  expect((await answer)?.status).toBe(200);
});

test('a client that has gone is no error of the service', () => {
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([]);
});
