import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordSamples } from '../../src/importers/samples.js';
import { dnsRecordData, parseDnsRecord } from '../../src/model/dns-record.js';
import { parseInstant } from '../../src/model/instant.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { runDms } from '../journeys/dms-command.js';
import { parseCofLine } from '../support/cof.js';
import { parseCsv } from '../support/csv.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { NOW } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  service = await startTestService({ database });
  await recordSamples(createRecorder(database.pool), NOW);
  folder = await mkdtemp(join(tmpdir(), 'dms-export-'));
});
afterAll(async () => {
  await service.stop();
  await database.close();
  await rm(folder, { recursive: true });
});

function dms(args: readonly string[], input?: string) {
  return runDms(args, database.environment, input === undefined ? undefined : Readable.from([input]));
}

/** The output of a command that succeeds. */
async function said(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await dms(args);
  expect([code, stderr.replace(/^dms: Not in the output: HTTP headers.*\n/, '')]).toEqual([0, '']);
  return stdout;
}

const DOMAINS = [
  '7.2.0.192.in-addr.arpa',
  'example.com',
  'example.net',
  'www.example.org',
  'xn--bcher-kva.example',
];
const SOMETIMES = [
  '2023-01-10T08:00:00Z',
  '2023-05-20T14:30:12.345678Z',
  '2023-11-15T22:05:59.99998Z',
  undefined,
];

interface Entry {
  readonly host: string;
  readonly firstSeen: string;
  readonly removed: string | null;
  readonly lastSeen: string;
}

/** The records of all domains that the API has at a time; of an earlier one than now, those that were there. */
async function answered(at: string | undefined) {
  const query = `query ($names: [String!]!, $at: Timestamp) {
    domains(names: $names, at: $at) { dnsRecords { ... on DnsRecordEntry { host firstSeen removed lastSeen } } } }`;
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { names: DOMAINS, at } }),
  });
  const { data }: { data: { domains: ({ dnsRecords: Entry[] } | null)[] } } = JSON.parse(
    await response.text(),
  );
  const entries = data.domains.flatMap((domain) => domain?.dnsRecords ?? []);
  return entries.filter(({ removed }) => at === undefined || removed === null);
}

const atOption = (at: string | undefined) => (at === undefined ? [] : ['--at', at]);

