import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  service = await startTestService({ database });
  folder = await mkdtemp(join(tmpdir(), 'dms-test-cof-'));
});

beforeEach(() => emptyTestDatabase(database));

afterAll(async () => {
  await service.stop();
  await database.close();
  await rm(folder, { recursive: true });
});

const seconds = (time: string) => Date.parse(time) / 1000;

function sighting(rdata: string, from: string, to: string, more: object = {}): string {
  const times = { time_first: seconds(from), time_last: seconds(to) };
  return `${JSON.stringify({ rrname: 'example.com.', rrtype: 'A', rdata, ...times, ...more })}\n`;
}

function observed(at: string, ips: readonly string[]): string {
  const dnsRecords = ips.map((ip) => ({ host: 'example.com', class: 'IN', type: 'A', ip }));
  return `${JSON.stringify({ domain: 'example.com', observedAt: at, dnsRecords })}\n`;
}

async function dms(args: readonly string[], input = ''): Promise<string> {
  const result = await runDms(args, database.environment, Readable.from([input]));
  expect([result.code, result.code === 0 ? '' : result.stderr]).toEqual([0, '']);
  return result.stdout;
}

async function rest(path: string) {
  const response = await fetch(`${service.url}/api/v1${path}`);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  return JSON.parse(text);
}

async function addresses() {
  const { dnsRecords } = await rest('/domain/example.com');
  return dnsRecords.map(
    ({ data, firstSeen, removed }: { data: { ip: string }; firstSeen: string; removed: string | null }) =>
      `${data.ip} ${firstSeen.slice(0, 10)} ${removed?.slice(0, 10) ?? 'present'}`,
  );
}

