import { expect, test } from 'vitest';
import { TIME_LIMITS } from '../../src/http/server.js';
import { repeats } from '../support/long-form.js';
import { insertDomain } from '../support/rows.js';
import { startServiceForTest } from '../support/service.js';
import { openSlowClients } from '../support/slow-clients.js';

const COUNT = 500;
const LIMITS = {
  ...TIME_LIMITS,
  ...{ header: repeats(6_000, 3_000), request: repeats(9_000, 4_500) },
  ...{ idle: 20_000, silence: 20_000, checkEvery: 100 },
};
/** How many answers a client gets before, for comparison. */
const ALONE = 20;
/** Some three times what the limits let through, at a byte a second. */
const MOST_BYTES = 30;

/** In milliseconds. */
async function timeOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

test(`${COUNT} clients that send a byte a second, or nothing, are answered 408, counted and closed; meanwhile another client gets answers, at a twentieth of its pace at least`, async () => {
  const service = await startServiceForTest({ timeLimits: LIMITS });
  await insertDomain(service.database.pool, { name: 'example.com' });
  /** How many requests were answered 408, by the metrics: those without a head among them. */
  const countedTimeouts = async () => {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    const counts = metrics.matchAll(/^dms_http_requests_total\{.*status="408"\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const ask = async () => {
    const response = await fetch(`${service.url}/api/v1/domain/example.com`);
    expect(response.status).toBe(200);
    await response.text();
  };
  await ask();
  const alone = await timeOf(async () => {
    for (let count = 0; count < ALONE; count += 1) await ask();
  });
  const slow = await openSlowClients(service.port, COUNT);
  expect(slow.open()).toBe(COUNT);
  const answers = slow.answers();
  let served = 0;
  const beside = await timeOf(async () => {
    for (; slow.open() > 0 && slow.sent() < MOST_BYTES; served += 1) await ask();
  });
  const left = slow.open();
  slow.destroy();
  expect(left, 'the server has closed them all, and none of them had to give up').toBe(0);
  expect(slow.sent()).toBeGreaterThan(0);
  expect(beside / served).toBeLessThan(20 * (alone / ALONE));
  const lines = (await answers).map((answer) => answer.split('\r\n', 1)[0]);
  expect(new Set(lines)).toEqual(new Set(['HTTP/1.1 408 Request Timeout']));
  await expect.poll(countedTimeouts).toBe(COUNT);
  const rejected = service.logged.filter(({ status }) => status === 408);
  expect(new Set(rejected.map(({ requestId }) => requestId)).size).toBe(COUNT);
  expect(service.logged.filter(({ level, status }) => level === 'error' || status === 0)).toEqual([]);
});
