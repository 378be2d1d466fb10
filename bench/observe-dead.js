/**
 * At which intervals a worker with default settings observes domains that answer, beside many more that
 * do not. See README.md.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { observing, watch } from './observe/watch.js';
import { startServer } from './processes.js';
import { printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const SERVERS = fileURLToPath(new URL('./observe/servers.js', import.meta.url));

const { values: options } = parseArgs({
  options: {
    program: { type: 'string', default: fileURLToPath(new URL('../bin/dms.js', import.meta.url)) },
    dead: { type: 'string', default: '1000' },
    healthy: { type: 'string', default: '100' },
    every: { type: 'string', default: '10s' },
    seconds: { type: 'string', default: '300' },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
const rows = [];
for (const zone of ['silent', 'servfail']) rows.push(await measured(zone));
printTable(
  [
    'dead domains',
    'observed',
    'all once after',
    'healthy observed',
    'first after: median',
    'longest',
    'interval: median',
    '90 %',
    'longest',
  ],
  rows,
);
rmSync(folder, { recursive: true });

/**
 * @param {string} zone the dead domains', which says what becomes of questions about them
 * @returns {Promise<string[]>} the row of the table
 */
async function measured(zone) {
  const database = await openDatabase(zone);
  const servers = await startServer([SERVERS], {}, join(folder, 'servers.log'));
  try {
    const dead = names(`${zone}.example`, Number(options.dead));
    const healthy = names('healthy.example', Number(options.healthy));
    await watch(options.program, database.environment, [...dead, ...healthy].sort(), options.every);
    const looks = await observe({ ...database.environment, ...observing(new URL(servers.url).port) });
    return [zone, ...deadFigures(looks, dead), ...healthyFigures(looks, healthy)];
  } finally {
    await servers.stop();
    await database.drop();
  }
}

/** @param {string} zone */
async function openDatabase(zone) {
  const server = process.env['DATABASE_URL'];
  if (!server) return { environment: { DATA_DIR: join(folder, zone), SAMPLES: 'off' }, drop: async () => {} };
  const { url, drop } = await createScratchDatabase(server);
  return { environment: { DATABASE_URL: url }, drop };
}

/**
 * @param {string} zone
 * @param {number} count
 */
function names(zone, count) {
  return Array.from({ length: count }, (_, number) => `d${number}.${zone}`);
}

/**
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Promise<Map<string, number[]>>} when each domain was observed, as the worker's log tells: seconds
 *   from its start
 */
async function observe(environment) {
  const looks = new Map();
  const worker = spawn(process.execPath, [options.program, 'worker'], {
    env: { ...process.env, ...environment, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const began = performance.now();
  createInterface(worker.stderr).on('line', (line) => {
    const { msg, domain } = line.startsWith('{') ? JSON.parse(line) : {};
    if (msg !== 'observed') return;
    const times = looks.get(domain) ?? [];
    looks.set(domain, [...times, (performance.now() - began) / 1000]);
  });
  await pause(Number(options.seconds) * 1000);
  const seen = new Map(looks);
  worker.kill('SIGTERM');
  await once(worker, 'close');
  return seen;
}

/**
 * @param {Map<string, number[]>} looks
 * @param {string[]} domains
 */
function deadFigures(looks, domains) {
  const firsts = domains.map((domain) => looks.get(domain)?.[0] ?? Number.POSITIVE_INFINITY);
  const seen = firsts.filter(Number.isFinite).length;
  const all = seen === domains.length ? seconds(Math.max(...firsts)) : 'never';
  return [`${whole(seen)} of ${whole(domains.length)}`, all];
}

/**
 * @param {Map<string, number[]>} looks
 * @param {string[]} domains
 */
function healthyFigures(looks, domains) {
  const seen = domains.map((domain) => looks.get(domain) ?? []).filter((times) => times.length > 0);
  const firsts = sorted(seen.map(([first = 0]) => first));
  const intervals = sorted(seen.flatMap(intervalsOf));
  const shares = [0.5, 0.9, 1].map((share) => seconds(at(intervals, share)));
  return [whole(seen.length), seconds(at(firsts, 0.5)), seconds(at(firsts, 1)), ...shares];
}

/**
 * The interval that the end of the run cuts counts if it is longer than the one before already.
 *
 * @param {number[]} times
 */
function intervalsOf(times) {
  const intervals = times.slice(1).map((time, place) => time - (times[place] ?? 0));
  const cut = Number(options.seconds) - (times.at(-1) ?? 0);
  return cut > (intervals.at(-1) ?? 0) ? [...intervals, cut] : intervals;
}

/** @param {number[]} numbers */
function sorted(numbers) {
  return numbers.sort((one, other) => one - other);
}

/**
 * @param {number[]} numbers in order
 * @param {number} share
 */
function at(numbers, share) {
  return numbers[Math.min(Math.floor(numbers.length * share), numbers.length - 1)] ?? Number.NaN;
}

/** @param {number} time */
function seconds(time) {
  return `${time.toFixed(1)} s`;
}
