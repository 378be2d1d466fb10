import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { ROOT } from './run.js';

// Takes the pictures of the page in docs/screenshots, of the sample domains, with Debian's Chromium: npm run screenshots.

const OUTPUT = join(ROOT, 'docs/screenshots');
const SIZE = { width: 1100, height: 760 };

const VIEWS = {
  start: '/',
  timeline: '/domains/example.com',
  difference: '/domains/example.com?from=2023-02-01T00%3A00%3A00.000000Z&to=2023-12-01T00%3A00%3A00.000000Z',
};

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });
}

/** @param {string} url */
async function answering(url) {
  for (let attempt = 0; attempt < 120; attempt += 1) {
    const isReady = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`The service does not answer at ${url}.`);
}

const folder = mkdtempSync(join(tmpdir(), 'dms-screenshots-'));
const port = await freePort();
const service = spawn(process.execPath, [join(ROOT, 'bin/dms.js'), 'serve'], {
  env: { ...process.env, DATABASE_URL: '', DATA_DIR: join(folder, 'data'), PORT: String(port) },
  stdio: 'ignore',
});
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const url = `http://127.0.0.1:${port}`;
  await answering(`${url}/readyz`);
  mkdirSync(OUTPUT, { recursive: true });
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, path] of Object.entries(VIEWS)) {
      const page = await browser.newPage({ colorScheme, viewport: SIZE });
      await page.goto(url + path);
      await page.locator('.change').first().waitFor();
      if (name === 'difference') {
        await page.locator('table.difference').waitFor();
        await page.mouse.wheel(0, 420);
      }
      // Until the page has been scrolled.
      await page.waitForTimeout(500);
      const session = await page.context().newCDPSession(page);
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 70 });
      writeFileSync(join(OUTPUT, `${name}-${colorScheme}.webp`), Buffer.from(data, 'base64'));
      await page.close();
    }
  }
} finally {
  await browser.close();
  service.kill('SIGTERM');
  await new Promise((resolve) => service.once('exit', resolve));
  rmSync(folder, { recursive: true });
}
