import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertDomain } from '../support/rows.js';
import { startTestService, type TestService } from '../support/service.js';
import { openSlowClients } from '../support/slow-clients.js';

const COUNT = 500;
const TIME_LIMITS = { header: 3_000, request: 4_000, idle: 10_000, silence: 10_000, checkEvery: 100 };

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ timeLimits: TIME_LIMITS });
  await insertDomain(service.database.pool, { name: 'example.com' });
});
afterAll(() => service.stop());

test(`${COUNT} clients that send a byte a second, or nothing, are answered 408 and closed; others are served meanwhile`, async () => {
  const slow = await openSlowClients(service.port, COUNT);
  expect(slow.open()).toBe(COUNT);
  const answers = slow.answers();
  let served = 0;
  for (; slow.open() > 0; served += 1) {
    const response = await fetch(`${service.url}/api/v1/domain/example.com`);
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(served).toBeGreaterThan(0);
  const lines = (await answers).map((answer) => answer.split('\r\n', 1)[0]);
  expect(new Set(lines)).toEqual(new Set(['HTTP/1.1 408 Request Timeout']));
  const refused = service.logged.filter(({ msg, status }) => msg === 'request refused' && status === 408);
  expect(refused).toHaveLength(COUNT);
  expect(new Set(refused.map(({ requestId }) => requestId)).size).toBe(COUNT);
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([]);
}, 60_000);
