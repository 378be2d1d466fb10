/**
 * How the cost of a request and of an observation, and the octets stored, grow with the number of domains. See README.md.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { firstObservation } from './import/first-observations.js';
import { isInstalled, peakMemory, startServer } from './processes.js';
import { inCheckout } from './read/contestants.js';
import { domainName } from './read/fill.js';
import { processorTime, processorTimes, spentBetween, timeOfEndedBackends } from './read/processor-time.js';
import { measure } from './read/wrk.js';
import { median, printBars, printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

/** @typedef {Awaited<ReturnType<typeof importLines>>} Imported */

const PROGRAM = inCheckout('bin/dms.js');
/** A prime: numbers multiplied by it, modulo a count, are all of them in another order. */
const SCATTER = 1_000_003;
const ROUNDS = 5;
const DAY = 86_400_000;

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '50000,500000' },
    sample: { type: 'string', default: '30000' },
    seconds: { type: 'string', default: '5' },
    out: { type: 'string', default: inCheckout('bench/results/growth.json') },
  },
});
const sizes = options.sizes.split(',').map(Number);
const sample = Number(options.sample);
const seconds = Number(options.seconds);

await main();

async function main() {
  const serverUrl = process.env['DATABASE_URL'];
  if (!serverUrl || !(await isInstalled('wrk'))) {
    console.error('Set DATABASE_URL to a PostgreSQL server, and install wrk (Debian: apt-get install wrk).');
    process.exitCode = 1;
    return;
  }
  const database = await createScratchDatabase(serverUrl);
  const client = new pg.Client({ connectionString: database.url });
  const results = [];
  try {
    await client.connect();
    let count = 0;
    for (const size of sizes) {
      results.push(await measureSize(database.url, client, count, size));
      count = size;
      mkdirSync(dirname(options.out), { recursive: true });
      writeFileSync(options.out, `${JSON.stringify(results, null, 2)}\n`);
    }
  } finally {
    await client.end();
    await database.drop();
  }
  report(results);
}

/**
 * Adds domains up to a size, and measures there: what the last of them cost, what an observation costs that changes nothing, what a
 * request costs, and what is stored.
 *
 * @param {string} url of the database
 * @param {pg.Client} client of the same
 * @param {number} before how many domains there are
 * @param {number} size how many there are to be
 */
async function measureSize(url, client, before, size) {
  console.error(`${whole(size)} domains`);
  const last = size - Math.min(sample, size - before);
  const numbers = scattered(before, size);
  const fill = await importLines(url, client, linesOf(numbers.slice(0, last - before), 0));
  const first = await importLines(url, client, linesOf(numbers.slice(last - before), 0));
  await client.query('VACUUM ANALYZE');
  const again = Array.from({ length: sample }, () => 1 + Math.floor(Math.random() * size));
  const unchanged = await importLines(url, client, linesOf([...new Set(again)], DAY));
  await client.query('VACUUM ANALYZE');
  return {
    size,
    fill,
    first,
    unchanged,
    request: await measureRequests(url, client, size),
    stored: await storedIn(client),
  };
}

/**
 * @param {number} after
 * @param {number} upTo
 * @returns the numbers of domains after one up to another, in an order that is not theirs
 */
function scattered(after, upTo) {
  const count = upTo - after;
  return Array.from({ length: count }, (_, at) => after + 1 + ((at * SCATTER) % count));
}

/**
 * @param {readonly number[]} numbers of domains
 * @param {number} later than their first observation, in milliseconds
 * @returns {Generator<string>}
 */
function* linesOf(numbers, later) {
  for (const number of numbers) yield firstObservation(number, domainName(number), later);
}

/**
 * @param {string} url of the database
 * @param {pg.Client} client of the same
 * @param {Generator<string>} lines
 * @returns `rate`: observations per second of the whole process; `importerTime` and `databaseTime`: processor time of an
 *   observation, in microseconds, of the two; `logged`: octets of the write-ahead log for it
 */
async function importLines(url, client, lines) {
  const child = spawn(process.execPath, [PROGRAM, 'import', '--json', '-'], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (part) => {
    output += part;
  });
  let [memory, importer] = [0, 0];
  const watch = setInterval(() => {
    memory = Math.max(memory, peakMemory(child));
    importer = processorTime(child.pid) || importer;
  }, 50);
  const database = await databaseTime(client);
  const log = await octetsLogged(client);
  const began = performance.now();
  await Promise.all([pipeline(Readable.from(lines), child.stdin), once(child, 'close')]);
  clearInterval(watch);
  const time = (performance.now() - began) / 1000;
  const count = Number(JSON.parse(output).linesRead);
  return {
    observations: count,
    rate: count / time,
    importerTime: importer / count,
    databaseTime: ((await databaseTime(client)) - database) / count,
    logged: ((await octetsLogged(client)) - log) / count,
    memory,
  };
}

