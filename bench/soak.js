/**
 * Whether memory or latency grows under a steady load: half of the requests by REST and half by GraphQL, an import that goes on,
 * and readers of the feed. See README.md.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHistogram } from 'node:perf_hooks';
import { setInterval as every, setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { memoryNow, run, startServer } from './processes.js';
import { inCheckout } from './read/contestants.js';
import { domainName, fill } from './read/fill.js';
import { median, printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const PROGRAM = inCheckout('bin/dms.js');
const DOCUMENT = readFileSync(inCheckout('bench/read/get-domain.graphql'), 'utf8');
/** In milliseconds: how often requests are sent, as many as belong into it. */
const TICK = 20;

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    domains: { type: 'string', default: '50000' },
    rate: { type: 'string', default: '600' },
    writes: { type: 'string', default: '40' },
    readers: { type: 'string', default: '6' },
    changes: { type: 'string', default: '0' },
  },
});
const minutes = Number(options.minutes);
const domains = Number(options.domains);
const rate = Number(options.rate);
const writes = Number(options.writes);
const readers = Number(options.readers);
/** So many are recorded before: what a process meets that starts when another one has run for long. */
const changes = Number(options.changes);

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** What happened in the minute that is being measured. */
const latencies = { rest: createHistogram(), graphql: createHistogram() };
const counts = { sent: 0, failed: 0, events: 0, written: 0 };
let isOver = false;

await main();

