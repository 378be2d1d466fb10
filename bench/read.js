/**
 * How fast a domain's history is read: our service beside a hand-written server and beside Express with
 * a constant body, on one machine in one run. See README.md.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { isInstalled, peakMemory, run, startServer } from './processes.js';
import { domainName, fill } from './read/fill.js';
import { processorTimes, spentBetween } from './read/processor-time.js';
import { measure } from './read/wrk.js';
import { median, printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

/** @typedef {import('./processes.js').RunningServer} RunningServer */
/** @typedef {{ title: string, server: RunningServer, path: string, bodyFile?: string }} Contestant */
/** @typedef {{ rates: number[], latencies: number[], costs: number[] }} Results `costs`: see measureOnce */

const GET_DOMAIN = '/api/v1/domain/';

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '50000' },
    connections: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '3' },
  },
});
const domains = Number(options.domains);

/** @type {RunningServer[]} */
const servers = [];
const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));

await main();

async function main() {
  const serverUrl = process.env['DATABASE_URL'];
  if (!serverUrl)
    return complain(
      'Set DATABASE_URL to a PostgreSQL server, such as postgresql://user:password@127.0.0.1:5432/postgres: the figures are for PostgreSQL.',
    );
  if (!(await isInstalled('wrk')))
    return complain('Install wrk, the load generator (Debian: apt-get install wrk).');
  const database = await createScratchDatabase(serverUrl);
  const client = new pg.Client({ connectionString: database.url });
  try {
    await client.connect();
    await prepare(database.url, client);
    const contestants = await startContestants(database.url);
    report(contestants, await measureInterleaved(contestants, client));
  } finally {
    for (const server of servers) await server.stop();
    await client.end();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} line */
function complain(line) {
  console.error(line);
  process.exitCode = 1;
}

/** @param {string} path in the checkout */
function inCheckout(path) {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
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
 * @param {string} databaseUrl
 * @returns {Promise<Contestant[]>}
 */
async function startContestants(databaseUrl) {
  const sql = await start('bench/read/hand-written-sql.js', [], { DATABASE_URL: databaseUrl });
  const ours = await start('bin/dms.js', ['serve'], {
    DATABASE_URL: databaseUrl,
    RATE_LIMIT_ANONYMOUS: '1000000000',
    RATE_LIMIT_TOKEN: '1000000000',
  });
  const answer = await sameAnswer(sql, ours);
  const constantFile = join(folder, 'answer.json');
  writeFileSync(constantFile, answer);
  const constant = await start('bench/read/express-constant.js', [], { BODY_FILE: constantFile });
  const bodyFile = await graphqlBody(ours, answer);
  console.error(`An answer of Get domain has ${whole(Buffer.byteLength(answer))} bytes`);
  return [
    { title: 'node:http, hand-written SQL', server: sql, path: GET_DOMAIN },
    { title: 'this service, REST', server: ours, path: GET_DOMAIN },
    { title: 'this service, GraphQL POST', server: ours, path: '/graphql', bodyFile },
    { title: 'Express 5, constant body', server: constant, path: GET_DOMAIN },
  ];
}

/**
 * @param {string} script
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} environment
 */
async function start(script, args, environment) {
  const log = join(folder, `${servers.length}.log`);
  const server = await startServer([inCheckout(script), ...args], environment, log);
  servers.push(server);
  return server;
}

/**
 * Holds the yardstick and the service to the same work: their answers are the same bytes.
 *
 * @param {RunningServer} sql
 * @param {RunningServer} ours
 * @returns {Promise<string>} the first domain's
 */
async function sameAnswer(sql, ours) {
  for (const number of [domains, Math.ceil(domains / 2), 1]) {
    const path = GET_DOMAIN + domainName(number);
    const [expected, found] = await Promise.all(
      [sql, ours].map(async ({ url }) => (await fetch(url + path)).text()),
    );
    if (expected !== found) throw new Error(`${path} differs:\n${expected}\n${found}`);
    if (number === 1 && expected !== undefined) return expected;
  }
  throw new Error('no domain was asked for');
}

/**
 * Writes the body of the GraphQL request, and tries it once: its answer is to hold what Get domain's does.
 *
 * @param {RunningServer} ours
 * @param {string} answer of Get domain for the first domain
 * @returns {Promise<string>} the file
 */
async function graphqlBody(ours, answer) {
  const query = readFileSync(inCheckout('bench/read/get-domain.graphql'), 'utf8');
  const body = JSON.stringify({ query, variables: { name: domainName(1) } });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${ours.url}/graphql`, { method: 'POST', headers, body });
  const { data, errors } = JSON.parse(await response.text());
  const { dnsRecords, httpHeaders } = JSON.parse(answer);
  const equal =
    JSON.stringify(data?.domain?.httpHeaders) === JSON.stringify(httpHeaders) &&
    data.domain.dnsRecords.length === dnsRecords.length;
  if (errors || !equal) throw new Error(`GraphQL answers ${JSON.stringify(errors ?? data)}`);
  const file = join(folder, 'query.json');
  writeFileSync(file, body);
  return file;
}

/**
 * Measures all of them in turn, again and again, so that what else the machine does falls on all alike.
 * The first round warms up and does not count.
 *
 * @param {Contestant[]} contestants
 * @param {pg.Client} client of the database
 * @returns {Promise<Results[]>}
 */
async function measureInterleaved(contestants, client) {
  /** @type {Results[]} */
  const results = contestants.map(() => ({ rates: [], latencies: [], costs: [] }));
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const [index, contestant] of contestants.entries()) {
      const { rate, latency, cost } = await measureOnce(contestant, client);
      console.error(`round ${round}: ${contestant.title}: ${whole(rate)}/s`);
      if (round === 0) continue;
      results[index]?.rates.push(rate);
      results[index]?.latencies.push(latency);
      results[index]?.costs.push(cost);
    }
  }
  return results;
}

/**
 * @param {Contestant} contestant
 * @param {pg.Client} client
 * @returns `cost`: microseconds of processor time that a request took, in the server and in PostgreSQL
 */
async function measureOnce({ server, path, bodyFile }, client) {
  const before = await processorTimes(server.child.pid, client);
  const seconds = Number(options.seconds);
  const connections = Number(options.connections);
  const { rate, latency } = await measure({
    url: server.url + path,
    bodyFile,
    domains,
    connections,
    seconds,
  });
  const after = await processorTimes(server.child.pid, client);
  return { rate, latency, cost: spentBetween(before, after) / (rate * seconds) };
}

/**
 * @param {Contestant[]} contestants
 * @param {Results[]} results
 */
function report(contestants, results) {
  const rows = contestants.map(({ title }, index) => {
    const { rates, latencies, costs } = results[index] ?? { rates: [], latencies: [], costs: [] };
    return [
      title,
      whole(median(rates)),
      `${whole(Math.min(...rates))} to ${whole(Math.max(...rates))}`,
      `${median(latencies).toFixed(1)} ms`,
      `${whole(median(costs))} µs`,
      medianRatio(rates, results[0]),
      medianRatio(rates, results.at(-1)),
    ];
  });
  printTable(
    ['server', 'requests/s', 'rounds', 'latency', 'processor time', '÷ hand-written SQL', '÷ Express'],
    rows,
  );
  const [, ours] = servers;
  if (ours) console.log(`\nPeak memory of the service: ${peakMemory(ours.child)} MB`);
}

/**
 * Each round is compared with its own neighbour in time, so that a slow minute does not favour anybody.
 *
 * @param {number[]} rates
 * @param {Results | undefined} other
 */
function medianRatio(rates, other) {
  return median(rates.map((rate, round) => rate / (other?.rates[round] ?? Number.NaN))).toFixed(2);
}
