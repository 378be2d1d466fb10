import { beforeAll, expect, test } from 'vitest';
import { prepareCommands } from '../support/commands.js';
import { parseCsv } from '../support/csv.js';
import { withSamples } from '../support/service.js';

const commands = prepareCommands({ served: {} });
const { dms, file, graphql } = commands;

beforeAll(() => withSamples(commands));

/** What dms export, which succeeds, prints. */
async function exported(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await dms(['export', ...args]);
  expect([code, stderr.replace(/^dms: Not in the output: HTTP headers.*\n/, '')]).toEqual([0, '']);
  return stdout;
}

const DOMAINS = '7.2.0.192.in-addr.arpa example.com example.net www.example.org xn--bcher-kva.example'.split(
  ' ',
);
const TIMES = ['2023-01-10T08:00:00Z', '2023-05-20T14:30:12.345678Z', '2023-11-15T22:05:59.99998Z'];
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

test.each([...TIMES, undefined])(
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

test('dms export --from-file has the domains of a file, and no others, each once', async () => {
  const names = await file('names', 'Example.com. # a comment\n\nexample.net\nexample.com\n');
  const csv = await exported('--format', 'csv', '--from-file', names);
  const found = new Set(parseCsv(csv).map(({ domain }) => domain));
  expect(found).toEqual(new Set(['example.com', 'example.net']));
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

test('dms export says how many HTTP headers it leaves out', async () => {
  const { stderr } = await dms(['export', '--format', 'cof', 'example.com']);
  expect(stderr).toBe('dms: Not in the output: HTTP headers, which --format dms and csv have (4).\n');
});