describe('dms export', () => {
  test.each(SOMETIMES)(
    'dms export --format cof has the records of the API with the same times, those that were there at %s',
    async (at) => {
      const lines = await said('export', '--format', 'cof', ...atOption(at));
      const objects = lines.split(/(?<=\n)/).map(parseCofLine);
      const milliseconds = (time: string) => Number(parseInstant(time) / 1000n);
      const times = ({ host, firstSeen, lastSeen }: Entry) => [
        host,
        milliseconds(firstSeen),
        milliseconds(lastSeen),
      ];
      const exported = objects.map((each) => [each['rrname'], each['time_first_ms'], each['time_last_ms']]);
      expect(exported.sort()).toEqual((await answered(at)).map(times).sort());
    },
  );

  test.each(SOMETIMES)(
    'dms export --format csv has the records of the API with the same times, those that were there at %s',
    async (at) => {
      const rows = parseCsv(await said('export', '--format', 'csv', ...atOption(at)));
      const records = rows.filter(({ kind }) => kind === 'DNS');
      const exported = records.map((row) => [
        row['name'],
        row['first_seen'],
        row['last_seen'],
        row['removed'],
      ]);
      const entries = await answered(at);
      expect(exported.sort()).toEqual(
        entries.map((each) => [each.host, each.firstSeen, each.lastSeen, each.removed ?? '']).sort(),
      );
      expect(rows.some(({ kind }) => kind === 'HTTP')).toBe(true);
    },
  );

  test.each(SOMETIMES)('dms export --format zone has the records that are present, as of %s', async (at) => {
    const lines = (await said('export', '--format', 'zone', ...atOption(at))).split('\n');
    const records = lines.flatMap((line) => {
      const [host, recordClass, type, data] = line.replace('; of another zone: ', '').split('\t');
      return data === undefined
        ? []
        : dnsRecordData(parseDnsRecord({ host, class: recordClass, type, data }));
    });
    const present: object[] = [];
    for (const domain of DOMAINS) {
      const query = at === undefined ? '' : `?at=${at}`;
      const response = await fetch(`${service.url}/api/v1/domain/${domain}${query}`);
      const { dnsRecords = [] }: { dnsRecords?: { data: object; removed: string | null }[] } = JSON.parse(
        await response.text(),
      );
      for (const { data, removed } of dnsRecords) if (removed === null) present.push(data);
    }
    const sorted = (data: readonly object[]) => data.map((each) => JSON.stringify(each)).sort();
    expect(sorted(records)).toEqual(sorted(present));
  });

  /** Runs commands against a database into which a text is imported. */
  async function inCopy<Result>(
    text: string,
    read: (dmsOfCopy: typeof dms) => Promise<Result>,
  ): Promise<Result> {
    const copy = await openTestDatabase();
    try {
      const dmsOfCopy = (args: readonly string[], input?: string) =>
        runDms(args, copy.environment, input === undefined ? undefined : Readable.from([input]));
      expect((await dmsOfCopy(['import', '-'], text)).code).toBe(0);
      return await read(dmsOfCopy);
    } finally {
      await copy.close();
    }
  }

  test.each(SOMETIMES)('dms export --at, imported elsewhere, gives the domains as of %s', async (at) => {
    await inCopy(await said('export', ...atOption(at)), async (dmsOfCopy) => {
      for (const domain of DOMAINS) {
        const original = await dms(['show', domain, '--json', ...atOption(at)]);
        const { code, stdout } = await dmsOfCopy(['show', domain, '--json']);
        // Of observations that changed nothing, the time of the latest may be lost.
        const body = (text: string) => (text === '' ? '' : { ...JSON.parse(text), lastUpdate: '' });
        expect([code, body(stdout)]).toEqual([original.code, body(original.stdout)]);
      }
    });
  });

  test.each(['dms', 'cof', 'csv', 'zone'])(
    'dms export --format %s has only what --types and --present select',
    async (format) => {
      const all = await said('export', '--format', format);
      const selected = await said('export', '--format', format, '--types', 'txt,TYPE15', '--present');
      expect(selected).not.toMatch(/nginx|CNAME|203\.0\.113\.|192\.0\.2\./);
      expect(selected).toMatch(/TXT/);
      expect(selected).toMatch(/MX/);
      expect(selected.length).toBeLessThan(all.length);
    },
  );

  test('dms export --present has the records and headers that are there, and no others', async () => {
    const rows = parseCsv(await said('export', '--format', 'csv', '--present'));
    const all = parseCsv(await said('export', '--format', 'csv'));
    expect(rows).toEqual(all.filter(({ removed }) => removed === ''));
    expect(rows.length).toBeLessThan(all.length);
    const copied = await inCopy(await said('export', '--present'), (dmsOfCopy) =>
      dmsOfCopy(['export', '--format', 'csv']),
    );
    // The latest observations are copied: what is present is seen first then.
    const seen = ({ first_seen, source, ...row }: Readonly<Record<string, string>>) => JSON.stringify(row);
    expect(parseCsv(copied.stdout).map(seen).sort()).toEqual(rows.map(seen).sort());
  });

  test('dms export --from-file has the domains of a file, and no others, each once', async () => {
    const file = join(folder, 'names');
    await writeFile(file, 'Example.com. # a comment\n\nexample.net\nexample.com\n');
    const domains = (csv: string) => new Set(parseCsv(csv).map(({ domain }) => domain));
    const csv = await said('export', '--format', 'csv', '--from-file', file);
    expect(domains(csv)).toEqual(new Set(['example.com', 'example.net']));
    expect(await said('export', '--format', 'csv', 'example.net', 'example.com')).toBe(csv);
    const piped = await dms(
      ['export', '--format', 'csv', '--from-file', '-', 'example.net'],
      'example.com\n',
    );
    expect(piped.stdout).toBe(csv);
    await writeFile(file, '# nothing\n');
    const { code, stdout } = await dms(['export', '--format', 'csv', '--from-file', file]);
    expect([code, stdout]).toEqual([1, '']);
  });

  test('dms export names at the end the domains of which nothing is known: exit code 1', async () => {
    const unknown = Array.from({ length: 12 }, (_, at) => `unknown${at}.example`);
    const names = ['example.com', ...unknown].join('\n');
    const { code, stdout, stderr } = await dms(['export', '--from-file', '-'], names);
    expect(code).toBe(1);
    expect(stdout).toContain('"domain":"example.com"');
    expect(stderr).toContain('unknown8.example, unknown9.example and 2 more.');
  });

  test('to dms export, a domain that was not known yet at the time of --at is unknown', async () => {
    const { code, stderr } = await dms(['export', '--at', '2023-01-01T00:00:00Z', 'example.com']);
    expect([code, stderr]).toEqual([
      1,
      'dms: No history is recorded for example.com up to 2023-01-01T00:00:00.000000Z.\n',
    ]);
  });

  test.each([
    ['--at', 'yesterday', 'write it like 2024-03-01T10:20:30Z, a date '],
    ['--at', '9999-01-01T00:00:00Z', 'more than five minutes ahead'],
    ['--types', 'ADDRESS', 'the type "ADDRESS" is not known: write TYPE and its number'],
    ['--format', 'xml', 'Allowed choices are dms, cof, csv, zone'],
  ])('dms export %s %s is a usage error', async (option, value, advice) => {
    const { code, stdout, stderr } = await dms(['export', option, value]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(advice);
  });

  test.each(['cof', 'zone'])(
    'dms export --format %s says how many HTTP headers it leaves out',
    async (format) => {
      const { stderr } = await dms(['export', '--format', format, 'example.com']);
      expect(stderr).toBe('dms: Not in the output: HTTP headers, which --format dms and csv have (4).\n');
    },
  );
});
