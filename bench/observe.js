/**
 * How many domains a worker observes in a second, with eight DNS questions and one plain HTTP request
 * each, and how much memory it has while it does. See README.md.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { observing, watch } from './observe/watch.js';
import { memoryNow, peakMemory, startServer } from './processes.js';
import { processorTime } from './read/processor-time.js';
import { printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const PROGRAM = fileURLToPath(new URL('../bin/dms.js', import.meta.url));
const SERVERS = fileURLToPath(new URL('./observe/servers.js', import.meta.url));

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '25000' },
    rounds: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '200' },
  },
});
const domains = Number(options.domains);
const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));

const serverUrl = process.env['DATABASE_URL'];
if (serverUrl) {
  await main(serverUrl);
} else {
  console.error('Set DATABASE_URL to a PostgreSQL server: the figures are for PostgreSQL.');
  process.exitCode = 1;
}
rmSync(folder, { recursive: true });

/** @param {string} server address of a PostgreSQL server */
async function main(server) {
  const database = await createScratchDatabase(server);
  const client = new pg.Client({ connectionString: database.url });
  const servers = await startServer([SERVERS], {}, join(folder, 'servers.log'));
  try {
    await client.connect();
    const names = Array.from({ length: domains }, (_, number) => `d${number}.example`);
    await watch(PROGRAM, { DATABASE_URL: database.url }, names, '7d');
    const worker = startWorker(database.url, new URL(servers.url).port);
    try {
      await report(client, worker);
    } finally {
      worker.kill('SIGTERM');
      await once(worker, 'close');
    }
  } finally {
    await servers.stop();
    await client.end();
    await database.drop();
  }
}

/**
 * @param {string} databaseUrl
 * @param {string} port of both servers
 */
function startWorker(databaseUrl, port) {
  return spawn(process.execPath, [PROGRAM, 'worker'], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      ...observing(port),
      OBSERVE_CONCURRENCY: options.concurrency,
      OBSERVE_CONNECTIONS_PER_ADDRESS: '10000',
    },
    // Its log is written as always; nobody reads it here.
    stdio: ['ignore', 'ignore', openSync(join(folder, 'worker.log'), 'w')],
  });
}

/**
 * @param {pg.Client} client
 * @param {import('node:child_process').ChildProcess} worker
 */
async function report(client, worker) {
  const rows = [];
  for (let round = 1; round <= Number(options.rounds); round += 1) {
    const { seconds, processor } = await observeAll(client, worker, round);
    rows.push([
      round === 1 ? 'first observations' : 'unchanged',
      whole(domains),
      whole(domains / seconds),
      `${whole((processor * 1000) / domains)} µs`,
      `${memoryNow(worker)} MB`,
    ]);
  }
  printTable(
    ['round', 'observations', 'domains/s', 'processor time of the worker', 'memory at the end'],
    rows,
  );
  console.log(`\nPeak memory of the worker: ${peakMemory(worker)} MB`);
}

/**
 * @param {pg.Client} client
 * @param {import('node:child_process').ChildProcess} worker
 * @param {number} round
 */
async function observeAll(client, worker, round) {
  await client.query(
    'UPDATE watched_domain SET due = 0, scheduled = 0, observed_at = NULL WHERE lease IS NULL',
  );
  while ((await observed(client)) === 0) await pause(20);
  const processorBefore = processorTime(worker.pid);
  const began = performance.now();
  let told = 0;
  for (let count = 0; count < domains; count = await observed(client)) {
    await pause(100);
    if (count >= told) {
      console.error(`round ${round}: ${whole(count)} observed, memory ${memoryNow(worker)} MB`);
      told += 5000;
    }
  }
  const seconds = (performance.now() - began) / 1000;
  return { seconds, processor: (processorTime(worker.pid) - processorBefore) / 1000 };
}

/** @param {pg.Client} client */
async function observed(client) {
  const { rows } = await client.query('SELECT count(*) FROM watched_domain WHERE observed_at IS NOT NULL');
  return Number(rows[0].count);
}
