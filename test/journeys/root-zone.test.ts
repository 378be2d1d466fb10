import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import fc from 'fast-check';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { parseDnsRecord } from '../../src/model/dns-record.js';
import { parseInstant } from '../../src/model/instant.js';
import { bodies, type Replay, replayStream, totals } from '../replay/replay.js';
import { CHROMIUM, openPage, startBrowser, violationsIn, type WatchedPage } from '../support/browser.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { IS_LONG } from '../support/long-form.js';
import { HAS_ZONE_CHECKERS, loadedRecords } from '../support/zone-checkers.js';
import { type CommandResult, runDms, startDms } from './dms-command.js';
import { expectInstants, type TimedLine } from './instants.js';
import { expectRecords, type Filter, type RecordMatch, recordsOf } from './random-searches.js';
import { answersOf, differences, serve } from './serving.js';

/** An xz-compressed file with 208 versions of the DNS root zone as observations; README of bench/ says more. */
const ROOT_ZONE_FILE = process.env['ROOT_ZONE_FILE'] ?? '';

const MINUTE = 60_000;

function unpacked(): Readable {
  return spawn('xz', ['-dc', ROOT_ZONE_FILE], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout;
}

/** A question about what a record has, and sometimes about when it was there. */
function filterLike({ record }: RecordMatch): fc.Arbitrary<Filter> {
  const { target, ip, ipv6, host } = Object(record);
  const suffix = String(target ?? '').replace(/^[^.]*\./, '');
  const values: Filter[] = [
    { host: String(host) },
    ...(typeof target === 'string' ? [{ target }] : []),
    ...(suffix.length > 3 ? [{ target: `*.${suffix}` }] : []),
    ...(typeof ip === 'string' ? [{ ip }, { network: `${ip}/24` }, { network: `${ip}/12` }] : []),
    ...(typeof ipv6 === 'string' ? [{ ip: ipv6 }, { network: `${ipv6}/32` }] : []),
  ];
  const options = fc.constantFrom<Filter>(
    ...[{}, { present: true }, { present: false }, { types: [String(Object(record).type)] }],
    ...[{ firstSeenFrom: '2020-01-01T00:00:00Z' }, { seenTo: '2020-02-01T00:00:00Z' }],
    { seenFrom: '2020-03-01T00:00:00Z', seenTo: '2020-04-01T00:00:00Z' },
  );
  return fc.tuple(fc.constantFrom(...values), options).map(([value, option]) => ({ ...value, ...option }));
}

/** Searches of each kind that the root zone answers, an instant, what it leads to, and the way back. */
async function walkThrough(page: WatchedPage['page'], url: string): Promise<void> {
  const found = (title: string, domain: string) =>
    page
      .getByRole('region', { name: title })
      .last()
      .getByRole('rowheader', { name: domain, exact: true })
      .first();
  for (const [text, title, domain] of [
    ['*olog*', 'Domains', 'cologne'],
    ['a.gtld-servers.net', 'Whose records name the host a.gtld-servers.net', 'com'],
    ['192.5.6.30', 'Who has the address 192.5.6.30', 'net'],
    ['192.5.6.0/24', 'Who has an address of the network 192.5.6.0/24', 'net'],
  ] as const) {
    await page.goto(url);
    await page.getByRole('searchbox').fill(text);
    await found(title, domain).waitFor();
  }
  await found('Who has an address of the network 192.5.6.0/24', 'net').getByRole('link').click();
  await page.locator('.changes li').first().waitFor();
  await page.getByRole('button', { name: 'Change before' }).click();
  const state = page.getByRole('region', { name: /^At 20/ });
  const server = state.getByRole('link', { name: 'a.gtld-servers.net', exact: true }).first();
  const instant = page.url();
  await server.click();
  await found('Whose records name the host a.gtld-servers.net', 'com').waitFor();
  await page.goBack();
  await server.waitFor();
  expect(page.url()).toBe(instant);
}

/** The timeline of a TLD on a small dark screen, by keys. */
async function worksOnPhone(browser: Browser, url: string): Promise<void> {
  const options = { colorScheme: 'dark', viewport: { width: 390, height: 800 } } as const;
  const { page, complaints } = await openPage(browser, `${url}/domains/com`, options);
  await page.locator('.changes li').first().waitFor();
  expect(await violationsIn(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  await page.getByRole('region', { name: 'Timeline', exact: true }).last().focus();
  await page.keyboard.press('+');
  await expect.poll(() => page.url()).toContain('zoom=');
  await page.keyboard.press('[');
  await page.getByRole('heading', { name: /^At 20/ }).waitFor();
  expect(complaints).toEqual([]);
}

/** Of the short form: what random observations give. */
describe.skipIf(ROOT_ZONE_FILE === '' || !IS_LONG)('the history of the DNS root zone', () => {
  let home: TestHome;
  let replay: Replay;
  let first: CommandResult;

  beforeAll(async () => {
    home = await createTestHome();
    first = await importRootZone();
    replay = await replayStream(unpacked());
  }, 30 * MINUTE);

  afterAll(() => home?.remove());

  /** Records a domain beside the zone while the page is open, and erases it again. */
  async function showsLive(page: WatchedPage['page'], url: string): Promise<void> {
    await page.goto(url);
    await page.getByText('Updates automatically', { exact: true }).waitFor();
    const line =
      '{"domain":"live.example","observedAt":"2024-01-01T00:00:00Z","httpHeaders":{"server":"one"}}\n';
    const imported = startDms(['import', '-'], home.environment, Readable.from([line])).result;
    await page.locator('.feed').getByRole('link', { name: 'live.example' }).waitFor();
    expect((await imported).code).toBe(0);
    expect(await runDms(['forget', 'live.example', '--yes'], home.environment)).toMatchObject({ code: 0 });
  }

  /** Where the API wants a token: the page asks for it, and works with it. */
  async function worksWithToken(browser: Browser): Promise<void> {
    const created = await runDms(['token', 'create', '--name', 'page'], home.environment);
    expect(created.code).toBe(0);
    const serving = await serve({ ...home.environment, AUTH_REQUIRED: 'all' });
    const { page, complaints } = await openPage(browser, `${serving.url}/domains/com`);
    try {
      await page.getByLabel('Access token').fill(created.stdout.trim());
      await page.getByRole('button', { name: 'Use the token' }).click();
      await page.locator('.changes li').first().waitFor();
      await page.getByText('Updates automatically', { exact: true }).waitFor();
      await walkThrough(page, serving.url);
      // The browser reports each answer that wanted the token.
      expect(complaints.filter((complaint) => !complaint.includes('401'))).toEqual([]);
    } finally {
      await serving.close();
    }
  }

  function importRootZone(): Promise<CommandResult> {
    return startDms(['import', '-'], home.environment, unpacked()).result;
  }

  async function answers(): Promise<Map<string, string>> {
    const serving = await serve(home.environment);
    try {
      return await answersOf(serving.url, replay.histories.keys());
    } finally {
      await serving.close();
    }
  }

  async function versions(): Promise<unknown[]> {
    const database = await openDatabase(home.options);
    try {
      return (await database.pool.query('SELECT name, version, recorded_at FROM domain ORDER BY name')).rows;
    } finally {
      await database.close();
    }
  }

  async function linesOfDomains(names: readonly string[]) {
    const lines = new Map<string, TimedLine[]>(names.map((name) => [name, []]));
    for await (const line of createInterface({ input: unpacked() })) {
      const { domain, observedAt } = JSON.parse(line);
      lines.get(domain)?.push({ line, time: parseInstant(observedAt) });
    }
    return lines;
  }

  it('is imported from standard input, every observation recorded', () => {
    expect(first.stderr).not.toContain('rejected');
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^recorded +314,561 \(2,876 with a change\)$/m);
    expect(first.stdout).toMatch(/^DNS records +18,620 added/m);
    expect(totals(replay)).toEqual({
      domains: 1_533,
      dnsRecords: 18_620,
      recorded: 314_561,
      changed: 2_876,
      stale: 0,
      repeated: 0,
    });
  });

  it(
    'is answered by Get domain for every domain, byte for byte as a plain replay of the file gives it',
    async () => {
      expect(differences(bodies(replay), await answers())).toEqual([]);
    },
    10 * MINUTE,
  );

  it(
    'is answered as of 1,000 random instants, between as many random pairs, and in their changes, as replays up to them give it',
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      process.stderr.write(`seed ${seed}\n`);
      const names = [...replay.histories.keys()].filter((_, at) => at % 15 === seed % 15);
      const serving = await serve(home.environment);
      try {
        await expectInstants(serving.url, await linesOfDomains(names), { seed, count: 1_000 });
      } finally {
        await serving.close();
      }
    },
    10 * MINUTE,
  );

  it(
    'is found by value: 300 random questions across its domains give what a plain filter over everything gives',
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      process.stderr.write(`seed ${seed}\n`);
      const histories = [...replay.histories.values()].sort((one, other) =>
        one.domain < other.domain ? -1 : 1,
      );
      const filter = fc.constantFrom(...histories.flatMap(recordsOf)).chain(filterLike);
      const serving = await serve(home.environment);
      const everything = { url: serving.url, historiesAt: () => histories, records: new Map() };
      try {
        let found = 0;
        for (const [where, first] of fc.sample(fc.tuple(filter, fc.integer({ min: 20, max: 500 })), {
          seed,
          numRuns: 300,
        })) {
          found += await expectRecords(everything, where, { first, byEdge: false });
        }
        expect(found).toBeGreaterThan(300);
      } finally {
        await serving.close();
      }
    },
    10 * MINUTE,
  );

  it.skipIf(!HAS_ZONE_CHECKERS)(
    'is exported as the root zone of any of its versions: BIND and NSD load it, with the records of that version',
    async () => {
      const time = '2020-03-05T23:30:05.000000Z';
      const observed: { domain: string; dnsRecords: object[] }[] = [];
      for await (const line of createInterface({ input: unpacked() })) {
        if (line.includes(`"observedAt":"${time}"`)) observed.push(JSON.parse(line));
      }
      const names = Readable.from(observed.map(({ domain }) => `${domain}\n`));
      const args = ['export', '--format', 'zone', '--at', time, '--from-file', '-'];
      const { code, stdout } = await runDms(args, home.environment, names);
      expect(code).toBe(0);
      const top =
        '. IN SOA a.gtld-servers.net. nstld.verisign-grs.com. 1 1800 900 604800 86400\n. IN NS a.gtld-servers.net.\n';
      const loaded = loadedRecords('.', `$TTL 3600\n${top}${stdout}`, 'local').filter(
        ({ host }) => host !== '.',
      );
      const expected = observed.flatMap(({ dnsRecords }) => dnsRecords.map(parseDnsRecord));
      const texts = (records: readonly object[]) => records.map((record) => JSON.stringify(record)).sort();
      expect(observed).toHaveLength(1_516);
      expect(texts(loaded)).toEqual(texts(expected));
    },
    10 * MINUTE,
  );

  it('is what docs/questions.md shows of it', async () => {
    const page = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
    const blocks = [...page.matchAll(/^```\n(curl .*?)\n\n(.*?)\n```$/gms)];
    expect(blocks).toHaveLength(3);
    const serving = await serve(home.environment);
    try {
      for (const [, command = '', shown] of blocks) {
        const here = command.replace('http://127.0.0.1:4000', serving.url);
        const { stdout } = await promisify(execFile)('bash', ['-c', here]);
        expect(stdout.trim()).toBe(shown);
      }
    } finally {
      await serving.close();
    }
  });

  it.skipIf(CHROMIUM === undefined)(
    'is what the page shows of it: found, as stays of records, and between two times',
    async () => {
      const serving = await serve(home.environment);
      const browser = await startBrowser();
      const { page, complaints, origins } = await openPage(browser, serving.url);
      try {
        await page.locator('.numbers').getByText('1,533').waitFor();
        await page.getByRole('searchbox').fill('cologne');
        await page.getByRole('rowheader', { name: 'cologne', exact: true }).getByRole('link').click();
        await page.getByRole('img', { name: /record sets and headers/ }).waitFor();
        await walkThrough(page, serving.url);
        for (const domain of ['cologne', 'je', 'com', 'xn--p1ai']) {
          const address = `${serving.url}/domains/${domain}`;
          await page.goto(`${address}?as=table`);
          const { dnsRecords } = JSON.parse(
            replay.histories.get(domain) ? (bodies(replay).get(domain) ?? '') : '',
          );
          const rows = page.getByRole('region', { name: 'Timeline as a table' }).locator('tbody tr');
          await expect.poll(() => rows.count()).toBe(Math.min(100, dnsRecords.length));
          const times = dnsRecords.map(({ firstSeen }: { firstSeen: string }) => firstSeen).sort();
          const [from, to] = [times.at(0), times.at(-1)];
          await page.goto(`${address}?${new URLSearchParams({ from, to })}`);
          const diff = (await (
            await fetch(`${serving.url}/api/v1/domain/${domain}/diff?from=${from}&to=${to}`)
          ).json()) as { dnsRecordsAdded: object[]; dnsRecordsRemoved: object[] };
          const difference = page.getByRole('region', { name: /^From 20/ });
          if (diff.dnsRecordsAdded.length + diff.dnsRecordsRemoved.length === 0) {
            await difference.getByText('Nothing is different.').waitFor();
            continue;
          }
          const shown = difference.locator('tbody td').filter({ hasText: /./ });
          await expect
            .poll(() => shown.count())
            .toBe(diff.dnsRecordsAdded.length + diff.dnsRecordsRemoved.length);
        }
        await showsLive(page, serving.url);
        expect(complaints).toEqual([]);
        expect([...origins]).toEqual([serving.url]);
        await worksOnPhone(browser, serving.url);
        await worksWithToken(browser);
      } finally {
        await browser.close();
        await serving.close();
      }
    },
    10 * MINUTE,
  );

  it(
    'stays the same in every byte and version when it is imported a second time',
    async () => {
      const before = await versions();
      const second = await importRootZone();
      expect(second.code).toBe(0);
      expect(second.stdout).toMatch(/^recorded +0 /m);
      expect(before).toHaveLength(1_533);
      expect(await versions()).toEqual(before);
      expect(differences(bodies(replay), await answers())).toEqual([]);
    },
    30 * MINUTE,
  );

  it(
    'breaks no rule that `dms verify` checks',
    async () => {
      expect(await runDms(['verify'], home.environment)).toMatchObject({ code: 0 });
    },
    10 * MINUTE,
  );
});
