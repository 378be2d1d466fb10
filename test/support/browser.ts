import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => existsSync(file));

/** Starts it without a window, so that it finds no host but loopback. As root it has no sandbox. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM }),
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'],
  });
}

export interface WatchedPage {
  readonly page: Page;
  /** The origins of all addresses that were asked for, once each. */
  readonly origins: ReadonlySet<string>;
  /** What the browser had to say, errors and warnings (those of a policy too), and what was thrown. */
  readonly complaints: readonly string[];
}

/** Opens a page of a server on loopback. @param opener A browser opens each in a context of its own. */
export async function openPage(opener: Browser | BrowserContext, url: string): Promise<WatchedPage> {
  const page = await opener.newPage();
  const origins = new Set<string>();
  const complaints: string[] = [];
  // Those of data: have none.
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, origins, complaints };
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** What axe-core finds of WCAG 2.2, levels A and AA, a line each. */
export async function violationsIn(page: Page): Promise<string[]> {
  // Not a script of the page: its policy would not allow it.
  await page.evaluate(AXE);
  return page.evaluate(`axe
    .run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, any }) => id + ': ' + html + ' ' + any.map((each) => each.message).join(' '))))`);
}
