/**
 * What 500 clients that never finish a request cost the others: the latency of one client that asks again
 * and again, without them and with them, with the default settings, and when the server has closed them
 * all. It takes about 45 seconds. See README.md.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSlowClients } from '../test/support/slow-clients.js';
import { memoryNow, startServer } from './processes.js';
import { median, printTable, whole } from './report.js';

const COUNT = 500;
const WARM_UP = 2_000;
const WITHOUT = 8_000;
/** Far over what the server's own limits allow. */
const LONGEST = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
const server = await startServer(
  [fileURLToPath(new URL('../bin/dms.js', import.meta.url)), 'serve'],
  { DATA_DIR: join(folder, 'data'), ROLE: 'api', RATE_LIMIT_ANONYMOUS: '1000000000', DATABASE_URL: '' },
  join(folder, 'server.log'),
);
try {
  await latenciesWhile(within(WARM_UP));
  const without = await latenciesWhile(within(WITHOUT));
  const memoryBefore = memoryNow(server.child);
  const slow = await openSlowClients(Number(new URL(server.url).port), COUNT);
  const began = performance.now();
  const patience = within(LONGEST);
  const withSlow = await latenciesWhile(() => slow.open() > 0 && patience());
  const took = performance.now() - began;
  const left = slow.open();
  slow.destroy();
  printTable(
    ['requests of one client', 'answered', 'median', '99 of 100 within', 'longest'],
    [row('alone', without), row(`beside ${COUNT} slow clients`, withSlow)],
  );
  console.log(`\nOpen after ${(took / 1000).toFixed(1)} s: ${left} of ${COUNT}`);
  console.log(`Memory before and after: ${memoryBefore} MB, ${memoryNow(server.child)} MB`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** @param {number} milliseconds from now */
function within(milliseconds) {
  const end = performance.now() + milliseconds;
  return () => performance.now() < end;
}

/**
 * Asks for a domain, one request after the other.
 *
 * @param {() => boolean} goesOn
 * @returns {Promise<number[]>} how long each answer took, in milliseconds
 */
async function latenciesWhile(goesOn) {
  const latencies = [];
  while (goesOn()) {
    const began = performance.now();
    const response = await fetch(`${server.url}/api/v1/domain/example.com`);
    if (response.status !== 200) throw new Error(`The service answers ${response.status}.`);
    await response.text();
    latencies.push(performance.now() - began);
  }
  return latencies;
}

/**
 * @param {string} title
 * @param {number[]} latencies
 */
function row(title, latencies) {
  const sorted = [...latencies].sort((one, other) => one - other);
  const high = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  const figures = [median(sorted), high, sorted.at(-1) ?? Number.NaN];
  return [title, whole(sorted.length), ...figures.map((figure) => `${figure.toFixed(1)} ms`)];
}
