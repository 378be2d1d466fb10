import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { runDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { type HttpxKeys, httpxLine } from '../support/httpx-lines.js';
import { observationLine, timeText } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  service = await startTestService({ database });
  folder = await mkdtemp(join(tmpdir(), 'dms-test-httpx-'));
});

beforeEach(async () => {
  await emptyTestDatabase(database);
});

afterAll(async () => {
  await service.stop();
  await database.close();
  await rm(folder, { recursive: true });
});

function importText(input: string, args: readonly string[] = [], settings: Record<string, string> = {}) {
  return runDms(['import', ...args, '-'], { ...database.environment, ...settings }, Readable.from([input]));
}

/** A line of httpx at a time, with these fields in the head of the response. */
function lineAt(at: number, fields: readonly string[], keys: HttpxKeys = {}): string {
  const raw_header = ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
  return httpxLine({ timestamp: timeText(at), raw_header, ...keys });
}

async function stored(): Promise<StoredHistory[]> {
  const histories: StoredHistory[] = [];
  for await (const history of readHistories(database.pool)) histories.push(history);
  return histories;
}

/** What Get domain says of the headers of example.com: names to values, oldest first. */
async function answered(): Promise<Record<string, string[]>> {
  const response = await fetch(`${service.url}/api/v1/domain/example.com`);
  const { httpHeaders } = JSON.parse(await response.text());
  return Object.fromEntries(
    httpHeaders.map(({ name, history }: { name: string; history: { new: string }[] }) => [
      name,
      history.map((change) => change.new),
    ]),
  );
}

const FIRST = lineAt(1, ['Date: one', 'Server: a', 'Content-Length: 5', 'X-Gone: 1']);
const SECOND = lineAt(2, ['Date: two', 'Server: b']);

describe('dms import of the lines of httpx', () => {
  test.each([['auto'], ['httpx']])(
    'dms import records the headers of httpx and no DNS, with --format %s',
    async (format) => {
      const result = await importText(`${FIRST}\n${SECOND}\n`, ['--format', format]);
      expect([result.code, result.stderr]).toEqual([0, '']);
      expect(result.stdout).toMatch(/^recorded +2 \(2 with a change\)$/m);
      expect(result.stdout).toMatch(/^DNS records +0 added, 0 removed$/m);
      expect(await answered()).toEqual({ server: ['a', 'b'], 'content-length': ['5'], 'x-gone': ['1'] });
      expect((await stored()).flatMap(findViolations)).toEqual([]);
    },
  );

  test('the summary of dms import says which format the lines have told, where it is not that of the program', async () => {
    const httpx = join(folder, 'httpx.json');
    const dms = join(folder, 'dms.ndjson');
    await writeFile(httpx, FIRST);
    await writeFile(dms, observationLine({ at: 3, headers: { server: 'c' } }));
    const run = async (...files: string[]) =>
      (await runDms(['import', ...files], database.environment)).stdout;
    expect(await run(httpx)).toMatch(/^format +httpx\n/);
    expect(await run(httpx, dms)).toMatch(/^format +dms, httpx\n/);
    expect(await run(dms)).toMatch(/^lines read /);
    expect(await answered()).toMatchObject({ server: ['a', 'c'] });
  });

  test('a header that is ignored is never recorded, and never marked absent', async () => {
    await importText(observationLine({ at: 0, headers: { date: 'zero', server: 'a', 'x-gone': '1' } }));
    await importText(`${FIRST}\n${SECOND}\n`);
    expect(await answered()).toMatchObject({ date: ['zero'], server: ['a', 'b'], 'x-gone': ['1'] });
    const exported = (await runDms(['export'], database.environment)).stdout.trim().split('\n');
    expect(exported.map((line) => JSON.parse(line).httpHeaders)).toEqual([
      { date: 'zero', server: 'a', 'x-gone': '1' },
      { 'content-length': '5', date: 'zero', server: 'a', 'x-gone': '1' },
      { 'content-length': '5', date: 'zero', server: 'b' },
    ]);
  });

  test('which headers are ignored is the setting of those who observe', async () => {
    await importText(FIRST, [], { OBSERVE_IGNORED_HEADERS: 'Server, x-gone' });
    expect(await answered()).toEqual({ date: ['one'], 'content-length': ['5'] });
    await emptyTestDatabase(database);
    await importText(FIRST, [], { OBSERVE_IGNORED_HEADERS: 'none' });
    expect(await answered()).toMatchObject({ date: ['one'], server: ['a'] });
  });

  test('a line of the same time that differs in more than what it leaves out is a contradiction', async () => {
    await importText(`${FIRST}\n${SECOND}\n`);
    expect((await importText(SECOND)).stderr).toBe('');
    const other = await importText(lineAt(2, ['Server: other']));
    expect(other.stderr).toMatch(/^Warning: 1 line differs from what is recorded /m);
    expect(await answered()).toMatchObject({ server: ['a', 'b'] });
  });

  test('a format that is named is not guessed: the lines of another are rejected', async () => {
    const { code, stderr } = await importText(FIRST, ['--format', 'dms']);
    expect([code, await stored()]).toEqual([1, []]);
    expect(stderr).toContain('line 1 rejected: unknown key "timestamp": ');
  });
});

