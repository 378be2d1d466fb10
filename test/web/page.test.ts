import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, BrowserContextOptions, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CHROMIUM, openPage, startBrowser, violationsIn, type WatchedPage } from '../support/browser.js';
import { IS_LONG } from '../support/long-form.js';
import {
  serviceOfFile,
  startServiceForTest,
  type TestServiceOptions,
  withSamples,
} from '../support/service.js';

/** Each takes seconds of processor time. */
const inLongForm = test.skipIf(!IS_LONG);
const rowsOf = <Row>(rows: readonly Row[], at = 0) => (IS_LONG ? rows : rows.slice(at, at + 1));

const service = serviceOfFile({}, withSamples);

const startBeside = (options: TestServiceOptions) =>
  startServiceForTest({ database: service.database, ...options });

describe.skipIf(CHROMIUM === undefined)('the page', () => {
  let browser: Browser;
  /** Shared by pages, so that the browser has what they load, and compiled; a tab has its own storage. */
  let context: BrowserContext;
  let opened: WatchedPage[] = [];

  beforeAll(async () => {
    browser = await startBrowser();
    context = await browser.newContext();
  });
  afterAll(() => browser.close());
  beforeEach(() => {
    opened = [];
  });
  afterEach(async () => {
    for (const { page, complaints, origins } of opened) {
      const { origin } = new URL(page.url());
      await page.close();
      expect(complaints, 'errors, warnings, and violations of the policy').toEqual([]);
      expect([...origins], 'requests').toEqual([origin]);
    }
  });

  async function open(path: string, options?: BrowserContextOptions, at = service): Promise<Page> {
    const opener = options === undefined ? context : await browser.newContext(options);
    const watched = await openPage(opener, at.url + path);
    opened.push(watched);
    return watched.page;
  }

  /** Allows the page's complaints of what a test does to it, and no others. */
  function withoutComplaints(expected: RegExp): void {
    opened = opened.map(({ complaints, ...watched }) => ({
      ...watched,
      complaints: complaints.filter((complaint) => !expected.test(complaint)),
    }));
  }

  const latestState = (page: Page) => page.getByRole('region', { name: 'Latest state', exact: true });
  const search = async (page: Page, text: string) => page.getByRole('searchbox').fill(text);

  /** What is shown of an element, white space as one blank. */
  const textOf = async (element: ReturnType<Page['locator']>) =>
    (await element.innerText()).replace(/\s+/g, ' ').trim();

  const matches = (page: Page, title: string) =>
    page.getByRole('region', { name: title }).last().locator('tbody tr');

  const searches = [
    ['exampl', 'Domains', 'example.com'],
    ['*.example.org', 'Domains', 'www.example.org'],
    ['bücher.example', 'Domains', 'xn--bcher-kva.example bücher.example'],
    ['203.0.113.81', 'Who has the address 203.0.113.81', 'www.example.org'],
    ['203.0.113.0/24', 'Who has an address of the network 203.0.113.0/24', 'example.net'],
    ['2001:db8::/32', 'Who has an address of the network 2001:db8::/32', 'example.com'],
    ['ns1.example.net', 'Whose records name the host ns1.example.net', 'example.com'],
    ['v=spf1', 'Whose TXT records have v=spf1', 'example.com'],
    ['server: nginx/1.24', 'Whose header server has nginx/1.24', 'example.com'],
  ] as const;
  test.each(rowsOf(searches, 2))('the page finds by what is typed: %s', async (text, title, domain) => {
    const page = await open('/');
    await search(page, text);
    await matches(page, title).getByRole('rowheader', { name: domain, exact: true }).first().waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe(text);
  });

  inLongForm('the page shows how much is known since when, the changes, and where the APIs are', async () => {
    const page = await open('/');
    const numbers = page.locator('.numbers');
    await numbers.getByText('31').waitFor();
    const counts = 'Domains 5 DNS records 31 HTTP headers 10 Changes and first sights 54 Since 2023-01-10';
    expect(await textOf(numbers)).toBe(counts);
    await page.locator('.feed > li').nth(6).waitFor();
    const links = page.getByRole('navigation', { name: 'APIs and documents' });
    expect(await links.innerText()).toContain('needs the internet');
    for (const link of await links.getByRole('link').all()) {
      const address = new URL((await link.getAttribute('href')) ?? '', service.url);
      expect((await fetch(address, { headers: { accept: 'text/html' } })).status).toBe(200);
    }
  });

  test('the page names the feed of what it shows, also after a click', async () => {
    const page = await open('/');
    const feed = () => page.locator('link[type="application/atom+xml"]').getAttribute('href');
    expect(await feed()).toBe('/api/v1/changes.atom');
    await search(page, 'exampl');
    await matches(page, 'Domains').getByRole('link', { name: 'example.com', exact: true }).click();
    await page.getByRole('img', { name: /record sets and headers/ }).waitFor();
    expect(await feed()).toBe('/api/v1/domain/example.com/changes.atom');
  });

  test('the page shows a timeline, as a picture and as a table with gaps, and when things were seen last', async () => {
    const page = await open('/domains/example.com');
    await page.getByRole('img', { name: /^11 record sets and headers/ }).waitFor();
    await page.getByRole('button', { name: 'As a table' }).click();
    const rows = page.getByRole('region', { name: 'Timeline as a table' }).getByRole('row');
    const linesOf = async (name: string) =>
      Promise.all((await rows.filter({ has: page.getByText(name, { exact: true }) }).all()).map(textOf));
    await rows.nth(15).waitFor();
    expect(await linesOf('x-powered-by')).toEqual([
      'x-powered-by PHP/8.1.2 2023-01-10 08:00:00 2023-03-02 08:00:00 2023-05-20 14:30:12 2 months to 4 months',
      'x-powered-by PHP/8.1.2 2023-08-01 06:15:00 2023-08-01 06:15:00 2023-11-15 22:05:59 0 seconds to 4 months',
    ]);
    expect(await linesOf('AAAA')).toEqual([
      'AAAA example.com 2001:db8::7 2023-01-10 08:00:00 2023-03-02 08:00:00 2023-05-20 14:30:12 2 months to 4 months',
      'AAAA example.com 2001:db8:1::23 2023-05-20 14:30:12 2023-05-20 14:30:12 –',
    ]);
  });

  const clickTimeline = async (page: Page, share: number, modifiers: 'Shift'[] = []) => {
    const picture = page.getByRole('img', { name: /record sets and headers/ });
    await expect.poll(async () => (await picture.boundingBox())?.width ?? 0).toBeGreaterThan(100);
    const { width = 0 } = (await picture.boundingBox()) ?? {};
    await picture.click({ position: { x: width * share, y: 12 }, modifiers });
  };

  test('a click in the timeline shows the state of that time, a second one the difference', async () => {
    const page = await open('/domains/example.com');
    await clickTimeline(page, 0.3);
    await page.getByRole('heading', { name: /^At 2023-0[34]/ }).waitFor();
    const state = page.getByRole('region', { name: /^At 2023/ });
    await state.getByText('192.0.2.7').waitFor();
    expect(await state.innerText()).not.toContain('198.51.100.24');
    await clickTimeline(page, 0.9, ['Shift']);
    const difference = page.getByRole('region', { name: /^From 2023-0[34].* to 2023-10/ });
    await difference.getByRole('row', { name: /^server/ }).waitFor();
    const spf = difference.getByRole('row', { name: /^TXT/ });
    const texts = ['"v=spf1 mx -all"', '"v=spf1 mx include:_spf.example.net -all"'];
    expect(await spf.getByRole('cell').allInnerTexts()).toEqual(texts);
    expect(await spf.locator('ins').allInnerTexts()).toEqual(['include:_spf.example.net ']);
    expect(await spf.locator('del').count()).toBe(0);
    await page.goBack();
    await page.getByRole('heading', { name: /^At 2023-0[34]/ }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Latest state' }).waitFor();
  });

  inLongForm('an address shows the same view to others: times, zoom, and filters', async () => {
    const view =
      '?from=2023-02-01T00%3A00%3A00.000000Z&to=2023-12-01T00%3A00%3A00.000000Z&types=TXT&headers=server&zoom=2023-05-01T00%3A00%3A00.000000Z%7E2023-06-01T00%3A00%3A00.000000Z';
    const page = await open(`/domains/example.com${view}`);
    await page.getByRole('img', { name: /^2 record sets and headers/ }).waitFor();
    const difference = page.getByRole('region', { name: /^From 2023-02-01 00:00:00 to 2023-12-01/ });
    await difference.getByRole('row', { name: /^server/ }).waitFor();
    expect(await difference.locator('tbody').getByRole('row').count()).toBe(2);
    const tags = 'server TXT TXT server TXT'.split(' ');
    expect(await page.locator('.changes .tag').allTextContents()).toEqual(tags);
    expect(new URL(page.url()).search).toBe(view);
  });

  inLongForm('the page shows what a wrong clock has observed', async () => {
    const domain = 'clock.example';
    const at = Date.UTC(1500, 0) / 1000 - Date.UTC(2024, 0) / 1000;
    await service.record({ domain, at, records: ['192.0.2.1'] });
    await service.record({ domain, at: 1, records: ['192.0.2.2'] });
    const page = await open(`/domains/${domain}?as=table`);
    await page.getByRole('row', { name: /192\.0\.2\.1 1500-01-01 00:00:00/ }).waitFor();
    await page.getByRole('button', { name: 'As a table' }).click();
    await page.getByRole('img', { name: /record sets and headers/ }).waitFor();
    await page.goto(service.url);
    await page.locator('.feed').getByText('1500-01-01 00:00:00').first().waitFor();
  });

  inLongForm('the page folds a lane that rotates among many values, and opens it', async () => {
    const domain = 'rotating.example';
    for (let at = 0; at < 30; at += 1)
      await service.record({ domain, at: at * 60, records: [`192.0.2.${at}`, `192.0.2.${at + 1}`] });
    const page = await open(`/domains/${domain}`);
    const lane = page.getByRole('button', { name: `A ${domain} 31`, exact: true });
    await expect.poll(() => lane.getAttribute('aria-expanded')).toBe('false');
    expect(await page.locator('.row-label').count()).toBe(0);
    await lane.click();
    expect(await page.locator('.row-label').first().innerText()).toBe('192.0.2.0');
    // Only the rows in view are there.
    const lanes = page.getByRole('region', { name: 'Timeline', exact: true }).last();
    await lanes.evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
    await page.locator('.row-label').getByRole('link', { name: '192.0.2.30' }).click();
    await page.getByRole('heading', { name: 'Who has the address 192.0.2.30' }).waitFor();
  });

  inLongForm('the page finds the changes of a type among very many of others', async () => {
    const domain = 'minutes.example';
    const server = { host: domain, class: 'IN', type: 'NS', target: 'ns1.example' };
    const looks = Array.from({ length: 6_000 }, (_, minute) => {
      return { domain, at: minute * 60, records: [server, `10.0.${minute >> 8}.${minute & 255}`] };
    });
    while (looks.length > 0) await service.record(...looks.splice(0, 500));
    const page = await open(`/domains/${domain}`);
    await page.getByText(/^10,[01]00 of 12,000 changes loaded/).waitFor();
    await page.getByRole('button', { name: 'All types and headers' }).click();
    await page.getByRole('checkbox', { name: 'NS', exact: true }).check();
    await page.keyboard.press('Escape');
    const changes = page.getByRole('region', { name: 'Changes', exact: true });
    await changes.getByText('First observed, with 1 record').click();
    await changes.getByText('ns1.example').waitFor();
    expect(await changes.locator('.change').count()).toBe(1);
    expect(await page.locator('.loaded').count()).toBe(0);
  });

  inLongForm('the page steps from change to change', async () => {
    const page = await open('/domains/example.com');
    await page.locator('.changes li').first().waitFor();
    const before = page.getByRole('button', { name: 'Change before' });
    for (const time of ['2023-11-15 22:05:59', '2023-08-01 06:15:00', '2023-05-20 14:30:12']) {
      await before.click();
      await page.getByRole('heading', { name: `At ${time}` }).waitFor();
    }
    await page.getByRole('button', { name: 'Change after' }).click();
    await page.getByRole('heading', { name: 'At 2023-08-01 06:15:00' }).waitFor();
  });

  inLongForm('the page takes a written time, and says what to write instead of what is none', async () => {
    const page = await open('/domains/example.com?at=2023-11-16T00%3A00%3A00.000000Z');
    const field = page.getByLabel('At (UTC)');
    await field.fill('some day');
    await field.press('Enter');
    await page.getByText('Write a time such as 2024-03-01').waitFor();
    await field.fill('2023-04');
    await field.press('Enter');
    await page.getByRole('heading', { name: 'At 2023-04-30 23:59:59' }).waitFor();
  });

  const pivots = [
    ['an address', 'Latest state', '198.51.100.24', 'Who has the address 198.51.100.24'],
    ['a host name', 'Latest state', 'mail.example.net', 'Whose records name the host mail.example.net'],
    ['an issuer', 'Latest state', 'ca.example.net', 'Whose records name the host ca.example.net'],
    ['a text', 'Changes', '"v=spf1 mx -all"', 'Whose TXT records have v=spf1 mx -all'],
    ['a value of a header', 'Latest state', 'nginx/1.24.0', 'Whose header server is nginx/1.24.0'],
  ] as const;
  test.each(rowsOf(pivots))('on the page, %s leads to who else has it', async (_, region, value, title) => {
    const page = await open('/domains/example.com');
    const shown = page.getByRole('region', { name: region, exact: true });
    await shown.getByRole('link', { name: value }).first().click();
    await matches(page, title).getByRole('link', { name: 'example.com', exact: true }).first().click();
    await page.getByRole('heading', { name: 'example.com' }).waitFor();
  });

  test('the page shows what is recorded without a reload: in the latest changes, and at its domain', async () => {
    const domain = `live${Date.now()}.example`;
    const [start, own] = [await open('/'), await open(`/domains/${domain}`)];
    await own.getByRole('heading', { name: 'Nothing is recorded for this domain' }).waitFor();
    await Promise.all([start, own].map((page) => page.getByText('Updates automatically').waitFor()));
    await service.record({ domain, at: 1, records: ['192.0.2.1'], headers: { server: 'one' } });
    await start.locator('.feed').getByRole('link', { name: domain }).first().waitFor();
    const now = latestState(own);
    await now.getByText('192.0.2.1').waitFor();
    await service.record({ domain, at: 2, records: ['192.0.2.2'], headers: { server: 'two' } });
    await now.getByText('192.0.2.2').waitFor();
    await now.getByText('two').waitFor();
    expect(await now.innerText()).not.toContain('192.0.2.1');
    expect(await own.locator('.changes .change').count()).toBe(5);
    const counts = '2 records, 1 header, 3 changes, 2 there when first observed';
    expect(await own.locator('.facts').innerText()).toContain(counts);
  });

  test('the page tells what was there when first observed from what changed, what was not observed from what is not there, and since when nothing is known', async () => {
    const domain = `first${Date.now()}.example`;
    await service.record({ domain, at: 1, records: ['192.0.2.1', '192.0.2.2'] });
    const [start, own] = [await open('/'), await open(`/domains/${domain}`)];
    const link = start.getByRole('link', { name: domain, exact: true });
    const told = start.locator('.feed > li').filter({ has: link });
    await told.getByText('First observed, with 2 records').click();
    await told.getByText('192.0.2.2').waitFor();
    await own.getByText('As of 2024-01-01 00:00:01, when the domain was last observed.').waitFor();
    await own.getByText('Not observed.').waitFor();
    const facts = await textOf(own.locator('.facts'));
    expect(facts).toContain('Last change none since then');
    expect(facts).toContain('2 records, 0 headers, 0 changes, 2 there when first observed');
    await own.locator('.changes').getByText('First observed, with 2 records').waitFor();
    await service.record({ domain, at: 2, headers: {} });
    await own.reload();
    await own.getByText('None.').waitFor();
    await service.record({ domain: `www.${domain}`, at: 1, records: ['192.0.2.1'] });
    await service.record({ domain: `www.${domain}`, at: 2, headers: { server: domain } });
    await own.goto(`${service.url}/domains/www.${domain}`);
    await own.getByText(/0\schanges, 2 there when first observed/).waitFor();
    expect(await own.locator('.facts').innerText()).toMatch(/Last change\s+none since then/);
    await search(start, `server: ${domain}`);
    const match = matches(start, `Whose header server has ${domain}`).first();
    expect(await textOf(match)).toContain('2024-01-01 00:00:02 2024-01-01 00:00:02 –');
    await search(start, domain);
    const rows = matches(start, 'Domains');
    await rows.nth(1).waitFor();
    expect(await textOf(rows.first())).toBe(`${domain} 2024-01-01 00:00:01 –`);
  });

  test('the page does not say that nothing has changed where the feed has less than the histories', async () => {
    const short = await startServiceForTest();
    const { database } = short;
    const page = await open('/', undefined, short);
    await page.getByText('Nothing has changed yet.').waitFor();
    await short.record({ at: 1, records: ['192.0.2.1'] });
    await database.pool.query('DELETE FROM change_feed WHERE number > (SELECT min(number) FROM change_feed)');
    await page.reload();
    await page.getByText('The page of a domain has all of its changes.').waitFor();
    expect(await page.getByText('Nothing has changed yet.').count()).toBe(0);
  });

  test('hostile values are inert on the page, and what is not visible of them is shown', async () => {
    const domain = 'hostile.example';
    const markup = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    await service.record({
      domain,
      at: 1,
      headers: { 'x-markup': markup, 'x-direction': 'a\u202Eb\u2066c\u200B' },
      records: [{ host: domain, class: 'IN', type: 'TXT', txt: `</title><script>${'\u0007'}alert(1)//` }],
    });
    const page = await open(`/domains/${domain}`);
    const now = latestState(page);
    await now.getByText(markup).waitFor();
    const text = await now.innerText();
    expect(text).toContain('aU+202EbU+2066cU+200B');
    expect(text).toContain('</title><script>');
    expect(await page.locator('main script, main img:not([role])').count()).toBe(0);
    expect(await page.title()).toBe(`${domain} · Domain Metadata Service`);
    await clickTimeline(page, 0.5);
    await page.getByRole('heading', { name: /^At/ }).waitFor();
  });

  inLongForm('the page gives its view to programs: GraphiQL, REST, curl, JSON and CSV', async () => {
    const page = await open('/domains/example.com?at=2023-06-01T00%3A00%3A00.000000Z', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const state = page.getByRole('region', { name: /^At 2023-06-01/ });
    await state.getByText('198.51.100.23').waitFor();
    const rest = (await state.getByRole('link', { name: 'REST' }).getAttribute('href')) ?? '';
    expect(rest).toBe(`${service.url}/api/v1/domain/example.com?at=2023-06-01T00:00:00.000000Z`);
    expect((await fetch(rest)).status).toBe(200);
    await state.getByRole('button', { name: 'curl' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`curl -s '${rest}'`);
    const saved = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        state.getByRole('button', { name, exact: true }).click(),
      ]);
      return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
    };
    const json = await saved('JSON');
    expect(json.name).toBe('example.com-2023-06-01T000000.000000Z.json');
    expect(JSON.parse(json.text).dnsRecords).toContainEqual(expect.objectContaining({ ip: '198.51.100.23' }));
    const csv = await saved('CSV');
    const [head, ...rows] = csv.text.split('\r\n');
    expect(head).toBe('domain,kind,name,class,type,value,first_seen,last_seen,removed,source');
    const row = 'example.com,DNS,example.com,IN,A,198.51.100.23,2023-05-20T14:30:12.345678Z,';
    expect(rows).toContainEqual(expect.stringContaining(row));
    await state.getByRole('link', { name: 'GraphiQL' }).click();
    await page.locator('.graphiql-execute-button').click();
    await page.getByRole('menuitem', { name: 'DomainRecords' }).click();
    await page.locator('.result-window').getByText('"mail.example.com"').waitFor();
  });

  test('the page works with the keyboard alone', async () => {
    const page = await open('/');
    await page.keyboard.type('example.com');
    const link = matches(page, 'Domains').getByRole('link', { name: 'example.com' });
    await link.waitFor();
    const focusOn = async (target: ReturnType<Page['locator']>, key = 'Tab') => {
      for (let presses = 0; presses < 60; presses += 1) {
        if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
        await page.keyboard.press(key);
      }
      expect.fail('The focus never came there.');
    };
    await focusOn(link);
    await page.keyboard.press('Enter');
    const timeline = page.getByRole('region', { name: 'Timeline', exact: true }).last();
    await timeline.waitFor();
    await page.locator('.changes li').first().waitFor();
    await focusOn(timeline);
    await page.keyboard.press('+');
    await expect.poll(() => page.url()).toContain('zoom=');
    await page.keyboard.press('[');
    await page.getByRole('heading', { name: 'At 2023-11-15 22:05:59' }).waitFor();
    await page.keyboard.press('[');
    await page.getByRole('heading', { name: 'At 2023-08-01 06:15:00' }).waitFor();
    await page.keyboard.press('0');
    await expect.poll(() => page.url()).not.toContain('zoom=');
    await focusOn(page.getByRole('button', { name: /^NS example\.com/ }));
    await page.keyboard.press('Enter');
    await page.locator('.row-label').getByText('ns1.example.net').waitFor();
  });

  const VIEWS = [
    '/',
    '/?q=example.com',
    '/domains/example.com',
    '/domains/example.com?as=table',
    '/domains/example.com?at=2023-06-01T00%3A00%3A00.000000Z',
    '/domains/example.com?from=2023-02-01T00%3A00%3A00.000000Z&to=2023-12-01T00%3A00%3A00.000000Z',
    '/domains/unknown.example',
    '/docs/questions',
  ];

  const SOME_VIEWS = ['/?q=example.com', '/domains/example.com?as=table'];

  const settled = async (page: Page) => {
    await page.waitForLoadState('load');
    await expect.poll(() => page.locator('.loading, [aria-busy="true"]').count()).toBe(0);
  };

  test.each(rowsOf(['dark', 'light'] as const))(
    'the page has nothing that axe-core objects to, %s',
    async (colorScheme) => {
      const page = await open('/', { colorScheme });
      for (const view of IS_LONG ? VIEWS : SOME_VIEWS) {
        await page.goto(service.url + view);
        await settled(page);
        expect(await violationsIn(page), view).toEqual([]);
      }
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      expect(background).toBe(colorScheme === 'dark' ? 'rgb(16, 21, 27)' : 'rgb(246, 247, 249)');
    },
  );

  test.each(rowsOf([360, 390]))('the page fits on %i pixels, zoomed and moved by touch', async (width) => {
    const page = await open('/', { viewport: { width, height: 800 }, hasTouch: true, isMobile: true });
    for (const view of IS_LONG ? VIEWS : SOME_VIEWS) {
      await page.goto(service.url + view);
      await settled(page);
      expect(await page.evaluate('document.documentElement.scrollWidth'), view).toBe(width);
    }
    await page.goto(`${service.url}/domains/example.com`);
    const picture = page.getByRole('img', { name: /record sets and headers/ });
    await expect.poll(async () => (await picture.boundingBox())?.width ?? 0).toBeGreaterThan(100);
    const { x = 0, y = 0, width: size = 0 } = (await picture.boundingBox()) ?? {};
    const session = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...places: number[]) =>
      session.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: places.map((share, id) => ({ id, x: x + size * share, y: y + 40 })),
      });
    await touch('touchStart', 0.4, 0.6);
    await touch('touchMove', 0.3, 0.7);
    await touch('touchMove', 0.2, 0.8);
    await touch('touchEnd');
    await expect.poll(() => page.url()).toContain('zoom=');
    const zoomed = page.url();
    await touch('touchStart', 0.3);
    await touch('touchMove', 0.5);
    await touch('touchMove', 0.7);
    await touch('touchEnd');
    await expect.poll(() => page.url()).not.toBe(zoomed);
    await page.touchscreen.tap(x + size / 2, y + 40);
    await page.getByRole('heading', { name: /^At 2023/ }).waitFor();
  });

  inLongForm('the page shows local times on demand', async () => {
    const page = await open('/domains/example.com', { timezoneId: 'Asia/Tokyo' });
    const facts = page.locator('.facts');
    await facts.getByText('2023-11-15 22:05:59').first().waitFor();
    await page.getByRole('button', { name: 'Local times' }).click();
    await facts.getByText('2023-11-16 07:05:59').first().waitFor();
  });

  inLongForm('the page says what to do with an empty database, and shows what is recorded then', async () => {
    const empty = await startServiceForTest();
    const page = await open('/', undefined, empty);
    await page.getByRole('heading', { name: 'Nothing is recorded yet' }).waitFor();
    const steps = ['observe example.com', 'watch add example.com --every 6h', 'import observations.ndjson'];
    expect(await page.locator('.steps code').allInnerTexts()).toEqual(steps.map((step) => `npx dms ${step}`));
    await page.getByText('Updates automatically').waitFor();
    await empty.record({ at: 1, records: ['192.0.2.1'] });
    await page.locator('.feed').getByText('First observed, with 1 record').waitFor();
    await page.locator('.numbers').waitFor();
  });

  test('the page asks for a token where the API wants one, and keeps it until the tab is closed', async () => {
    const guarded = await startBeside({ auth: { provider: undefined, required: 'all' } });
    const page = await open('/domains/example.com', undefined, guarded);
    const state = latestState(page);
    await page.getByLabel('Access token').fill('dms_wrong');
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await page.getByRole('button', { name: 'Use the token' }).click();
      await page.getByText('The access token is not valid').first().waitFor();
    }
    await page.getByLabel('Access token').fill(await guarded.createToken());
    await page.getByRole('button', { name: 'Use the token' }).click();
    await state.getByText('198.51.100.24').waitFor();
    expect(await page.getByLabel('Access token').count()).toBe(0);
    await page.getByText('Updates automatically').waitFor();
    await page.reload();
    await state.getByText('198.51.100.24').waitFor();
    expect(await page.evaluate('JSON.stringify(localStorage)')).toBe('{}');
    expect(page.url()).not.toContain('token');
    const other = await page.context().newPage();
    await other.goto(guarded.url);
    await other.getByLabel('Access token').waitFor();
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await page.getByLabel('Access token').waitFor();
    // The browser reports each 401.
    withoutComplaints(/401/);
  });

  inLongForm('the page shows a domain to those who may not search, without what is live', async () => {
    const guarded = await startBeside({ anonymousScopes: new Set() });
    const page = await open('/domains/example.com', undefined, guarded);
    await latestState(page).getByText('198.51.100.24').waitFor();
    await page.getByText('Does not update now').waitFor();
    expect(await page.getByLabel('Access token').count()).toBe(0);
    withoutComplaints(/40[13]/);
  });

  inLongForm('the page says what failed, and has it again when the service is back', async () => {
    const page = await open('/domains/example.com');
    await page.getByText('Updates automatically').waitFor();
    await page.locator('.changes li').first().waitFor();
    const abort = (route: Route) => route.abort();
    await page.route('**/graphql', abort);
    await page.goto(`${page.url()}?at=2023-06-01`, { waitUntil: 'commit' });
    await page.getByText('The service cannot be reached').first().waitFor();
    expect(await page.getByText('None.').count()).toBe(0);
    await page.unroute('**/graphql', abort);
    const state = page.getByRole('region', { name: /^At 2023-06-01 23:59:59/ });
    await state.getByText('198.51.100.23').waitFor();
    await page.getByText('Updates automatically').waitFor();
    withoutComplaints(/ERR_FAILED/);
  });

  inLongForm.each([
    ['/', 'LatestChanges', '.feed li'],
    ['/', 'Overview', '.numbers'],
    ['/domains/example.com', 'DomainRecords', '.state .pivot'],
    ['/domains/example.com', 'DomainSummary', '.facts'],
    ['/domains/example.com', 'DomainChanges', '.changes .change'],
  ])('on the page at %s, a failed %s can be tried again', async (path, operation, found) => {
    const page = await open('/docs/');
    let isFailing = true;
    await page.route('**/graphql', (route) => {
      const asked = route.request().postData() ?? '';
      // When a stream opens, what has failed is asked again without a click: it never opens.
      if (asked.includes('subscription ')) return undefined;
      const isToFail = asked.includes(`${operation}(`) || asked.includes(`${operation} {`);
      return isFailing && isToFail ? route.abort() : route.continue();
    });
    await page.goto(service.url + path);
    await page.getByText('The service cannot be reached').first().waitFor();
    expect(await page.getByText('None.', { exact: true }).count()).toBe(0);
    isFailing = false;
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.locator(found).first().waitFor();
    await expect.poll(() => page.getByText('The service cannot be reached').count()).toBe(0);
    withoutComplaints(/ERR_FAILED/);
  });

  inLongForm('the page misses nothing that is recorded while its stream is away', async () => {
    const domain = `away${Date.now()}.example`;
    await service.record({ domain, at: 1, records: ['192.0.2.1'] });
    const page = await open('/docs/');
    const abort = (route: Route) => {
      const isStream = route.request().headers()['accept']?.includes('event-stream') === true;
      return isStream ? route.abort() : route.continue();
    };
    await page.route('**/graphql', abort);
    await page.goto(`${service.url}/domains/${domain}`);
    const state = latestState(page);
    await state.getByText('192.0.2.1').waitFor();
    await service.record({ domain, at: 2, records: ['192.0.2.2'] });
    await page.unroute('**/graphql', abort);
    await state.getByText('192.0.2.2').waitFor();
    withoutComplaints(/ERR_FAILED/);
  });

  inLongForm('the page says so when a part of it is gone after an upgrade', async () => {
    const page = await open('/?q=example.com');
    await page.route('**/domain-page-*.js', (route) => route.fulfill({ status: 404, body: '' }));
    await page.getByRole('rowheader', { name: 'example.com', exact: true }).first().getByRole('link').click();
    await page.getByText('This part of the page cannot be loaded').waitFor();
    await page.unroute('**/domain-page-*.js');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('img', { name: /record sets and headers/ }).waitFor();
    withoutComplaints(/404|dynamically imported/);
  });

  const addresses = [
    ['?at=2023-07-01', /^At 2023-07-01 23:59:59/],
    ['?from=2023-12-01&to=2023-02-01', /^From 2023-02-01 23:59:59 to 2023-12-01/],
    ['?at=yesterday', /^Latest state$/],
    ['?at=0000-01-01T00:00:00%2B14:00', /^Latest state$/],
    ['?at=9999-12-31T23:59:59-14:00', /^Latest state$/],
    ['?at=9999', /^Latest state$/],
    ['?at=0001', /^Latest state$/],
    ['?zoom=2001-01-01T00:00:00Z~2001-01-02T00:00:00Z', /^Latest state$/],
    ['?types=%00&headers=%ff&zoom=x', /^Latest state$/],
  ] as const;
  test.each(rowsOf(addresses, 2))(
    'an address that someone wrote is understood, or said to be wrong: %s',
    async (view, title) => {
      const page = await open(`/domains/example.com${view}`);
      await page.getByRole('heading', { name: title }).waitFor();
      const isWrong = /yesterday|=0000|9999|0001/.test(view);
      expect(await page.getByText('A time in the address is not valid').count()).toBe(isWrong ? 1 : 0);
    },
  );

  inLongForm('the page continues by itself when the rate limit is used up, and says so', async () => {
    const limited = await startBeside({ rateLimits: { anonymous: 5, token: 5 } });
    const page = await open('/domains/example.com', undefined, limited);
    await page.getByText('The rate limit of this address is used up').waitFor();
    withoutComplaints(/429/);
  });

  inLongForm('the page works under a base path, and behind a proxy', async () => {
    const based = await startBeside({ basePath: '/a/dms', trustProxy: 1 });
    const page = await open('/?ip=198.51.100.24', undefined, based);
    await page.getByRole('link', { name: 'example.com', exact: true }).first().click();
    await latestState(page).getByText('198.51.100.24').waitFor();
    expect(page.url()).toBe(`${based.url}/domains/example.com`);
    await page.reload();
    await page.getByRole('link', { name: 'Domain Metadata Service' }).click();
    await page.locator('.numbers').waitFor();
    expect(page.url()).toBe(`${based.url}/`);
    await page.getByRole('link', { name: 'Documents' }).click();
    await page.getByRole('link', { name: 'Questions' }).first().click();
    await page.getByRole('heading', { name: 'Questions' }).waitFor();
  });

  describe('PERSISTED_ONLY', () => {
    const folder = mkdtempSync(join(tmpdir(), 'dms-page-'));
    afterAll(() => rmSync(folder, { recursive: true }));

    const startWith = (operations: object) => {
      const persistedOnly = join(folder, 'operations.json');
      writeFileSync(persistedOnly, JSON.stringify(operations));
      return startBeside({ graphql: { maxFields: 250_000, introspection: true, persistedOnly } });
    };
    const own = new URL('../../dist/web/operations.json', import.meta.url);

    inLongForm(
      'with PERSISTED_ONLY, the page works if its operations are in the list, without links to what is not there',
      async () => {
        const listed = await startWith(JSON.parse(readFileSync(own, 'utf8')));
        const page = await open('/?q=example.com', undefined, listed);
        await page.getByRole('link', { name: 'example.com', exact: true }).first().click();
        await latestState(page).getByText('198.51.100.24').waitFor();
        await page.getByText('Updates automatically').waitFor();
        expect(await page.getByRole('link', { name: /GraphiQL|Sandbox/ }).count()).toBe(0);
      },
    );

    test('with PERSISTED_ONLY, the page is gone if its operations are not in the list: the start page has links only', async () => {
      const listed = await startWith({ a: 'query A { statistics { domains } }' });
      const start = await listed.fetch('/');
      expect([start.status, await start.text()]).toEqual([200, expect.not.stringContaining('<script')]);
      expect((await listed.fetch('/domains/example.com')).status).toBe(404);
    });
  });
});

