/**
 * What requests for a history of 58 MB cost that come together: the most memory that the service has, what
 * they are answered, and the latency of another client that asks for a small domain meanwhile. It takes
 * about two minutes. See README.md.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { peakMemory, run, startServer } from './processes.js';
import { median, printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const { values: options } = parseArgs({
  options: {
    // Another checkout's, to compare with.
    program: { type: 'string', default: fileURLToPath(new URL('../bin/dms.js', import.meta.url)) },
    records: { type: 'string', default: '430000' },
    together: { type: 'string', default: '6,30' },
  },
});

const serverUrl = process.env['DATABASE_URL'];
if (!serverUrl) throw new Error('Set DATABASE_URL to a PostgreSQL server: see README.md.');
const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
const database = await createScratchDatabase(serverUrl);
/** As if there were no limits, and whatever has been asked for in this minute. */
const environment = {
  DATABASE_URL: database.url,
  ROLE: 'api',
  RATE_LIMIT_ANONYMOUS: '1000000000',
  LIMIT_RECORDS_PER_TYPE: '1000000',
  LIMIT_RECORDS: '1000000',
  LIMIT_LINE: '64MB',
};
const GRAPHQL = JSON.stringify({
  query: '{ domain(name: "large.example") { dnsRecords { ... on DnsRecordEntry { type } } } }',
});

try {
  await record('large.example', Number(options.records));
  await record('small.example', 10);
  const rows = [];
  for (const count of options.together.split(',').map(Number)) {
    for (const api of ['REST', 'GraphQL']) rows.push(await measure(api, count));
  }
  printTable(
    [
      'requests together',
      'answers',
      'their octets',
      'all after',
      'peak memory',
      'small ones',
      'median',
      'longest',
    ],
    rows,
  );
} finally {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Imports one observation with so many A records.
 *
 * @param {string} domain
 * @param {number} count
 */
async function record(domain, count) {
  const dnsRecords = Array.from({ length: count }, (_, index) => ({
    host: domain,
    class: 'IN',
    type: 'A',
    ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
  }));
  const file = join(folder, `${domain}.ndjson`);
  writeFileSync(file, `${JSON.stringify({ domain, observedAt: '2024-01-01T00:00:00Z', dnsRecords })}\n`);
  const { code, stderr } = await run(process.execPath, [options.program, 'import', file], environment);
  if (code !== 0) throw new Error(`dms import ended with ${code}: ${stderr}`);
}

/**
 * @param {string} api
 * @param {number} count
 */
async function measure(api, count) {
  const server = await startServer([options.program, 'serve'], environment, join(folder, 'server.log'));
  try {
    await fetch(`${server.url}/api/v1/domain/small.example`);
    let done = false;
    const began = performance.now();
    const large = Promise.all(Array.from({ length: count }, () => askFor(api, server.url))).finally(() => {
      done = true;
    });
    const latencies = [];
    let rejected = 0;
    while (!done) {
      const asked = performance.now();
      const response = await fetch(`${server.url}/api/v1/domain/small.example`);
      await response.text();
      if (response.status !== 200) rejected += 1;
      latencies.push(performance.now() - asked);
    }
    const answers = await large;
    const seconds = (performance.now() - began) / 1000;
    return [
      `${count} × ${api}`,
      ...[tally(answers), whole(Math.max(...answers.map(({ octets }) => octets))), `${seconds.toFixed(1)} s`],
      ...[`${peakMemory(server.child)} MB`, `${whole(latencies.length)}, ${rejected} rejected`],
      ...[`${median(latencies).toFixed(0)} ms`, `${Math.max(...latencies).toFixed(0)} ms`],
    ];
  } finally {
    await server.stop();
  }
}

/**
 * Asks for the large domain and reads the answer.
 *
 * @param {string} api
 * @param {string} url
 * @returns {Promise<{ status: string, octets: number }>}
 */
async function askFor(api, url) {
  const asked =
    api === 'REST'
      ? get(`${url}/api/v1/domain/large.example`)
      : request(`${url}/graphql`, { method: 'POST', headers: { 'content-type': 'application/json' } });
  asked.end(api === 'REST' ? undefined : GRAPHQL);
  const [response] = await once(asked, 'response');
  let octets = 0;
  let head = '';
  for await (const chunk of response) {
    octets += chunk.length;
    if (head.length < 1000) head += chunk;
  }
  const code = /"code":"(\w+)"/.exec(head)?.[1];
  return {
    status: code === undefined ? String(response.statusCode) : `${response.statusCode} ${code}`,
    octets,
  };
}

/** @param {{ status: string }[]} answers */
function tally(answers) {
  const counts = new Map();
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} × ${status}`).join(', ');
}
