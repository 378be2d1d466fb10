/**
 * What several processes on one port give (`dms serve --workers`), and what a request takes in each part of the machine. See
 * README.md.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { isInstalled, run, startServer } from './processes.js';
import { collectTags, GET_DOMAIN, inCheckout } from './read/contestants.js';
import { fill } from './read/fill.js';
import { processorTime, processorTimes, spentBetween, timeOfEndedChildren } from './read/processor-time.js';
import { measure } from './read/wrk.js';
import { complain, median, printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

/** @typedef {import('./processes.js').RunningServer} RunningServer */
/** @typedef {Awaited<ReturnType<typeof measureOnce>>} Round */

const PROGRAM = inCheckout('bin/dms.js');
const CGROUPS = '/sys/fs/cgroup/cpu';
/** In microseconds: short, so that a process is not stopped for long. */
const PERIOD = 20_000;

const { values: options } = parseArgs({
  options: {
    workers: { type: 'string', default: '1,2' },
    share: { type: 'string' },
    domains: { type: 'string', default: '50000' },
    connections: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
  },
});
const counts = options.workers.split(',').map(Number);
const domains = Number(options.domains);
const seconds = Number(options.seconds);

/** @type {RunningServer[]} */
const servers = [];
/** @type {string[]} */
const groups = [];

await main();

async function main() {
  const serverUrl = process.env['DATABASE_URL'];
  if (!serverUrl || !(await isInstalled('wrk')))
    return complain(
      'Set DATABASE_URL to a PostgreSQL server, and install wrk (Debian: apt-get install wrk).',
    );
  if (options.share !== undefined && !existsSync(join(CGROUPS, 'cgroup.procs')))
    return complain(`--share needs control groups of version 1, in ${CGROUPS}.`);
  const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
  const database = await createScratchDatabase(serverUrl);
  const client = new pg.Client({ connectionString: database.url });
  try {
    await client.connect();
    const { code, stderr } = await run(process.execPath, [PROGRAM, 'migrate'], {
      DATABASE_URL: database.url,
    });
    if (code !== 0) throw new Error(`dms migrate: ${stderr}`);
    await fill(client, domains);
    for (const kind of await kindsOf(database.url, folder))
      report(kind.title, await measureAll(kind, client));
  } finally {
    for (const server of servers) await server.stop();
    for (const group of groups) rmdirSync(group);
    await client.end();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {string} databaseUrl
 * @param {string} folder
 */
async function kindsOf(databaseUrl, folder) {
  const uncached = await startAll(databaseUrl, folder, '0');
  const cached = await startAll(databaseUrl, folder, '24');
  const [some = cached[0]] = cached;
  const tagsFile = some && (await collectTags({ domains, folder }, some));
  return [
    { title: 'REST', servers: uncached, load: {} },
    { title: "REST, Zipf's law", servers: cached, load: { popularity: /** @type {const} */ ('zipf') } },
    { title: 'REST, 304', servers: cached, load: { tagsFile } },
  ];
}

/**
 * @param {string} databaseUrl
 * @param {string} folder for logs
 * @param {string} megabytes that are kept
 */
async function startAll(databaseUrl, folder, megabytes) {
  const started = [];
  for (const workers of counts) {
    const environment = {
      ...{ DATABASE_URL: databaseUrl, ROLE: 'api', NODE_ENV: 'production', CACHE_MB: megabytes },
      ...{ RATE_LIMIT_ANONYMOUS: '1000000000', LOG_LEVEL: 'info' },
    };
    const log = join(folder, `${servers.length}.log`);
    const server = await startServer([PROGRAM, 'serve', '--workers', String(workers)], environment, log);
    servers.push(server);
    // It answers as soon as one of them serves.
    while (workers > 1 && childrenOf(server).length < workers) await pause(50);
    await pause(2_000);
    if (options.share !== undefined) for (const pid of servingIn(server)) limit(pid, Number(options.share));
    started.push(server);
  }
  return started;
}

/** @param {RunningServer} server */
function childrenOf({ child: { pid } }) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** @param {RunningServer} server */
function servingIn(server) {
  const children = childrenOf(server);
  return children.length > 0 ? children : [server.child.pid ?? 0];
}

/**
 * Gives a process a part of a processor at most, as if it had a slow one for itself.
 *
 * @param {number} pid
 * @param {number} share
 */
function limit(pid, share) {
  const group = join(CGROUPS, `dms-bench-${pid}`);
  mkdirSync(group);
  groups.push(group);
  writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD));
  writeFileSync(join(group, 'cpu.cfs_quota_us'), String(PERIOD * share));
  writeFileSync(join(group, 'cgroup.procs'), String(pid));
}