async function main() {
  const serverUrl = process.env['DATABASE_URL'];
  if (!serverUrl) {
    console.error('Set DATABASE_URL to a PostgreSQL server: the figures are for PostgreSQL.');
    process.exitCode = 1;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
  const database = await createScratchDatabase(serverUrl);
  try {
    const environment = {
      DATABASE_URL: database.url,
      NODE_ENV: 'production',
      RATE_LIMIT_ANONYMOUS: '1000000000',
    };
    await run(process.execPath, [PROGRAM, 'migrate'], environment);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    console.error(`Filling ${whole(domains)} domains`);
    await fill(client, domains);
    await client.end();
    if (changes > 0) await change(environment);
    const server = await startServer([PROGRAM, 'serve'], environment, join(folder, 'log'));
    const importer = spawn(process.execPath, [PROGRAM, 'import', '-'], {
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    try {
      await load(server, importer);
    } finally {
      isOver = true;
      importer.stdin.end();
      await once(importer, 'close');
      agent.destroy();
      await server.stop();
    }
  } finally {
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {import('./processes.js').RunningServer} server
 * @param {import('node:child_process').ChildProcessByStdio<import('node:stream').Writable, null, null>} importer
 */
async function load({ url, child }, importer) {
  const running = [
    sendRequests(url),
    write(importer),
    ...Array.from({ length: readers }, (_, at) => read(url, at)),
  ];
  const rows = [];
  for (let minute = 1; minute <= minutes; minute += 1) {
    await pause(60_000);
    rows.push(minuteOf(minute, memoryNow(child), memoryNow(importer)));
    console.error(rows.at(-1)?.join('  '));
  }
  isOver = true;
  await Promise.all(running);
  report(rows);
}

/**
 * @param {number} minute
 * @param {number} memory
 * @param {number} importer
 */
function minuteOf(minute, memory, importer) {
  const of = (/** @type {import('node:perf_hooks').RecordableHistogram} */ histogram) => {
    const row = [histogram.percentile(50) / 1e6, histogram.percentile(99) / 1e6];
    histogram.reset();
    return row;
  };
  const row = [minute, memory, importer, ...of(latencies.rest), ...of(latencies.graphql)];
  const counted = [counts.sent, counts.failed, counts.written, counts.events];
  Object.assign(counts, { sent: 0, failed: 0, written: 0, events: 0 });
  return [...row.map((value) => Math.round(value * 100) / 100), ...counted];
}

/** Sends requests at a steady rate, whether or not those before are answered. @param {string} url */
async function sendRequests(url) {
  let sent = 0;
  const began = performance.now();
  for await (const _ of every(TICK)) {
    if (isOver) return;
    for (; sent < ((performance.now() - began) * rate) / 1000; sent += 1) {
      const name = domainName(1 + Math.floor(Math.random() * domains));
      if (sent % 2 === 0) send('rest', `${url}/api/v1/domain/${name}`);
      else send('graphql', `${url}/graphql`, JSON.stringify({ query: DOCUMENT, variables: { name } }));
    }
  }
}

/**
 * @param {'rest' | 'graphql'} kind
 * @param {string} url
 * @param {string} [body]
 */
function send(kind, url, body) {
  const began = performance.now();
  counts.sent += 1;
  const method = body === undefined ? 'GET' : 'POST';
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const fail = (/** @type {string} */ why) => {
    counts.failed += 1;
    if (counts.failed <= 5) console.error(`${new Date().toISOString()} ${kind}: ${why}`);
  };
  request(url, { method, headers, agent }, (response) => {
    if (response.statusCode !== 200) fail(`status ${response.statusCode}`);
    response.resume().on('end', () => latencies[kind].record(Math.round((performance.now() - began) * 1e6)));
  })
    .on('error', ({ message }) => fail(message))
    .end(body);
}

/** Records changes as write() does, at once. @param {NodeJS.ProcessEnv} environment */
async function change(environment) {
  console.error(`Recording ${whole(changes)} changes`);
  const importer = spawn(process.execPath, [PROGRAM, 'import', '-'], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const began = Date.now() - (changes * 1000) / writes;
  for (let at = 0; at < changes; at += 1) {
    const line = lineOf(new Date(began + (at * 1000) / writes));
    if (!importer.stdin.write(line)) await once(importer.stdin, 'drain');
  }
  importer.stdin.end();
  await once(importer, 'close');
}

/** Another address of a random domain. @param {Date} observedAt */
function lineOf(observedAt) {
  const domain = domainName(1 + Math.floor(Math.random() * domains));
  const ip = `198.51.100.${Math.floor(Math.random() * 256)}`;
  const dnsRecords = [{ host: domain, class: 'IN', type: 'A', ip }];
  return `${JSON.stringify({ domain, observedAt, dnsRecords, dnsTypes: ['A'] })}\n`;
}

/** Changes the address of a random domain, again and again. @param {{ stdin: import('node:stream').Writable }} importer */
async function write({ stdin }) {
  for await (const _ of every(1000 / writes)) {
    if (isOver) return;
    stdin.write(lineOf(new Date()));
    counts.written += 1;
  }
}

/**
 * Reads the feed: every other reader as events, the others page by page, once a second.
 *
 * @param {string} url
 * @param {number} at
 */
async function read(url, at) {
  if (at % 2 === 0) {
    const live = request(`${url}/api/v1/changes`, { headers: { accept: 'text/event-stream' } }).end();
    live.on('error', () => {});
    live.on('response', (response) => {
      response.setEncoding('utf8').on('data', (text) => {
        counts.events += text.split('\nid:').length - 1;
      });
      response.on('error', () => {});
    });
    while (!isOver) await pause(1000);
    live.destroy();
    return;
  }
  let after = '';
  while (!isOver) {
    const response = await fetch(`${url}/api/v1/changes?first=100${after}`);
    const page = /** @type {{ changes?: unknown[], next?: string }} */ (await response.json());
    if (response.status !== 200) counts.failed += 1;
    counts.events += page.changes?.length ?? 0;
    if (page.next) after = `&after=${encodeURIComponent(page.next)}`;
    await pause(1000);
  }
}

/** @param {number[][]} rows */
function report(rows) {
  const parts = 6;
  const size = Math.max(1, Math.floor(rows.length / parts));
  const medians = [];
  for (let from = 0; from + size <= rows.length; from += size) {
    const some = rows.slice(from, from + size);
    const of = (/** @type {number} */ column) => median(some.map((row) => row[column] ?? Number.NaN));
    const sum = (/** @type {number} */ column) => some.reduce((total, row) => total + (row[column] ?? 0), 0);
    medians.push([
      `${some[0]?.[0]} to ${some.at(-1)?.[0]}`,
      `${of(1)} MB`,
      `${of(2)} MB`,
      `${of(3)} ms; ${of(4)} ms`,
      `${of(5)} ms; ${of(6)} ms`,
      ...[7, 8, 9, 10].map((column) => whole(sum(column))),
    ]);
  }
  const latency = 'median; 99 of 100';
  printTable(
    [
      'minutes',
      'service',
      'importer',
      `REST: ${latency}`,
      `GraphQL: ${latency}`,
      'requests',
      'failed',
      'written',
      'changes read',
    ],
    medians,
  );
}
