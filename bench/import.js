/**
 * How fast `dms import` records, and how much memory it takes: the history of the DNS root zone, in
 * which nearly every observation repeats the one before, and first observations of many domains. See
 * README.md.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { firstObservation } from './import/first-observations.js';
import { linesOf } from './import/formats.js';
import { peakMemory } from './processes.js';
import { printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const PROGRAM = fileURLToPath(new URL('../bin/dms.js', import.meta.url));

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '100000' },
    'root-zone': { type: 'string', default: process.env['ROOT_ZONE_FILE'] ?? '' },
    formats: { type: 'string' },
    lines: { type: 'string', default: '1000000' },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));

try {
  const rows =
    options.formats === undefined ? await measureFiles() : await measureFormats(options.formats.split(','));
  const home = process.env['DATABASE_URL'] ? 'PostgreSQL' : 'the embedded database';
  console.log(`Importing into ${home}:\n`);
  printTable(['file', 'observations', 'seconds', 'observations/s', 'peak memory'], rows);
} finally {
  rmSync(folder, { recursive: true });
}

/** The root zone, and first observations. */
async function measureFiles() {
  const rows = [];
  if (options['root-zone'] === '')
    console.error('Without --root-zone FILE.ndjson.xz the root zone is left out.');
  else rows.push(...(await measureTwice('DNS root zone', await unpacked(options['root-zone']))));
  const title = `${whole(Number(options.domains))} first observations`;
  rows.push(...(await measureTwice(title, await generated(Number(options.domains)))));
  return rows;
}

/**
 * Lines of each format into a new database. Of `backfill`, the newer half of those of dms, and then the older half.
 *
 * @param {readonly string[]} formats
 */
async function measureFormats(formats) {
  const rows = [];
  const lines = Number(options.lines);
  for (const format of formats) {
    if (format === 'backfill') {
      const all = [...linesOf('dms', lines)];
      const [older, newer] = [all.slice(0, lines / 2), all.slice(lines / 2)];
      const inputs = [
        { title: 'newer half', file: await written(newer), args: [] },
        { title: 'older half, --backfill', file: await written(older), args: ['--backfill'] },
      ];
      rows.push(...(await measureAll(inputs)));
    } else {
      const file = await written(linesOf(/** @type {Parameters<typeof linesOf>[0]} */ (format), lines));
      rows.push(...(await measureAll([{ title: format, file, args: [] }])));
    }
  }
  return rows;
}

/** @param {Iterable<string>} lines */
async function written(lines) {
  const file = join(folder, `lines-${performance.now()}`);
  await pipeline(Readable.from(lines, { objectMode: true }), createWriteStream(file));
  return file;
}

/**
 * Unpacks an .xz file, so that the unpacking is not measured.
 *
 * @param {string} file
 * @returns {Promise<string>}
 */
async function unpacked(file) {
  const target = join(folder, 'root-zone.ndjson');
  const xz = spawn('xz', ['-dc', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(xz, 'close');
  await pipeline(xz.stdout, createWriteStream(target));
  const [code] = await closed;
  if (code !== 0) throw new Error(`xz could not unpack ${file}`);
  return target;
}

/**
 * @param {number} domains
 * @returns {Promise<string>}
 */
async function generated(domains) {
  const file = join(folder, 'first-observations.ndjson');
  const lines = (function* () {
    for (let number = 1; number <= domains; number += 1) yield firstObservation(number);
  })();
  await pipeline(Readable.from(lines, { objectMode: true }), createWriteStream(file));
  return file;
}

/**
 * Imports a file into a new database, and then once more, when everything is known.
 *
 * @param {string} title
 * @param {string} file
 */
function measureTwice(title, file) {
  return measureAll([
    { title, file, args: [] },
    { title: `${title}, a second time`, file, args: [] },
  ]);
}

/**
 * Imports files into one new database.
 *
 * @param {readonly { title: string, file: string, args: string[] }[]} inputs
 */
async function measureAll(inputs) {
  const server = process.env['DATABASE_URL'];
  const database = server ? await createScratchDatabase(server) : undefined;
  const environment = {
    DATABASE_URL: database?.url ?? '',
    DATA_DIR: join(folder, `data-${performance.now()}`),
  };
  try {
    const rows = [];
    for (const { title, file, args } of inputs) rows.push(await measure(title, [...args, file], environment));
    return rows;
  } finally {
    await database?.drop();
  }
}

/**
 * @param {string} title
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Promise<string[]>} a row of the table
 */
async function measure(title, args, environment) {
  const began = performance.now();
  const child = spawn(process.execPath, [PROGRAM, 'import', ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part) => {
      said += part;
    });
  }
  let memory = 0;
  const watch = setInterval(() => {
    memory = Math.max(memory, peakMemory(child));
  }, 50);
  const [code] = await once(child, 'close');
  clearInterval(watch);
  if (code !== 0) throw new Error(`dms import ended with ${code}:\n${said}`);
  const seconds = (performance.now() - began) / 1000;
  const lines = Number(/^lines read\s+([\d,]+)/m.exec(said)?.[1]?.replaceAll(',', ''));
  return [title, whole(lines), seconds.toFixed(1), whole(lines / seconds), `${memory} MB`];
}