/** Imports files with these lines, by their names. */
async function importFiles(files: Readonly<Record<string, readonly string[]>>, args: readonly string[] = []) {
  const paths: string[] = [];
  for (const [name, lines] of Object.entries(files)) {
    paths.push(join(folder, name));
    await writeFile(join(folder, name), `${lines.join('\n')}\n`);
  }
  return runDms(['import', ...args, ...paths], database.environment);
}

/** The records of example.com: owner name, type and data, when they were first seen and removed, to the minute. */
async function records(): Promise<string[]> {
  const response = await fetch(`${service.url}/api/v1/domain/example.com`);
  const { dnsRecords } = JSON.parse(await response.text());
  expect((await stored()).flatMap(findViolations)).toEqual([]);
  return dnsRecords.map(({ data, firstSeen, removed }: Entry) => {
    const { class: _, ...shown } = data;
    const times = [firstSeen, removed].map((time) => time?.slice(11, 16) ?? '');
    return [...Object.values(shown), ...times].join(' ');
  });
}

interface Entry {
  readonly data: Readonly<Record<string, string | number>>;
  readonly firstSeen: string;
  readonly removed: string | null;
}

const at = (time: string) => `2024-03-01T${time}:00Z`;

const dms = (time: string, dnsRecords: readonly object[]) =>
  JSON.stringify({ domain: 'example.com', observedAt: at(time), dnsRecords });
const dnsx = (time: string, ...all: readonly string[]) =>
  JSON.stringify({ host: 'example.com', resolver: ['192.0.2.53:53'], all, timestamp: at(time) });
const zdns = (time: string, answersByType: Readonly<Record<string, readonly object[]>>) => {
  const results = Object.entries(answersByType).map(([type, given]) => {
    const answers = given.map((answer) => ({ class: 'IN', name: 'example.com', type, ...answer }));
    return [type, { data: { answers }, status: 'NOERROR', timestamp: at(time) }] as const;
  });
  return JSON.stringify({ name: 'example.com', results: Object.fromEntries(results) });
};
const massdns = (time: string | null, type: string, ...data: readonly string[]) =>
  `{"name":"example.com.","type":"${type}","class":"IN","status":"NOERROR",${time === null ? '' : `"rx_ts":${Date.parse(at(time))}000000,`}` +
  `"data":{"answers":${JSON.stringify(data.map((each) => ({ type, class: 'IN', name: 'example.com.', data: each })))}}}`;

