import { expect, test } from 'vitest';
import { findViolations } from '../../src/history/violations.js';
import { prepareCommands } from '../support/commands.js';
import { emptyTestDatabase } from '../support/database.js';
import { httpxLine } from '../support/httpx-lines.js';
import { observationLine, timeText } from '../support/observations.js';

const commands = prepareCommands({ emptied: true, served: {} });
const { dms, said, file, stored, rest } = commands;

/** A line of httpx at a time, with these fields in the head of the response. */
function lineAt(at: number, ...fields: readonly string[]): string {
  const raw_header = ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
  return httpxLine({ timestamp: timeText(at), raw_header });
}

/** What Get domain says of the headers of example.com: names to values, oldest first. */
async function answered(): Promise<Record<string, string[]>> {
  const { httpHeaders } = await rest('/domain/example.com');
  return Object.fromEntries(
    httpHeaders.map(({ name, history }: { name: string; history: { new: string }[] }) => [
      name,
      history.map((change) => change.new),
    ]),
  );
}

const FIRST = lineAt(1, 'Date: one', 'Server: a', 'Content-Length: 5', 'X-Gone: 1');
const SECOND = lineAt(2, 'Date: two', 'Server: b');

test.each(['auto', 'httpx'])(
  'dms import records the headers of httpx and no DNS, with --format %s',
  async (format) => {
    const summary = await said(['import', '--format', format, '-'], `${FIRST}\n${SECOND}\n`);
    expect(summary).toMatch(/^recorded +2 \(2 with a change\)$.*^DNS records +0 added, 0 removed$/ms);
    expect(await answered()).toEqual({ server: ['a', 'b'], 'content-length': ['5'], 'x-gone': ['1'] });
    expect((await stored()).flatMap(findViolations)).toEqual([]);
  },
);

test('the summary of dms import says which format the lines have told, where it is not that of the program', async () => {
  const httpx = await file('httpx.json', FIRST);
  const own = await file('dms.ndjson', observationLine({ at: 3, headers: { server: 'c' } }));
  expect((await dms(['import', httpx])).stdout).toMatch(/^format +httpx\n/);
  expect((await dms(['import', httpx, own])).stdout).toMatch(/^format +dms, httpx\n/);
  expect((await dms(['import', own])).stdout).toMatch(/^lines read /);
  expect(await answered()).toMatchObject({ server: ['a', 'c'] });
});

test('which headers are ignored is the setting of those who observe', async () => {
  await dms(['import', '-'], FIRST, { OBSERVE_IGNORED_HEADERS: 'Server, x-gone' });
  expect(await answered()).toEqual({ date: ['one'], 'content-length': ['5'] });
  await emptyTestDatabase(commands.database);
  await dms(['import', '-'], FIRST, { OBSERVE_IGNORED_HEADERS: 'none' });
  expect(await answered()).toMatchObject({ date: ['one'], server: ['a'] });
});

test('a format that is named is not guessed: the lines of another are rejected', async () => {
  const { code, stderr } = await dms(['import', '--format', 'dms', '-'], FIRST);
  expect([code, await stored()]).toEqual([1, []]);
  expect(stderr).toContain(
    'line 1 rejected: the line is in format httpx, but is read as dms: import lines of httpx with --format httpx, ',
  );
});

/** Imports files with a line each. */
async function importFiles(lines: readonly string[], ...options: readonly string[]) {
  const paths = await Promise.all(lines.map((line, place) => file(`${place}.json`, `${line}\n`)));
  return dms(['import', ...options, ...paths]);
}

interface Entry {
  readonly data: Readonly<Record<string, string | number>>;
  readonly firstSeen: string;
  readonly removed: string | null;
}

/** The records of example.com: owner name, type and data, when they were first seen and removed, to the minute. */
async function records(): Promise<string[]> {
  expect((await stored()).flatMap(findViolations)).toEqual([]);
  return (await rest('/domain/example.com')).dnsRecords.map(({ data, firstSeen, removed }: Entry) => {
    const { class: _, ...shown } = data;
    const times = [firstSeen, removed].map((time) => time?.slice(11, 16) ?? '');
    return [...Object.values(shown), ...times].join(' ');
  });
}

const at = (time: string) => `2024-03-01T${time}:00Z`;
const IN_EXAMPLE = { host: 'example.com', class: 'IN' };

const own = (time: string, ...dnsRecords: readonly object[]) =>
  JSON.stringify({ domain: 'example.com', observedAt: at(time), dnsRecords });
const dnsx = (time: string, ...all: readonly string[]) => {
  const answer = { host: 'example.com', resolver: ['192.0.2.53:53'], status_code: 'NOERROR' };
  return JSON.stringify({ ...answer, all, timestamp: at(time) });
};
const zdns = (time: string, results: Readonly<Record<string, readonly object[]>>) => {
  const resultOf = ([type, answers]: [string, readonly object[]]) => {
    const data = { answers: answers.map((each) => ({ class: 'IN', name: 'example.com', type, ...each })) };
    return [type, { data, status: 'NOERROR', timestamp: at(time) }] as const;
  };
  const entries = Object.entries(results).map(resultOf);
  return JSON.stringify({ name: 'example.com', results: Object.fromEntries(entries) });
};
const massdns = (time: string | null, type: string, ...data: readonly string[]) => {
  const answers = data.map((each) => ({ type, class: 'IN', name: 'example.com.', data: each }));
  const line = { name: 'example.com.', type, class: 'IN', status: 'NOERROR', data: { answers } };
  const nanoseconds = time === null ? {} : { rx_ts: Date.parse(at(time)) * 1_000_000 };
  return JSON.stringify({ ...line, ...nanoseconds });
};

test('dms import records a bag of files of tools, each in its own format, found out by itself', async () => {
  const { code, stdout, stderr } = await importFiles([
    own(
      '08:00',
      { ...IN_EXAMPLE, type: 'A', ip: '192.0.2.1' },
      { ...IN_EXAMPLE, host: 'www.example.com', type: 'A', ip: '192.0.2.9' },
    ),
    zdns('09:00', { A: [{ answer: '192.0.2.2' }], MX: [{ answer: 'mail.example.com.', preference: 10 }] }),
    `${massdns('10:00', 'MX')}\n${massdns('10:00', 'TXT', 'v=spf1 -all')}`,
    dnsx('11:00', 'example.com.\t60\tIN\tA\t192.0.2.3'),
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^format +dms, dnsx, massdns, zdns$.*^recorded +5 \(5 with a change\)$/ms);
  expect(stderr).toMatch(/^1 line: massdns does not write how the data of a TXT record are divided/m);
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

test('lines without a time have that of --observed-at, and are rejected without it', async () => {
  const line = massdns(null, 'A', '192.0.2.1');
  const { code, stderr } = await dms(['import', '-'], line);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('line 1 rejected: rx_ts: it is missing; say when the lines were observed, --obs'),
  ]);
  await said(['import', '-', '--observed-at', at('12:00')], line);
  expect(await records()).toEqual(['example.com A 192.0.2.1 12:00 ']);
});