/**
 * @param {pg.Client} client
 * @returns {Promise<number>} octets that have been written to the write-ahead log
 */
async function octetsLogged(client) {
  const { rows } = await client.query(
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS octets",
  );
  return rows[0]?.octets;
}

/** @param {pg.Client} client */
async function databaseTime(client) {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  return timeOfEndedBackends(rows[0]?.pid);
}

/**
 * @param {string} url of the database
 * @param {pg.Client} client of the same
 * @param {number} domains
 */
async function measureRequests(url, client, domains) {
  const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
  const environment = {
    ...{ DATABASE_URL: url, NODE_ENV: 'production', CACHE_MB: '0' },
    ...{ RATE_LIMIT_ANONYMOUS: '1000000000' },
  };
  const server = await startServer([PROGRAM, 'serve'], environment, join(folder, 'log'));
  try {
    const load = { url: `${server.url}/api/v1/domain/`, domains, connections: 32 };
    const none = { popularity: undefined, bodyFile: undefined, tagsFile: undefined };
    /** @type {(Awaited<ReturnType<typeof measure>> & { serverTime: number, databaseTime: number })[]} */
    const rounds = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const before = await processorTimes(server.child.pid, client);
      const measured = await measure({ ...load, ...none, seconds: round === 0 ? 3 * seconds : seconds });
      const spent = spentBetween(before, await processorTimes(server.child.pid, client));
      const requests = measured.rate * seconds;
      if (round > 0)
        rounds.push({
          ...measured,
          serverTime: spent.server / requests,
          databaseTime: spent.database / requests,
        });
    }
    const of = (/** @type {'rate' | 'latency' | 'slow' | 'serverTime' | 'databaseTime'} */ key) =>
      median(rounds.map((round) => round[key]));
    return {
      ...{ rate: of('rate'), latency: of('latency'), slow: of('slow') },
      ...{ serverTime: of('serverTime'), databaseTime: of('databaseTime') },
    };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {pg.Client} client
 * @returns octets of the tables and of their indexes, and their rows
 */
async function storedIn(client) {
  const { rows } = await client.query(
    `SELECT relname AS name, reltuples::float8 AS rows, pg_table_size(oid)::float8 AS table, pg_indexes_size(oid)::float8 AS indexes
       FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 100
      ORDER BY pg_total_relation_size(oid) DESC`,
  );
  return rows.map(({ name, rows: count, table, indexes }) => ({ name, rows: count, table, indexes }));
}

/** @param {Awaited<ReturnType<typeof storedIn>>} stored */
function octetsOf(stored) {
  return stored.reduce((sum, { table, indexes }) => sum + table + indexes, 0);
}

/** @param {Awaited<ReturnType<typeof measureSize>>[]} results */
function report(results) {
  const cost = (/** @type {Imported} */ { importerTime, databaseTime: database }) =>
    `${whole(importerTime)} + ${whole(database)}`;
  printTable(
    [
      'domains',
      'first observations/s',
      'µs each, importer + database',
      'unchanged observations/s',
      'µs each',
      'requests/s',
      'median; 99 of 100',
      'µs each, service + database',
      'octets per domain',
      'of the log, first; unchanged',
      'importer',
    ],
    results.map(({ size, first, unchanged, request, stored, fill }) => [
      whole(size),
      whole(first.rate),
      cost(first),
      whole(unchanged.rate),
      cost(unchanged),
      whole(request.rate),
      `${request.latency.toFixed(1)} ms; ${request.slow.toFixed(1)} ms`,
      `${whole(request.serverTime)} + ${whole(request.databaseTime)}`,
      whole(octetsOf(stored) / size),
      `${whole(first.logged)}; ${whole(unchanged.logged)}`,
      `${Math.max(first.memory, fill.memory)} MB`,
    ]),
  );
  const bars = (/** @type {string} */ title, /** @type {(result: typeof results[number]) => number} */ of) =>
    printBars(
      title,
      results.map((result) => [whole(result.size), of(result)]),
    );
  bars('processor time of a request, in µs', ({ request }) => request.serverTime + request.databaseTime);
  bars('of a first observation, in µs', ({ first }) => first.importerTime + first.databaseTime);
  bars(
    'of an observation that changes nothing, in µs',
    ({ unchanged }) => unchanged.importerTime + unchanged.databaseTime,
  );
  bars('octets of a domain', ({ stored, size }) => octetsOf(stored) / size);
  const largest = results.at(-1);
  if (largest === undefined) return;
  console.log(`\nOf ${whole(largest.size)} domains:\n`);
  printTable(
    ['table', 'rows', 'octets per row', 'with indexes', 'per domain'],
    largest.stored.map(({ name, rows, table, indexes }) => [
      name,
      whole(rows),
      whole(table / rows),
      whole((table + indexes) / rows),
      whole((table + indexes) / largest.size),
    ]),
  );
}
