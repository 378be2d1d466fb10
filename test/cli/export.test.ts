import { beforeAll, describe, expect, test } from 'vitest';
import { recordSamples } from '../../src/importers/samples.js';
import { dnsRecordData, parseDnsRecord } from '../../src/model/dns-record.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { prepareCommands } from '../support/commands.js';
import { parseCsv } from '../support/csv.js';
import { NOW } from '../support/observations.js';

const commands = prepareCommands({ served: {} });
const { dms, file, graphql, rest } = commands;

beforeAll(async () => {
  await recordSamples(createRecorder(commands.database.pool), NOW);
});

/** What dms export, which succeeds, prints. */
async function exported(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await dms(['export', ...args]);
  expect([code, stderr.replace(/^dms: Not in the output: HTTP headers.*\n/, '')]).toEqual([0, '']);
  return stdout;
}

const DOMAINS = '7.2.0.192.in-addr.arpa example.com example.net www.example.org xn--bcher-kva.example'.split(
  ' ',
);
const SOMETIMES = [
  '2023-01-10T08:00:00Z',
  '2023-05-20T14:30:12.345678Z',
  '2023-11-15T22:05:59.99998Z',
  undefined,
];
const atOption = (at: string | undefined) => (at === undefined ? [] : ['--at', at]);

interface Entry {
  readonly host: string;
  readonly firstSeen: string;
  readonly removed: string | null;
  readonly lastSeen: string;
}

const QUERY = `query ($name: String!, $at: Timestamp) {
  domain(name: $name, at: $at) { dnsRecords { ... on DnsRecordEntry { host firstSeen removed lastSeen } } } }`;

/** The records that were there at a time, as the API has them; without one, all. */
async function present(at: string | undefined): Promise<Entry[]> {
  const all = await Promise.all(DOMAINS.map((name) => graphql(QUERY, { name, at })));
  const entries: Entry[] = all.flatMap(({ domain }) => domain?.dnsRecords ?? []);
  return entries.filter(({ removed }) => at === undefined || removed === null);
}

describe('dms export', () => {
  test.each(SOMETIMES)(
    'dms export --format csv has the records of the API with the same times, those that were there at %s',
    async (at) => {
      const rows = parseCsv(await exported('--format', 'csv', ...atOption(at)));
      const records = rows.filter(({ kind }) => kind === 'DNS');
      expect(
        records.map((row) => [row['name'], row['first_seen'], row['last_seen'], row['removed']]).sort(),
      ).toEqual(
        (await present(at))
          .map(({ host, firstSeen, lastSeen, removed }) => [host, firstSeen, lastSeen, removed ?? ''])
          .sort(),
      );
      expect(rows.some(({ kind }) => kind === 'HTTP')).toBe(true);
    },
  );

  test.each(SOMETIMES)('dms export --format zone has the records that are present, as of %s', async (at) => {
    const lines = (await exported('--format', 'zone', ...atOption(at))).split('\n');
    const records = lines.flatMap((line) => {
      const [host, recordClass, type, data] = line.replace('; of another zone: ', '').split('\t');
      const record = { host, class: recordClass, type, data };
      return data === undefined ? [] : dnsRecordData(parseDnsRecord(record));
    });
    const query = at === undefined ? '' : `?at=${at}`;
    const bodies = await Promise.all(DOMAINS.map((domain) => rest(`/domain/${domain}${query}`)));
    const known: { data: object; removed: string | null }[] = bodies.flatMap((body) => body.dnsRecords ?? []);
    const there = known.filter(({ removed }) => removed === null).map(({ data }) => data);
    const sorted = (data: readonly object[]) => data.map((each) => JSON.stringify(each)).sort();
    expect(sorted(records)).toEqual(sorted(there));
  });

  test('dms export --at has the observations up to then', async () => {
    const at = '2023-05-20T14:30:12.345678Z';
    const timesOf = (lines: string) => lines.match(/(?<="observedAt":")[^"]+/g)?.toSorted() ?? [];
    const [all, before] = [timesOf(await exported()), timesOf(await exported('--at', at))];
    expect(before).toEqual(all.slice(0, before.length));
    expect([before.at(-1), (all[before.length] ?? '') > at]).toEqual([at, true]);
  });

  test.each(['dms', 'cof', 'csv', 'zone'])(
    'dms export --format %s has only what --types and --present select',
    async (format) => {
      const all = await exported('--format', format);
      const selected = await exported('--format', format, '--types', 'txt,TYPE15', '--present');
      expect(selected).not.toMatch(/nginx|CNAME|203\.0\.113\.|192\.0\.2\./);
      for (const type of ['TXT', 'MX']) expect(selected).toContain(type);
      expect(selected.length).toBeLessThan(all.length);
    },
  );

  test('dms export --present has the records and headers that are there, and no others', async () => {
    const rows = parseCsv(await exported('--format', 'csv', '--present'));
    const all = parseCsv(await exported('--format', 'csv'));
    expect(rows).toEqual(all.filter(({ removed }) => removed === ''));
    expect(rows.length).toBeLessThan(all.length);
  });

  test('dms export --from-file has the domains of a file, and no others, each once', async () => {
    const names = await file('names', 'Example.com. # a comment\n\nexample.net\nexample.com\n');
    const csv = await exported('--format', 'csv', '--from-file', names);
    expect(new Set(parseCsv(csv).map(({ domain }) => domain))).toEqual(
      new Set(['example.com', 'example.net']),
    );
    expect(await exported('--format', 'csv', 'example.net', 'example.com')).toBe(csv);
    const args = ['export', '--format', 'csv', '--from-file', '-', 'example.net'];
    expect((await dms(args, 'example.com\n')).stdout).toBe(csv);
    const none = await dms(['export', '--from-file', await file('none', '# nothing\n')]);
    expect(none).toMatchObject({ code: 1, stdout: '' });
  });

  test('dms export names at the end the domains of which nothing is known: exit code 1', async () => {
    const unknown = Array.from({ length: 12 }, (_, at) => `unknown${at}.example`);
    const names = ['example.com', ...unknown].join('\n');
    const { code, stdout, stderr } = await dms(['export', '--from-file', '-'], names);
    expect([code, stdout]).toEqual([1, expect.stringContaining('"domain":"example.com"')]);
    expect(stderr).toContain('unknown8.example, unknown9.example and 2 more.');
  });

  test('to dms export, a domain that was not known yet at the time of --at is unknown', async () => {
    expect(await dms(['export', '--at', '2023-01-01T00:00:00Z', 'example.com'])).toMatchObject({
      code: 1,
      stderr: 'dms: No history is recorded for example.com up to 2023-01-01T00:00:00.000000Z.\n',
    });
  });

  test.each([
    ['--at', 'yesterday', 'write it like 2024-03-01T10:20:30Z, a date '],
    ['--at', '9999-01-01T00:00:00Z', 'more than five minutes ahead'],
    ['--types', 'ADDRESS', 'the type "ADDRESS" is not known: write TYPE and its number'],
    ['--format', 'xml', 'Allowed choices are dms, cof, csv, zone'],
  ])('dms export %s %s is a usage error', async (option, value, advice) => {
    const { code, stdout, stderr } = await dms(['export', option, value]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(advice)]);
  });

  test.each(['cof', 'zone'])(
    'dms export --format %s says how many HTTP headers it leaves out',
    async (format) => {
      const { stderr } = await dms(['export', '--format', format, 'example.com']);
      expect(stderr).toBe('dms: Not in the output: HTTP headers, which --format dms and csv have (4).\n');
    },
  );
});
