import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertDomain } from '../support/rows.js';
import { startTestService, type TestService } from '../support/service.js';
import { openSlowClients } from '../support/slow-clients.js';

const COUNT = 500;
const TIME_LIMITS = { header: 6_000, request: 9_000, idle: 20_000, silence: 20_000, checkEvery: 100 };
/** Some three times what the limits let through, at a byte a second. */
const MOST_BYTES = 30;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ timeLimits: TIME_LIMITS });
  await insertDomain(service.database.pool, { name: 'example.com' });
});
afterAll(() => service.stop());

test(`${COUNT} clients that send a byte a second, or nothing, are answered 408 and closed; meanwhile another client gets answers faster than they send bytes`, async () => {
  const slow = await openSlowClients(service.port, COUNT);
  expect(slow.open()).toBe(COUNT);
  const answers = slow.answers();
  let served = 0;
  for (; slow.open() > 0 && slow.sent() < MOST_BYTES; served += 1) {
    const response = await fetch(`${service.url}/api/v1/domain/example.com`);
    expect(response.status).toBe(200);
    await response.text();
  }
  const left = slow.open();
  slow.destroy();
  expect(left, 'the server has closed them all, and none of them had to give up').toBe(0);
  expect(slow.sent()).toBeGreaterThan(0);
  expect(served).toBeGreaterThan(slow.sent());
  const lines = (await answers).map((answer) => answer.split('\r\n', 1)[0]);
  expect(new Set(lines)).toEqual(new Set(['HTTP/1.1 408 Request Timeout']));
  const refused = service.logged.filter(({ msg, status }) => msg === 'request refused' && status === 408);
  expect(refused).toHaveLength(COUNT);
  expect(new Set(refused.map(({ requestId }) => requestId)).size).toBe(COUNT);
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([]);
}, 120_000);
