/**
 * How quickly the service rejects documents that are meant to do harm, and for how long its event loop
 * stands still meanwhile. See README.md.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort, startServer } from './processes.js';
import { processorTime } from './read/processor-time.js';
import { HOSTILE, WITHIN_LIMITS } from './reject/documents.js';
import { median, printTable, whole } from './report.js';

/** @typedef {import('./reject/documents.js').Asked} Asked */
/** @typedef {{ status: number, code: string, milliseconds: number, standstill: number }} Answer */

const { values: options } = parseArgs({ options: { times: { type: 'string', default: '20' } } });
const times = Number(options.times);
/** The first answers of a new process are slow: its code is not compiled yet. */
const WARM_UP = 5;

const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
const loopPort = await freePort();
const server = await startServer(
  [
    ...['--import', fileURLToPath(new URL('./reject/loop-delay.js', import.meta.url))],
    ...[fileURLToPath(new URL('../bin/dms.js', import.meta.url)), 'serve'],
  ],
  {
    LOOP_DELAY_PORT: String(loopPort),
    DATA_DIR: join(folder, 'data'),
    SAMPLES: 'off',
    ROLE: 'api',
    LOG_LEVEL: 'silent',
    RATE_LIMIT_ANONYMOUS: '1000000000',
  },
  join(folder, 'server.log'),
);
try {
  const rows = [];
  for (const asked of [...HOSTILE, ...WITHIN_LIMITS]) rows.push(await row(asked));
  printTable(
    ['document', 'kB', 'answer', 'time', 'slowest', 'standstill', 'longest', 'processor time'],
    rows,
  );
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}

/** @param {Asked} asked */
async function row(asked) {
  /** @type {Answer[]} */
  const answers = [];
  for (let time = -WARM_UP; time < 0; time += 1) await ask(asked, time);
  const before = processorTime(server.child.pid);
  for (let time = 0; time < times; time += 1) answers.push(await ask(asked, time));
  const computed = (processorTime(server.child.pid) - before) / times / 1000;
  const durations = answers.map(({ milliseconds }) => milliseconds);
  const standstills = answers.map(({ standstill }) => standstill);
  return [
    asked.title,
    whole(asked.query.length / 1000),
    `${answers[0]?.status} ${answers[0]?.code}`,
    `${median(durations).toFixed(1)} ms`,
    `${Math.max(...durations).toFixed(1)} ms`,
    `${median(standstills).toFixed(1)} ms`,
    `${Math.max(...standstills).toFixed(1)} ms`,
    `${computed.toFixed(1)} ms`,
  ];
}

/**
 * @param {Asked} asked
 * @param {number} time makes the document a new one: what was examined before is remembered
 * @returns {Promise<Answer>}
 */
async function ask({ query, variables }, time) {
  const body = JSON.stringify({ query: `#${time}\n${query}`, variables });
  await standstill();
  const began = performance.now();
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const answer = JSON.parse(await response.text());
  const milliseconds = performance.now() - began;
  const code = answer.errors?.[0]?.extensions?.code ?? '';
  return { status: response.status, code, milliseconds, standstill: await standstill() };
}

/** @returns {Promise<number>} milliseconds, since it was last asked */
async function standstill() {
  return JSON.parse(await (await fetch(`http://127.0.0.1:${loopPort}`)).text());
}
