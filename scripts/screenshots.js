import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { startServer } from '../bench/processes.js';
import { ROOT } from './run.js';

// Takes the pictures of the page in docs/screenshots, of the sample domains, with Debian's Chromium: npm run screenshots.

const OUTPUT = join(ROOT, 'docs/screenshots');
const SIZE = { width: 1100, height: 760 };

const VIEWS = {
  start: '/',
  timeline: '/domains/example.com',
  difference: '/domains/example.com?from=2023-02-01T00%3A00%3A00.000000Z&to=2023-12-01T00%3A00%3A00.000000Z',
};

const folder = mkdtempSync(join(tmpdir(), 'dms-screenshots-'));
const environment = { DATABASE_URL: '', DATA_DIR: join(folder, 'data') };
const service = await startServer([join(ROOT, 'bin/dms.js'), 'serve'], environment, join(folder, 'log'));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  mkdirSync(OUTPUT, { recursive: true });
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, path] of Object.entries(VIEWS)) {
      const page = await browser.newPage({ colorScheme, viewport: SIZE });
      await page.goto(service.url + path);
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
  await service.stop();
  rmSync(folder, { recursive: true });
}
