import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { parseDnsRecord } from '../../src/model/dns-record.js';
import { parseInstant } from '../../src/model/instant.js';
import { bodies, type Histories, replayStream } from '../replay/replay.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { IS_LONG } from '../support/long-form.js';
import { HAS_ZONE_CHECKERS, loadedRecords } from '../support/zone-checkers.js';
import { type CommandResult, runDms, startDms } from './dms-command.js';
import { expectInstants, type TimedLine } from './instants.js';
import {
  byName,
  expectRecords,
  type Filter,
  type RecordMatch,
  recordsOf,
  searched,
} from './random-searches.js';
import { answersIn, differences, serveLocally } from './serving.js';

/** An xz-compressed file with 208 versions of the DNS root zone as observations; README of bench/ says more. */
const ROOT_ZONE_FILE = process.env['ROOT_ZONE_FILE'] ?? '';

function unpacked(): Readable {
  return spawn('xz', ['-dc', ROOT_ZONE_FILE], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout;
}

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

async function serveForTest({ environment }: TestHome): Promise<string> {
  const { url, close } = await serveLocally(environment);
  onTestFinished(close);
  return url;
}

/** Of the short form: what random observations give. */
describe.skipIf(ROOT_ZONE_FILE === '' || !IS_LONG)('the history of the DNS root zone', () => {
  let home: TestHome;
  let replay: Histories;
  let first: CommandResult;

  beforeAll(async () => {
    home = await createTestHome();
    first = await importInto(home, unpacked());
    replay = await replayStream(unpacked());
  });

  afterAll(() => home?.remove());

  const importInto = (into: TestHome, lines: Readable, ...options: string[]) =>
    startDms(['import', ...options, '-'], into.environment, lines).result;

  const answers = () => answersIn(home.environment, replay.keys());

  async function versions(): Promise<unknown[]> {
    const { pool, close } = await openDatabase(home.options);
    const { rows } = await pool.query('SELECT name, version, recorded_at FROM domain ORDER BY name');
    await close();
    return rows;
  }

  async function linesOfDomains(names: readonly string[]) {
    const lines = new Map<string, TimedLine[]>(names.map((name) => [name, []]));
    for await (const line of createInterface({ input: unpacked() })) {
      const { domain, observedAt } = JSON.parse(line);
      lines.get(domain)?.push({ line, time: parseInstant(observedAt) });
    }
    return lines;
  }

  it('the history of the DNS root zone is imported from standard input, every observation recorded', () => {
    expect(first.stderr).not.toContain('rejected');
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^recorded +314,561 \(2,876 with a change\)$/m);
    expect(first.stdout).toMatch(/^DNS records +18,620 added/m);
  });

  it('the history of the DNS root zone is answered by Get domain for every domain, byte for byte as a plain replay of the file gives it', async () => {
    expect(differences(bodies(replay), await answers())).toEqual([]);
  });

  it('the history of the DNS root zone is answered as of 1,000 random instants, between as many random pairs, and in their changes, as replays up to them give it', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    process.stderr.write(`seed ${seed}\n`);
    const names = [...replay.keys()].filter((_, at) => at % 15 === seed % 15);
    const lines = await linesOfDomains(names);
    await expectInstants(await serveForTest(home), lines, { seed, count: 1_000 });
  });

  it('the history of the DNS root zone is found by value: 300 random questions across its domains give what a plain filter over everything gives', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    process.stderr.write(`seed ${seed}\n`);
    const histories = byName([...replay.values()]);
    const filter = fc.constantFrom(...histories.flatMap(recordsOf)).chain(filterLike);
    const questions = fc.tuple(filter, fc.integer({ min: 20, max: 500 }));
    const everything = searched(await serveForTest(home), () => histories);
    let found = 0;
    for (const [where, first] of fc.sample(questions, { seed, numRuns: 300 })) {
      found += await expectRecords(everything, where, { first, byEdge: false });
    }
    expect(found).toBeGreaterThan(300);
  });

  it.skipIf(!HAS_ZONE_CHECKERS)(
    'the history of the DNS root zone is exported as the root zone of any of its versions: BIND and NSD load it, with the records of that version',
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
  );

  it('the history of the DNS root zone is what docs/questions.md shows of it', async () => {
    const page = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
    const blocks = [...page.matchAll(/^```\n(curl .*?)\n\n(.*?)\n```$/gms)];
    expect(blocks).toHaveLength(3);
    const url = await serveForTest(home);
    for (const [, command = '', shown] of blocks) {
      const here = command.replace('http://127.0.0.1:4000', url);
      const { stdout } = await promisify(execFile)('bash', ['-c', here]);
      expect(stdout.trim()).toBe(shown);
    }
  });

  it('the history of the DNS root zone is that of the whole file, when its older half is put before the newer one', async () => {
    const half = (isOlder: boolean) =>
      Readable.from(createInterface({ input: unpacked() }))
        .filter((line: string) => /"observedAt":"(?:201)/.test(line) === isOlder)
        .map((line: string) => `${line}\n`);
    const halves = await createTestHome();
    onTestFinished(halves.remove);
    expect(await importInto(halves, half(false))).toMatchObject({ code: 0 });
    const older = await importInto(halves, half(true), '--backfill');
    expect(older).toMatchObject({ code: 0, stdout: expect.stringMatching(/^recorded +[1-9]/m) });
    const [expected, found] = [home, halves].map(({ environment }) => runDms(['export'], environment));
    expect((await found)?.stdout === (await expected)?.stdout).toBe(true);
    expect(await runDms(['verify'], halves.environment)).toMatchObject({ code: 0 });
  });

  it('the history of the DNS root zone stays the same in every byte and version when it is imported a second time, and breaks no rule that `dms verify` checks', async () => {
    const before = await versions();
    const second = await importInto(home, unpacked());
    expect(second.code).toBe(0);
    expect(second.stdout).toMatch(/^recorded +0 /m);
    expect(before).toHaveLength(1_533);
    expect(await versions()).toEqual(before);
    expect(differences(bodies(replay), await answers())).toEqual([]);
    expect(await runDms(['verify'], home.environment)).toMatchObject({ code: 0 });
  });
});
