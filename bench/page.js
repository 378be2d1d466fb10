/**
 * How fast the page opens large histories, and how smooth their timelines are. See README.md.
 */

import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { run, startServer } from './processes.js';
import { median, printTable } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const DMS = fileURLToPath(new URL('../bin/dms.js', import.meta.url));
const ROUNDS = 5;

const serverUrl = process.env['DATABASE_URL'];
if (serverUrl === undefined)
  throw new Error('DATABASE_URL is not set: give the address of a PostgreSQL server.');

const folder = mkdtempSync(join(tmpdir(), 'dms-bench-page-'));
const database = await createScratchDatabase(serverUrl);
const environment = { DATABASE_URL: database.url, SAMPLES: 'off', RATE_LIMIT_ANONYMOUS: '1000000000' };
try {
  const file = join(folder, 'histories.ndjson');
  await writeHistories(file);
  const imported = await run(process.execPath, [DMS, 'import', file], environment);
  if (imported.code !== 0) throw new Error(imported.stderr);
  const service = await startServer([DMS, 'serve'], environment, join(folder, 'log'));
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    const rows = [];
    for (const [domain, what] of [
      ['many.example', '2,075 records, 300 headers of 21 values'],
      ['rotating.example', '172,401 records: two new addresses a minute'],
    ]) {
      // The first one has the service compile the queries.
      await measure(browser, `${service.url}/domains/${domain}`);
      /** @type {Awaited<ReturnType<typeof measure>>[]} */
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        rounds.push(await measure(browser, `${service.url}/domains/${domain}`));
      }
      /** @param {(of: Awaited<ReturnType<typeof measure>>) => number} figure */
      const of = (figure) => String(Math.round(median(rounds.map(figure))));
      rows.push([
        what ?? '',
        of(({ shown }) => shown),
        of(({ loaded }) => loaded),
        of(({ longest }) => longest),
        of(({ frame }) => frame),
        of(({ cost }) => cost),
      ]);
    }
    printTable(
      ['history', 'timeline, ms', 'loaded, ms', 'longest task while moved, ms', 'longest frame, ms', 'cost'],
      rows,
    );
  } finally {
    await browser.close();
    await service.stop();
  }
} finally {
  await database.drop();
  rmSync(folder, { recursive: true });
}

/** @param {string} file */
async function writeHistories(file) {
  const out = createWriteStream(file);
  const start = Date.UTC(2024, 0, 1);
  /** @param {number} seconds @param {object} of */
  const write = (seconds, of) =>
    out.write(`${JSON.stringify({ observedAt: new Date(start + seconds * 1000).toISOString(), ...of })}\n`);
  const lasting = [
    ...Array.from({ length: 300 }, (_, n) => address(`h${n}.many.example`, `10.0.${n >> 8}.${n & 255}`)),
    ...Array.from({ length: 200 }, (_, n) => ({
      ...{ host: 'many.example', class: 'IN', type: 'TXT' },
      txt: `token-${n}=${'x'.repeat(20)}`,
    })),
  ];
  for (let version = 0; version < 21; version += 1) {
    const changing = Array.from({ length: 75 }, (_, n) => ({
      ...{ host: n % 2 === 0 ? 'www.many.example' : 'many.example', class: 'IN', type: 'AAAA' },
      ipv6: `2001:db8:${version}::${n.toString(16)}`,
    }));
    const headers = Array.from({ length: 300 }, (_, n) => [
      `x-header-${n}`,
      `${n} of version ${version}; path=/`,
    ]);
    write(version * 864_000, {
      domain: 'many.example',
      dnsRecords: [...lasting, ...changing],
      httpHeaders: Object.fromEntries(headers),
    });
  }
  for (let minute = 0; minute < 86_200; minute += 1) {
    const ofMinute = [minute * 2, minute * 2 + 1].map((n) =>
      address('rotating.example', `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`),
    );
    const server = { host: 'rotating.example', class: 'IN', type: 'NS', target: 'ns1.example' };
    write(minute * 60, { domain: 'rotating.example', dnsRecords: [server, ...ofMinute] });
  }
  await new Promise((resolve) => out.end(() => resolve(undefined)));
}

/** @param {string} host @param {string} ip */
function address(host, ip) {
  return { host, class: 'IN', type: 'A', ip };
}

/**
 * Opens a domain in a browser without a cache, and zooms, drags and scrolls its timeline.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 */
async function measure(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  let cost = 0;
  page.on('response', async (response) => {
    if (!response.url().endsWith('/graphql') || response.headers()['content-type']?.includes('json') !== true)
      return;
    cost += Number(/"cost":(\d+)/.exec(await response.text().catch(() => ''))?.[1] ?? 0);
  });
  const began = performance.now();
  await page.goto(url);
  const picture = page.getByRole('img', { name: /record sets and headers/ });
  await picture.waitFor();
  const shown = performance.now() - began;
  const loading = page.getByRole('button', { name: 'Loading…' });
  await loading.first().waitFor({ state: 'detached' });
  const loaded = performance.now() - began;
  await page.waitForTimeout(500);
  await page.evaluate(`
    tasks = []; frames = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
    last = performance.now();
    (function next() { requestAnimationFrame((now) => { frames.push(now - last); last = now; next(); }); })();`);
  const { x = 0, y = 0 } = (await picture.boundingBox()) ?? {};
  await page.mouse.move(x + 500, y + 50);
  await page.keyboard.down('Control');
  for (let step = 0; step < 8; step += 1) await page.mouse.wheel(0, -60);
  await page.keyboard.up('Control');
  await page.mouse.down();
  for (let step = 0; step < 60; step += 1) await page.mouse.move(x + 500 - step * 6, y + 50);
  await page.mouse.up();
  for (let step = 0; step < 20; step += 1) await page.mouse.wheel(0, 60);
  await page.waitForTimeout(600);
  /** @type {{ tasks: number[], frames: number[] }} */
  const { tasks, frames } = await page.evaluate('({ tasks, frames })');
  await context.close();
  return { shown, loaded, longest: Math.max(0, ...tasks), frame: Math.max(...frames), cost };
}
