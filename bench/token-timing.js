/**
 * Whether the time of a rejection tells why a token is rejected: unknown, expired, revoked and malformed tokens
 * in turn against a service on loopback. See README.md.
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startServer } from './processes.js';
import { median, printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const DMS = fileURLToPath(new URL('../bin/dms.js', import.meta.url));
/** Before the first one counts: connections, prepared statements and compiled code are there then. */
const WARM_UP = 200;
const KINDS = /** @type {const} */ (['unknown', 'expired', 'revoked', 'malformed']);

/** @typedef {(typeof KINDS)[number]} Kind */

const { values: options } = parseArgs({ options: { count: { type: 'string', default: '2000' } } });
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

await main();

async function main() {
  const serverUrl = process.env['DATABASE_URL'];
  if (!serverUrl) {
    console.error(
      'Set DATABASE_URL to a PostgreSQL server, such as postgresql://user:password@127.0.0.1:5432/postgres.',
    );
    process.exitCode = 1;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
  const database = await createScratchDatabase(serverUrl);
  const environment = {
    DATABASE_URL: database.url,
    ROLE: 'api',
    SAMPLES: 'off',
    LOG_LEVEL: 'info',
    RATE_LIMIT_ANONYMOUS: '1000000000',
  };
  try {
    const server = await startServer([DMS, 'serve'], environment, join(folder, 'log'));
    try {
      const tokens = await makeTokens(database.url, Number(options.count));
      const memory = () => memoryOf(Number(server.child.pid));
      await measure(server.url, tokens, WARM_UP);
      const before = memory();
      const times = await measure(server.url, tokens, Number(options.count));
      report(times, before, memory());
    } finally {
      await server.stop();
    }
  } finally {
    agent.destroy();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {string} databaseUrl
 * @param {number} count of each kind
 * @returns {Promise<Record<Kind, string[]>>} each token another one
 */
async function makeTokens(databaseUrl, count) {
  const make = () => Array.from({ length: count }, () => `dms_${randomBytes(32).toString('base64url')}`);
  const tokens = {
    unknown: make(),
    expired: make(),
    revoked: make(),
    malformed: make().map((text) => `${text}x`),
  };
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const insert = (/** @type {string} */ kind, /** @type {string[]} */ texts, /** @type {string} */ end) =>
    client.query(
      `INSERT INTO access_token (digest, name, scopes, created_at, ${end})
       SELECT digest, '${kind} ' || number, '{dns:read}', 1, 2
         FROM unnest($1::bytea[]) WITH ORDINALITY AS t (digest, number)`,
      [texts.map((text) => createHash('sha256').update(text).digest())],
    );
  await insert('expired', tokens.expired, 'expires_at');
  await insert('revoked', tokens.revoked, 'revoked_at');
  await client.query('VACUUM ANALYZE access_token');
  await client.end();
  return tokens;
}

/**
 * Asks with one token of each kind in turn, one request after the other, and in another order each time.
 *
 * @param {string} url
 * @param {Record<Kind, string[]>} tokens
 * @param {number} rounds
 * @returns {Promise<Record<Kind, number[]>>} microseconds
 */
async function measure(url, tokens, rounds) {
  /** @type {Record<Kind, number[]>} */
  const times = { unknown: [], expired: [], revoked: [], malformed: [] };
  for (let round = 0; round < rounds; round += 1) {
    const order = [...KINDS].sort(() => Math.random() - 0.5);
    for (const kind of order) times[kind].push(await timeOf(url, tokens[kind][round] ?? ''));
  }
  return times;
}

/**
 * @param {string} url
 * @param {string} token
 * @returns {Promise<number>} microseconds until the answer is complete
 */
function timeOf(url, token) {
  return new Promise((resolve, reject) => {
    const began = process.hrtime.bigint();
    const headers = { authorization: `Bearer ${token}` };
    get(`${url}/api/v1/domain/example.com`, { agent, headers }, (response) => {
      if (response.statusCode !== 401) reject(new Error(`the status is ${response.statusCode}`));
      response.resume().on('end', () => resolve(Number(process.hrtime.bigint() - began) / 1000));
    }).on('error', reject);
  });
}

/**
 * The share of pairs in which one kind's request took longer than the other's: 0.5 where nothing can be told
 * (the Mann-Whitney statistic, divided by the number of pairs), and how many standard deviations it is from
 * there.
 *
 * @param {number[]} one
 * @param {number[]} other
 */
function rankSum(one, other) {
  const all = [...one.map((time) => ({ time, own: true })), ...other.map((time) => ({ time, own: false }))];
  all.sort((first, second) => first.time - second.time);
  const ranks = all.reduce((sum, { own }, index) => sum + (own ? index + 1 : 0), 0);
  const pairs = one.length * other.length;
  const larger = ranks - (one.length * (one.length + 1)) / 2;
  const deviation = Math.sqrt((pairs * (one.length + other.length + 1)) / 12);
  return { share: larger / pairs, deviations: (larger - pairs / 2) / deviation };
}

/**
 * @param {Record<Kind, number[]>} times
 * @param {number} before the service's memory in MB
 * @param {number} after
 */
function report(times, before, after) {
  const rows = KINDS.map((kind) => {
    const sorted = [...times[kind]].sort((one, other) => one - other);
    const quantile = (/** @type {number} */ part) => whole(sorted[Math.floor(sorted.length * part)] ?? 0);
    const { share, deviations } = rankSum(times[kind], times.unknown);
    return [
      kind,
      whole(median(sorted)),
      quantile(0.1),
      quantile(0.9),
      share.toFixed(3),
      deviations.toFixed(1),
    ];
  });
  printTable(['token', 'median µs', '10 %', '90 %', 'slower than unknown', 'standard deviations'], rows);
  console.log(
    `${options.count} of each; the service's memory before: ${whole(before)} MB, after: ${whole(after)} MB`,
  );
}

/**
 * @param {number} processId
 * @returns {number} in MB
 */
function memoryOf(processId) {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1000;
}