/**
 * In turn, so that what else the machine does falls on all alike; the first round does not count.
 *
 * @param {Awaited<ReturnType<typeof kindsOf>>[number]} kind
 * @param {pg.Client} client
 */
async function measureAll(kind, client) {
  /** @type {Round[][]} */
  const measured = counts.map(() => []);
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const [place, server] of kind.servers.entries()) {
      const result = await measureOnce(server, kind.load, client, round === 0 ? 8 : seconds);
      console.error(`round ${round}: ${kind.title}, ${counts[place]}: ${whole(result.rate)}/s`);
      if (round > 0) measured[place]?.push(result);
    }
  }
  return measured;
}

/**
 * @param {RunningServer} server
 * @param {{ popularity?: 'zipf', tagsFile?: string | undefined }} load
 * @param {pg.Client} client
 * @param {number} duration in seconds
 * @returns `rate`: requests a second; `serving`, `first`, `database`, `client`: processor time of a request, in microseconds; `idle`:
 *   which part of the processors computed nothing
 */
async function measureOnce(server, { popularity, tagsFile }, client, duration) {
  const url = server.url + GET_DOMAIN;
  const load = {
    url,
    domains,
    popularity,
    tagsFile,
    bodyFile: undefined,
    connections: Number(options.connections),
  };
  await measure({ ...load, seconds: 2 });
  const serving = servingIn(server);
  const { pid } = server.child;
  const timesOf = () => ({
    serving: serving.reduce((sum, id) => sum + processorTime(id), 0),
    all: processorTime(pid) + childrenOf(server).reduce((sum, id) => sum + processorTime(id), 0),
    client: timeOfEndedChildren(),
    machine: machineTimes(),
  });
  const database = await processorTimes(pid, client);
  const before = timesOf();
  const { rate, latency } = await measure({ ...load, seconds: duration });
  const after = timesOf();
  const requests = rate * duration;
  const of = (/** @type {'serving' | 'all' | 'client'} */ part) => (after[part] - before[part]) / requests;
  return {
    ...{ rate, latency, serving: of('serving'), first: of('all') - of('serving'), client: of('client') },
    database: spentBetween(database, await processorTimes(pid, client)).database / requests,
    idle: (after.machine.idle - before.machine.idle) / (after.machine.all - before.machine.all),
  };
}

/** All processors together. */
function machineTimes() {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const times = line.split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, waiting = 0] = times;
  return { idle: idle + waiting, all: times.reduce((sum, time) => sum + time, 0) };
}

/**
 * @param {string} title
 * @param {Round[][]} measured
 */
function report(title, measured) {
  const [reference = []] = measured;
  const rows = measured.map((rounds, place) => {
    const of = (/** @type {keyof Round} */ key) => median(rounds.map((round) => round[key]));
    const ratio = median(rounds.map(({ rate }, round) => rate / (reference[round]?.rate ?? Number.NaN)));
    return [
      counts[place] ?? 0,
      `${whole(of('rate'))} (${ratio.toFixed(2)})`,
      `${of('latency').toFixed(1)} ms`,
      ...[of('serving'), of('first'), of('database'), of('client')].map((time) => `${whole(time)} µs`),
      `${whole(of('idle') * 100)} %`,
    ];
  });
  console.log(`\n${title}\n`);
  const parts = ['serving', 'first process', 'PostgreSQL', 'wrk'];
  printTable(['processes', 'requests/s (ratio)', 'median', ...parts, 'idle'], rows);
}
