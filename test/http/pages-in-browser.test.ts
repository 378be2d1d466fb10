import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../src/rest/v1/routes.js';
import { CHROMIUM, openPage, startBrowser } from '../support/browser.js';
import { IS_LONG } from '../support/long-form.js';
import { serviceOfFile, withSamples } from '../support/service.js';

describe.skipIf(CHROMIUM === undefined)('in a browser without the internet', () => {
  const service = serviceOfFile({}, withSamples);
  const based = serviceOfFile(() => ({ database: service.database, basePath: '/a/dms' }));
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  const places = [
    ['under a base path', () => based],
    // Seconds of processor time for each page.
    ...(IS_LONG ? ([['at the root', () => service]] as const) : []),
  ] as const;

  test.each(places)('the documentation %s shows every operation, and executes it', async (_place, at) => {
    const { url, port } = at();
    const { page, origins, complaints } = await openPage(browser, `${url}/api/v1/docs`);
    const operations = page.locator('.opblock-summary');
    await operations.first().waitFor();
    const summaries = ROUTES.map(({ summary }) => expect.stringContaining(summary));
    expect(await operations.allInnerTexts()).toEqual(summaries);
    await operations.first().click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    expect(await page.getByPlaceholder('domain').inputValue(), 'a name of the samples').toBe('example.com');
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table').getByText('"lastUpdate"').waitFor();
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([`http://127.0.0.1:${port}`]);
    await page.close();
  });

  test('the documentation shows a lock where a token is needed: closed until there is one', async () => {
    const { page } = await openPage(browser, `${service.url}/api/v1/docs`);
    const locks = page.locator('.opblock .authorization__btn');
    const labels = () => locks.evaluateAll((all) => all.map((lock) => lock.getAttribute('aria-label')));
    await locks.first().waitFor();
    const { length } = ROUTES.filter(({ scope }) => scope !== null && scope !== 'search:read');
    expect(await labels()).toEqual(Array(length).fill('authorization button locked'));
    await page.locator('.btn.authorize.locked').click();
    await page.getByLabel('auth-bearer-value').fill(await service.createToken());
    await page.getByRole('button', { name: 'Apply credentials' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await labels()).toEqual(Array(length).fill('authorization button unlocked'));
    await page.locator('.opblock-summary').nth(1).click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table').getByText('"lastUpdate"').waitFor();
    await page.close();
  });

  test.each(places)('GraphiQL %s runs its ready queries, and shows what changes', async (_, at) => {
    const { url, port } = at();
    const { page, origins, complaints } = await openPage(browser, `${url}/graphiql`);
    await page.locator('.graphiql-execute-button').click();
    await page.getByRole('menuitem', { name: 'WholeHistory' }).click();
    const result = page.locator('.result-window');
    await result.getByText('"2023-11-15T22:05:59.999990Z"').waitFor();
    expect(await result.innerText()).toContain('example.com');
    await page.locator('.graphiql-execute-button').click();
    await page.getByRole('menuitem', { name: 'Live' }).click();
    await result.getByText('endCursor').waitFor();
    // What is recorded a second time changes nothing.
    const domain = `live${Date.now()}.example`;
    await service.record({ domain, at: 1, headers: { server: 'nginx' } });
    await result.getByText(`"${domain}"`).waitFor();
    await page.locator('.graphiql-execute-button').click();
    await expect.poll(() => at().logged.some(({ aborted }) => aborted === true)).toBe(true);
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([`http://127.0.0.1:${port}`]);
    await page.close();
  });
});
