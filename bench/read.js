/**
 * How fast a domain's history is read: our service beside a hand-written server, other GraphQL servers and servers
 * with a constant body, on one machine in one run. See README.md.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { isInstalled, peakMemory, run } from './processes.js';
import { compareWithAsked, medianRatio } from './read/asked.js';
import { inCheckout, startContestants } from './read/contestants.js';
import { compareFigures, figuresOf, TAKING_PART, writeFigures } from './read/figures.js';
import { fill } from './read/fill.js';
import { processorTimes, spentBetween } from './read/processor-time.js';
import { measure } from './read/wrk.js';
import { complain, median, printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

/** @typedef {import('./read/contestants.js').Contestant} Contestant */
/** @typedef {Awaited<ReturnType<typeof measureOnce>>} Round */

/** A noisy minute fails a comparison: it is repeated so often. */
const ATTEMPTS = 3;

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '50000' },
    connections: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '3' },
    'warm-up': { type: 'string', default: '10' },
    settle: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    'without-peers': { type: 'boolean', default: false },
    figures: { type: 'string' },
    'write-figures': { type: 'boolean', default: false },
    out: { type: 'string', default: inCheckout('bench/results/latest.json') },
  },
});
const domains = Number(options.domains);
const connections = Number(options.connections);
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const warmUp = Number(options['warm-up']);
const settle = Number(options.settle);

await main();