describe('dms import of the lines of dnsx, zdns and massdns', () => {
  const address = (host: string, ip: string) => ({ host, class: 'IN', type: 'A', ip });

  test('dms import records a bag of files of tools, each in its own format, found out by itself', async () => {
    const exchange = { answer: 'mail.example.com.', preference: 10 };
    const result = await importFiles({
      'a.json': [
        dms('08:00', [address('example.com', '192.0.2.1'), address('www.example.com', '192.0.2.9')]),
      ],
      'b.json': [zdns('09:00', { A: [{ answer: '192.0.2.2' }], MX: [exchange] })],
      'c.json': [massdns('10:00', 'MX'), massdns('10:00', 'TXT', 'v=spf1 -all')],
      'd.json': [dnsx('11:00', 'example.com.\t60\tIN\tA\t192.0.2.3')],
    });
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/^format +dms, dnsx, massdns, zdns$/m);
    expect(result.stdout).toMatch(/^recorded +5 \(5 with a change\)$/m);
    expect(result.stderr).toMatch(
      /^1 line: massdns does not write how the data of a TXT record are divided/m,
    );
    // The records of other owner names were not queried.
    expect(await records()).toEqual([
      'example.com A 192.0.2.1 08:00 09:00',
      'www.example.com A 192.0.2.9 08:00 ',
      'example.com A 192.0.2.2 09:00 11:00',
      'example.com MX 10 mail.example.com 09:00 10:00',
      'example.com TXT v=spf1 -all v=spf1 -all 10:00 ',
      'example.com A 192.0.2.3 11:00 ',
    ]);
  });

  test('a TXT record is the same, whether its tool tells how it is divided into strings or not, in any order', async () => {
    const text = { host: 'example.com', class: 'IN', type: 'TXT', entries: ['v=spf1 ', '-all'] };
    const files = [
      dms('08:00', [text]),
      massdns('09:00', 'TXT', 'v=spf1 -all'),
      dnsx('10:00', 'example.com.\t60\tIN\tTXT\t"v=spf1 " "-all"'),
      JSON.stringify({ host: 'example.com', txt: ['v=spf1 -all'], timestamp: at('11:00') }),
      dms('12:00', [text]),
    ].map((line, place) => ({ [`${place}.json`]: [line] }));
    for (const file of files) await importFiles(file);
    const inOrder = await records();
    expect(inOrder).toEqual(['example.com TXT v=spf1 -all v=spf1 ,-all 08:00 ']);
    await emptyTestDatabase(database);
    for (const file of files.toReversed()) await importFiles(file, ['--backfill']);
    expect(await records()).toEqual(inOrder);
    await emptyTestDatabase(database);
    for (const file of files.slice(1, 4).toReversed()) await importFiles(file, ['--backfill']);
    const first = ['example.com TXT v=spf1 -all v=spf1 -all 09:00 '];
    expect(await records()).toEqual(first);
    const exported = await runDms(['export'], database.environment);
    await emptyTestDatabase(database);
    await importFiles({ 'export.ndjson': [exported.stdout.trim()] });
    const last = await importFiles({ 'last.json': [dms('12:00', [text])] });
    expect(last.stdout).toMatch(/^recorded +1 \(0 with a change\)$/m);
    expect(await records()).toEqual(first);
  });

  test('files of five formats give the same history in whatever order they are imported', async () => {
    const passive = { rrname: 'example.com', rrtype: 'A', rdata: '192.0.2.1', time_first: 1_400_000_000 };
    const files = [
      ['own.ndjson', dms('10:00', [address('example.com', '192.0.2.2')])],
      ['httpx.json', httpxLine({ timestamp: at('13:00') })],
      ['zdns.json', zdns('15:00', { MX: [{ answer: 'mail.example.net.', preference: 10 }] })],
      ['dnsx.json', dnsx('14:00', 'example.com.\t300\tIN\tTXT\t"v=spf1 -all"')],
      ['passive.cof', JSON.stringify({ ...passive, time_last: 1_500_000_000 })],
    ].map(([name = '', line = '']) => [name, [line]] as const);
    const states = new Set<string>();
    for (const order of [files, files.toReversed(), [...files.slice(2), ...files.slice(0, 2)]]) {
      await emptyTestDatabase(database);
      const { stdout } = await importFiles(Object.fromEntries(order), ['--backfill']);
      expect(stdout).toMatch(/^format +cof, dms, dnsx, httpx, zdns$/m);
      states.add((await runDms(['export'], database.environment)).stdout);
    }
    expect(states.size).toBe(1);
    for (const part of ['192.0.2.1', '192.0.2.2', 'mail.example.net', 'v=spf1 -all', 'nginx'])
      expect([...states][0]).toContain(part);
  });

  test('an alias that is known is gone when an answer comes without one', async () => {
    const chain = [
      { type: 'CNAME', answer: 'cdn.example.net' },
      { name: 'cdn.example.net', answer: '192.0.2.9' },
    ];
    const lines = [zdns('09:00', { A: chain }), zdns('10:00', { A: [{ answer: '192.0.2.1' }] })];
    const { stderr } = await importFiles({ 'z.json': lines });
    expect(stderr).toMatch(
      /^1 line: The addresses .*For example, example\.com: A records of "cdn\.example\.net"\.\n$/,
    );
    expect(await records()).toEqual([
      'example.com CNAME cdn.example.net 09:00 10:00',
      'example.com A 192.0.2.1 10:00 ',
    ]);
  });

  test('lines without a time have that of --observed-at, and are rejected without it', async () => {
    const files = { 'm.json': [massdns(null, 'A', '192.0.2.1')] };
    const rejected = await importFiles(files);
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toContain(
      'line 1 rejected: rx_ts: it is missing; say when the lines were observed, --observed-at ',
    );
    const result = await importFiles(files, ['--observed-at', at('12:00')]);
    expect([result.code, result.stderr]).toEqual([0, '']);
    expect(await records()).toEqual(['example.com A 192.0.2.1 12:00 ']);
  });

  test.each(['yesterday', '2999-01-01T00:00:00Z'])(
    'dms import --observed-at %s is a usage error',
    async (time) => {
      const { code, stdout, stderr } = await importText('', ['--observed-at', time]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^dms: option '--observed-at <time>' argument .* is invalid\. /);
    },
  );
});