test('the page is allowed to load files of its own host only, and no style or script within it', async () => {
  for (const path of ['/', '/domains/example.com']) {
    const policy = (await service.fetch(path)).headers.get('content-security-policy') ?? '';
    for (const name of ['default-src', 'frame-ancestors', 'base-uri', 'form-action'])
      expect(policy).toContain(`${name} 'none'`);
    expect(policy).toContain("script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  }
});

test('what the page loads has hashed names and is kept for a year; the first view has at most 150 kB of compressed script', async () => {
  const page = await (await service.fetch('/domains/example.com')).text();
  const names = [...page.matchAll(/="(\/assets\/web\/[^"]+)"/g)].map(([, address = '']) => address);
  expect(names.length).toBeGreaterThanOrEqual(3);
  const scripts = new Map<string, string>();
  const load = async (address: string) => {
    expect(address).toMatch(/-[\w-]{8}\.(?:js|css|svg)$/);
    const response = await service.fetch(address);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const text = await response.text();
    if (!address.endsWith('.js') || scripts.has(address)) return;
    scripts.set(address, text);
    const parts = [...text.matchAll(/["'`](?:\.\/)?([\w-]+-[\w-]{8}\.js)["'`]/g)];
    for (const [, part = ''] of parts) await load(`/assets/web/${part}`);
  };
  for (const name of names) await load(name);
  expect(scripts.size).toBeGreaterThanOrEqual(2);
  const sizes = [...scripts.values()].map((text) => gzipSync(text).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
});