async function main() {
  const serverUrl = process.env['DATABASE_URL'];
  if (!serverUrl)
    return complain(
      'Set DATABASE_URL to a PostgreSQL server, such as postgresql://user:password@127.0.0.1:5432/postgres: the figures are for PostgreSQL.',
    );
  if (!(await isInstalled('wrk')))
    return complain('Install wrk, the load generator (Debian: apt-get install wrk).');
  /** @type {import('./processes.js').RunningServer[]} */
  const servers = [];
  const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
  const database = await createScratchDatabase(serverUrl);
  const client = new pg.Client({ connectionString: database.url });
  try {
    await client.connect();
    await prepare(database.url, client);
    const contestants = await startContestants({
      databaseUrl: database.url,
      domains,
      folder,
      servers,
      withPeers: !options['without-peers'],
      only: options.only,
    });
    if (options.figures === undefined) report(contestants, await measureInterleaved(contestants, client));
    else await keepFigures(contestants, client, options.figures);
  } finally {
    for (const server of servers) await server.stop();
    await client.end();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * Makes our tables and fills them.
 *
 * @param {string} databaseUrl
 * @param {pg.Client} client of the same database
 */
async function prepare(databaseUrl, client) {
  const { code, stderr } = await run(process.execPath, [inCheckout('bin/dms.js'), 'migrate'], {
    DATABASE_URL: databaseUrl,
  });
  if (code !== 0) throw new Error(`dms migrate: ${stderr}`);
  console.error(`Filling ${whole(domains)} domains`);
  await fill(client, domains);
}

/**
 * Measures all of them in turn, again and again, so that what else the machine does falls on all alike.
 * The first round is longer, and does not count: V8 has compiled what is frequent after some 10,000 requests.
 *
 * @param {Contestant[]} contestants
 * @param {pg.Client} client of the database
 * @returns {Promise<Map<string, Round[]>>} by the contestant's id
 */
async function measureInterleaved(contestants, client) {
  /** @type {Map<string, Round[]>} */
  const measured = new Map(contestants.map(({ id }) => [id, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const contestant of contestants) {
      const result = await measureOnce(contestant, client, round === 0 ? warmUp : seconds);
      console.error(`round ${round}: ${contestant.title}: ${whole(result.rate)}/s`);
      if (round > 0) measured.get(contestant.id)?.push(result);
    }
  }
  return measured;
}

/**
 * @param {Contestant} contestant
 * @param {pg.Client} client
 * @param {number} seconds
 * @returns `rate`: requests a second; `latency` and `slow`: its median and 99th percentile, in milliseconds;
 *   `serverTime` and `databaseTime`: processor time of a request, in microseconds
 */
async function measureOnce({ server, path, popularity, bodyFile, tagsFile }, client, seconds) {
  const load = { url: server.url + path, domains, popularity, bodyFile, tagsFile, connections };
  // While a server waits for its turn, V8 gives memory and compiled code back.
  if (settle > 0) await measure({ ...load, seconds: settle });
  const before = await processorTimes(server.child.pid, client);
  const measured = await measure({ ...load, seconds });
  const spent = spentBetween(before, await processorTimes(server.child.pid, client));
  const requests = measured.rate * seconds;
  return { ...measured, serverTime: spent.server / requests, databaseTime: spent.database / requests };
}

/**
 * Writes the figures of this run, or compares them with those of the file: the process fails if one has grown.
 *
 * @param {Contestant[]} all
 * @param {pg.Client} client
 * @param {string} file
 */
async function keepFigures(all, client, file) {
  const contestants = all.filter(({ id }) => TAKING_PART.includes(id));
  if (options['write-figures']) {
    writeFigures(figuresOf(await measureInterleaved(contestants, client)), file);
    return;
  }
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const compared = compareFigures(figuresOf(await measureInterleaved(contestants, client)), file);
    const rows = compared.map(({ id, figure, kept, isWithin }) => [
      all.find((contestant) => contestant.id === id)?.title ?? id,
      figure.toFixed(2),
      kept.toFixed(2),
      isWithin ? 'yes' : 'no',
    ]);
    printTable(['server', 'processor time ÷ Express', 'in the repository', 'within a fifth'], rows);
    if (compared.every(({ isWithin }) => isWithin)) return;
  }
  complain(
    `A request takes more than a fifth more processor time than ${file} has. If that is intended: --write-figures.`,
  );
}

/**
 * Prints the results, and writes them to a file.
 *
 * @param {Contestant[]} contestants
 * @param {Map<string, Round[]>} measured
 */
function report(contestants, measured) {
  const rates = new Map([...measured].map(([id, results]) => [id, results.map(({ rate }) => rate)]));
  const results = contestants.map((contestant) =>
    summary(contestant, measured.get(contestant.id) ?? [], rates),
  );
  const asked = compareWithAsked(rates);
  printResults(results);
  console.log();
  printAsked(asked, contestants);
  const circumstances = { finished: new Date(), node: process.version, cores: availableParallelism() };
  const load = { domains, connections, seconds };
  mkdirSync(dirname(options.out), { recursive: true });
  writeFileSync(
    options.out,
    `${JSON.stringify({ ...circumstances, ...load, contestants: results, asked }, null, 2)}\n`,
  );
  console.error(`\nWritten to ${options.out}`);
}

/**
 * @param {Contestant} contestant
 * @param {Round[]} measured
 * @param {import('./read/asked.js').Rates} rates of all
 * @returns the medians of the rounds, and the rounds
 */
function summary({ id, title, server }, measured, rates) {
  const of = (/** @type {keyof Round} */ key) => median(measured.map((round) => round[key]));
  return {
    id,
    title,
    requestsPerSecond: of('rate'),
    medianMilliseconds: of('latency'),
    percentile99Milliseconds: of('slow'),
    serverMicroseconds: of('serverTime'),
    databaseMicroseconds: of('databaseTime'),
    peakMemoryMegabytes: peakMemory(server.child),
    ratioToHandWrittenSql: medianRatio(rates, id, 'sql'),
    rounds: measured,
  };
}

/** @param {ReturnType<typeof summary>[]} results */
function printResults(results) {
  const rows = results.map((result) => {
    const rates = result.rounds.map(({ rate }) => rate);
    return [
      result.title,
      whole(result.requestsPerSecond),
      `${whole(Math.min(...rates))} to ${whole(Math.max(...rates))}`,
      `${result.medianMilliseconds.toFixed(1)} ms`,
      `${result.percentile99Milliseconds.toFixed(1)} ms`,
      `${whole(result.serverMicroseconds)} µs`,
      `${whole(result.databaseMicroseconds)} µs`,
      `${result.peakMemoryMegabytes} MB`,
      result.ratioToHandWrittenSql.toFixed(2),
    ];
  });
  const times = ['median latency', '99 of 100', 'processor time', 'of PostgreSQL'];
  printTable(['server', 'requests/s', 'rounds', ...times, 'peak memory', '÷ hand-written SQL'], rows);
}

/**
 * @param {ReturnType<typeof compareWithAsked>} asked
 * @param {Contestant[]} contestants
 */
function printAsked(asked, contestants) {
  const titles = new Map(contestants.map(({ id, title }) => [id, title]));
  const rows = asked.map(({ ours, other, target, ratio, reached }) => [
    titles.get(ours) ?? ours,
    titles.get(other) ?? other,
    `≥ ${target}`,
    ratio.toFixed(2),
    reached ? 'yes' : 'no',
  ]);
  printTable(['asked', 'against', 'target', 'ratio', 'reached'], rows);
}