async function graphql(query: string) {
  const body = JSON.stringify({ query });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${service.url}/graphql`, { method: 'POST', headers, body });
  return JSON.parse(await response.text()).data;
}

const LAST_SEEN = 'dnsRecords { ... on DnsRecordEntry { lastSeen } }';
const days = (entries: readonly { lastSeen?: string }[]) =>
  entries.flatMap(({ lastSeen }) => lastSeen?.slice(0, 10) ?? []);

describe('passive DNS', () => {
  const OLD = sighting('192.0.2.1', '2010-01-01T00:00:00Z', '2012-01-01T00:00:00Z');
  const RECENT = sighting('192.0.2.2', '2019-01-01T00:00:00Z', '2021-01-01T00:00:00Z');
  const OBSERVED = [
    observed('2020-01-01T00:00:00Z', ['192.0.2.2']),
    observed('2024-01-01T00:00:00Z', ['192.0.2.3']),
  ].join('');

  test.each([
    ['before', [RECENT, OLD, OBSERVED]],
    ['after', [OBSERVED, OLD, RECENT]],
    ['between', [OLD, OBSERVED, RECENT]],
  ])(
    'passive DNS fills in history, imported %s observations: a record goes at the first evidence of its absence',
    async (_when, files) => {
      for (const file of files) await dms(['import', '-'], file);
      expect(await addresses()).toEqual([
        '192.0.2.1 2010-01-01 2020-01-01',
        '192.0.2.2 2019-01-01 2024-01-01',
        '192.0.2.3 2024-01-01 present',
      ]);
      expect(await dms(['verify'])).toContain('No violations');
      const { domain } = await graphql(
        `{ domain(name: "example.com") { ${LAST_SEEN} changes(first: 9) { nodes { ... on DnsRecordRemoved { lastSeen } } } } }`,
      );
      expect(days(domain.dnsRecords)).toEqual(['2012-01-01', '2021-01-01', '2024-01-01']);
      expect(days(domain.changes.nodes)).toEqual(['2012-01-01', '2021-01-01']);
    },
  );

  test('passive DNS alone shows a record as present, last seen when it was sighted last: now and as of any time, and in searches', async () => {
    await dms(['import', '-'], OLD + RECENT);
    expect(await addresses()).toEqual(['192.0.2.1 2010-01-01 present', '192.0.2.2 2019-01-01 present']);
    const data = await graphql(`{
      domain(name: "example.com") { ${LAST_SEEN} }
      then: domain(name: "example.com", at: "2019-06-01T00:00:00Z") { ${LAST_SEEN} }
      early: domain(name: "example.com", at: "2011-01-01T00:00:00Z") { ${LAST_SEEN} }
      dnsRecords(where: { network: "192.0.2.0/24" }, first: 9) { nodes { record { ... on ARecord { ip lastSeen } } } }
      changes(first: 9) { nodes { ... on DnsRecordAdded { record { ... on ARecord { lastSeen } } } } }
    }`);
    const now = ['2012-01-01', '2021-01-01'];
    expect(days(data.domain.dnsRecords)).toEqual(now);
    expect(days(data.then.dnsRecords)).toEqual(['2012-01-01', '2019-01-01']);
    expect(days(data.early.dnsRecords)).toEqual(['2010-01-01']);
    for (const { nodes } of [data.dnsRecords, data.changes])
      expect(days(nodes.map(({ record }: { record: { lastSeen: string } }) => record))).toEqual(now);
  });

  test('passive DNS is to be imported after observations, which the summary says where it comes before them', async () => {
    const cof = await runDms(['import', '-'], database.environment, Readable.from([OLD]));
    expect(cof.stderr).toMatch(/^Import passive DNS after all observations of the same domains: .*\n$/);
    for (const lines of [OLD, RECENT, OBSERVED]) {
      const next = await runDms(['import', '-'], database.environment, Readable.from([lines]));
      expect(next).toMatchObject({ code: 0, stderr: '' });
    }
    await emptyTestDatabase(database);
    await dms(['import', '-'], OBSERVED);
    const after = await runDms(['import', '-'], database.environment, Readable.from([OLD]));
    expect(after).toMatchObject({ code: 0, stderr: '' });
  });

  test('passive DNS is told by the feed: a new domain’s changes one by one, and what moves a known history once', async () => {
    await dms(['import', '-'], RECENT);
    const { changes, next } = await rest('/changes');
    expect(changes.map(({ kind, date }: { kind: string; date: string }) => [kind, date])).toEqual([
      ['DNS_RECORD_ADDED', '2019-01-01T00:00:00.000000Z'],
    ]);
    const later = sighting('192.0.2.7', '2022-01-01T00:00:00Z', '2022-01-01T00:00:00Z');
    await dms(['import', '-'], later + OLD);
    const more = await rest(`/changes?after=${next}`);
    expect(more.changes).toEqual([
      {
        ...{ domain: 'example.com', kind: 'HISTORY_EXTENDED', date: expect.any(String), source: null },
        ...{ id: expect.any(String), earliest: '2010-01-01T00:00:00.000000Z', routine: 'BACKFILL' },
      },
      expect.objectContaining({ kind: 'DNS_RECORD_ADDED', date: '2022-01-01T00:00:00.000000Z' }),
    ]);
    expect((await rest('/changes?kinds=HISTORY_EXTENDED')).changes).toHaveLength(1);
    const found = await graphql(
      '{ changes(first: 9, kinds: [HISTORY_EXTENDED]) { nodes { domain { name } ... on HistoryExtended { earliest } } } }',
    );
    expect(found.changes.nodes).toEqual([
      { domain: { name: 'example.com' }, earliest: '2010-01-01T00:00:00.000000Z' },
    ]);
    expect((await rest('/domain/example.com/changes')).changes).toHaveLength(3);
    await dms(['import', '-'], later + OLD);
    expect((await rest(`/changes?after=${more.next}`)).changes).toEqual([]);
  });

  test('passive DNS in a file moves a known history once, however many lines a domain has and wherever they stand', async () => {
    await dms(['import', '-'], OBSERVED + OBSERVED.replaceAll('example.com', 'example.net'));
    const { next } = await rest('/changes');
    const lines = Array.from({ length: 6_000 }, (_, index) => {
      const start = Date.UTC(2000, 0, 1 + ((index * 7) % 3_000));
      const rrname = index % 2 === 0 ? 'example.com.' : 'example.net.';
      const [from, to] = [new Date(start).toISOString(), new Date(start + 86_400_000).toISOString()];
      return sighting(`198.51.${index >> 8}.${index & 255}`, from, to, { rrname });
    }).join('');
    const file = join(folder, 'many.cof');
    await writeFile(file, lines);
    await dms(['import', file]);
    const told = (await rest(`/changes?after=${next}`)).changes;
    // Of several domains in no order.
    expect(
      told.map(({ domain, kind }: { domain: string; kind: string }) => `${domain} ${kind}`).sort(),
    ).toEqual(['example.com HISTORY_EXTENDED', 'example.net HISTORY_EXTENDED']);
    // The lines of a pipe are recorded as they come, and say nothing that is new.
    expect(await dms(['import', '-'], lines)).toMatch(/^recorded +0 /m);
  });

  test('passive DNS that is imported again counts as known, also beside a line that tells something new', async () => {
    const line = JSON.parse(observed('2024-03-01T00:00:00Z', ['192.0.2.7']));
    const seen = `${JSON.stringify({ ...line, sighted: true })}\n`;
    await dms(['import', '-'], seen);
    const older = observed('2024-01-01T00:00:00Z', []);
    const summary = await dms(['import', '--backfill', '-'], older + seen);
    expect(summary).toMatch(/^recorded +1 \(0 with a change\)$/m);
    expect(summary).toMatch(/^already known +1$/m);
  });

  test('passive DNS that dms exported gives the same first and last times elsewhere', async () => {
    await dms(['import', '-'], OLD + RECENT);
    await dms(['import', '-'], OBSERVED);
    const exported = await dms(['export', '--format', 'cof']);
    await emptyTestDatabase(database);
    await dms(['import', '-'], exported);
    // Where no source is told, it is `cof`.
    const told = (text: string) => text.replaceAll(',"sensor_id":"cof"', '');
    expect(told(await dms(['export', '--format', 'cof']))).toBe(told(exported));
  });

  test('passive DNS that was exported as dms gives exactly the same elsewhere: what was observed, and what was sighted', async () => {
    const later = sighting('192.0.2.9', '2021-03-01T00:00:00Z', '2025-06-01T00:00:00Z', {
      sensor_id: 'probe',
    });
    await dms(['import', '-'], OLD + RECENT);
    await dms(['import', '-'], OBSERVED);
    await dms(['import', '-'], later);
    const read = async () => [
      ...(await Promise.all(['dms', 'cof', 'csv'].map((format) => dms(['export', '--format', format])))),
      await dms(['show', 'example.com', '--changes', '--json']),
    ];
    const before = await read();
    expect(before[0]).toContain('"sighted":true');
    await emptyTestDatabase(database);
    await dms(['import', '-'], before[0] ?? '');
    expect(await read()).toEqual(before);
    // Nothing of it is new, in any order.
    const reversed = (before[0] ?? '').trim().split('\n').reverse().join('\n');
    expect(await dms(['import', '-'], reversed)).toMatch(/^recorded +0 /m);
    expect(await read()).toEqual(before);
  });

  test('an observation that is imported again contradicts nothing, though a record was sighted since', async () => {
    await dms(['import', '-'], OBSERVED);
    await dms(['import', '-'], sighting('192.0.2.9', '2024-06-01T00:00:00Z', '2025-06-01T00:00:00Z'));
    const again = JSON.parse(await dms(['import', '--json', '-'], OBSERVED));
    expect(again).toMatchObject({ changed: 0, unchanged: 0, contradicting: 0 });
    const other = JSON.parse(
      await dms(['import', '--json', '-'], observed('2024-01-01T00:00:00Z', ['192.0.2.4'])),
    );
    expect(other).toMatchObject({ changed: 0, unchanged: 0, contradicting: 1 });
  });

  test('passive DNS keeps what is sighted late out of what observations of its type are stale by', async () => {
    await dms(['import', '-'], sighting('192.0.2.1', '2018-01-01T00:00:00Z', '2024-06-01T00:00:00Z'));
    expect(await dms(['import', '-'], observed('2022-01-01T00:00:00Z', ['192.0.2.2']))).toMatch(
      /^recorded +1 /m,
    );
    expect(await addresses()).toEqual([
      '192.0.2.1 2018-01-01 2022-01-01',
      '192.0.2.2 2022-01-01 present',
      '192.0.2.1 2024-06-01 present',
    ]);
  });
});
