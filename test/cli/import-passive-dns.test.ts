import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { prepareCommands } from '../support/commands.js';
import { emptyTestDatabase } from '../support/database.js';

const commands = prepareCommands({ emptied: true, served: {} });
const { dms, file, graphql, rest } = commands;

/** A line of passive DNS. */
function sighting(rdata: string, from: string, to: string, more: object = {}): string {
  const times = { time_first: Date.parse(from) / 1000, time_last: Date.parse(to) / 1000 };
  return `${JSON.stringify({ rrname: 'example.com.', rrtype: 'A', rdata, ...times, ...more })}\n`;
}

function observed(day: string, ...ips: readonly string[]): string {
  const dnsRecords = ips.map((ip) => ({ host: 'example.com', class: 'IN', type: 'A', ip }));
  return `${JSON.stringify({ domain: 'example.com', observedAt: `${day}T00:00:00Z`, dnsRecords })}\n`;
}

async function importText(text: string, ...options: readonly string[]): Promise<string> {
  const { code, stdout } = await dms(['import', ...options, '-'], Readable.from([text]));
  expect(code).toBe(0);
  return stdout;
}

const lastSeenOf = ({ lastSeen }: { lastSeen?: string }) => lastSeen?.slice(0, 10) ?? [];

const OLD = sighting('192.0.2.1', '2010-01-01', '2012-01-01');
const RECENT = sighting('192.0.2.2', '2019-01-01', '2021-01-01');
const OBSERVED = observed('2020-01-01', '192.0.2.2') + observed('2024-01-01', '192.0.2.3');

test('passive DNS alone shows a record as present, last seen when it was sighted last: now and as of any time, and in searches', async () => {
  await importText(OLD + RECENT);
  expect((await rest('/domain/example.com')).dnsRecords).toMatchObject([
    { data: { ip: '192.0.2.1' }, firstSeen: '2010-01-01T00:00:00.000000Z', removed: null },
    { data: { ip: '192.0.2.2' }, firstSeen: '2019-01-01T00:00:00.000000Z', removed: null },
  ]);
  const data = await graphql(`{
      domain(name: "example.com") { dnsRecords { ... on DnsRecordEntry { lastSeen } } }
      then: domain(name: "example.com", at: "2019-06-01T00:00:00Z") { dnsRecords { ... on DnsRecordEntry { lastSeen } } }
      early: domain(name: "example.com", at: "2011-01-01T00:00:00Z") { dnsRecords { ... on DnsRecordEntry { lastSeen } } }
      dnsRecords(where: { network: "192.0.2.0/24" }, first: 9) { nodes { record { ... on ARecord { ip lastSeen } } } }
      changes(first: 9) { nodes { ... on DnsRecordAdded { record { ... on ARecord { lastSeen } } } } }
    }`);
  const recordsOf = ({ nodes }: { nodes: { record: object }[] }) => nodes.map(({ record }) => record);
  expect(data.then.dnsRecords.map(lastSeenOf)).toEqual(['2012-01-01', '2019-01-01']);
  expect(data.early.dnsRecords.map(lastSeenOf)).toEqual(['2010-01-01']);
  for (const found of [data.domain.dnsRecords, recordsOf(data.dnsRecords), recordsOf(data.changes)])
    expect(found.map(lastSeenOf)).toEqual(['2012-01-01', '2021-01-01']);
});

test('passive DNS is to be imported after observations, which the summary says where it comes before them', async () => {
  const { stderr } = await dms(['import', '-'], OLD);
  expect(stderr).toMatch(/^Import passive DNS after all observations of the same domains: .*\n$/);
  for (const text of [OLD, RECENT, OBSERVED])
    expect(await dms(['import', '-'], text)).toMatchObject({ code: 0, stderr: '' });
  await emptyTestDatabase(commands.database);
  await importText(OBSERVED);
  expect(await dms(['import', '-'], OLD)).toMatchObject({ code: 0, stderr: '' });
});

test('passive DNS is told by the feed: a new domain’s changes one by one, and what moves a known history once', async () => {
  await importText(RECENT);
  const { changes, next } = await rest('/changes');
  expect(changes).toMatchObject([{ kind: 'DNS_RECORD_ADDED', date: '2019-01-01T00:00:00.000000Z' }]);
  const later = sighting('192.0.2.7', '2022-01-01', '2022-01-01');
  await importText(later + OLD);
  const more = await rest(`/changes?after=${next}`);
  const earliest = '2010-01-01T00:00:00.000000Z';
  expect(more.changes).toMatchObject([
    { domain: 'example.com', kind: 'HISTORY_EXTENDED', source: null, earliest, routine: 'BACKFILL' },
    { kind: 'DNS_RECORD_ADDED', date: '2022-01-01T00:00:00.000000Z' },
  ]);
  expect((await rest('/changes?kinds=HISTORY_EXTENDED')).changes).toHaveLength(1);
  const found = await graphql(
    '{ changes(first: 9, kinds: [HISTORY_EXTENDED]) { nodes { domain { name } ... on HistoryExtended { earliest } } } }',
  );
  expect(found.changes.nodes).toEqual([{ domain: { name: 'example.com' }, earliest }]);
  expect((await rest('/domain/example.com/changes')).changes).toHaveLength(3);
  await importText(later + OLD);
  expect((await rest(`/changes?after=${more.next}`)).changes).toEqual([]);
});

test('passive DNS in a file moves a known history once, however many lines a domain has and wherever they stand', async () => {
  await importText(OBSERVED + OBSERVED.replaceAll('example.com', 'example.net'));
  const { next } = await rest('/changes');
  const lines = Array.from({ length: 6_000 }, (_, index) => {
    const start = Date.UTC(2000, 0, 1 + ((index * 7) % 3_000));
    const rrname = index % 2 === 0 ? 'example.com.' : 'example.net.';
    const [from, to] = [new Date(start).toISOString(), new Date(start + 86_400_000).toISOString()];
    return sighting(`198.51.${index >> 8}.${index & 255}`, from, to, { rrname });
  }).join('');
  expect((await dms(['import', await file('many.cof', lines)])).code).toBe(0);
  const told: { domain: string; kind: string }[] = (await rest(`/changes?after=${next}`)).changes;
  // Of several domains in no order.
  expect(told.map(({ domain, kind }) => `${domain} ${kind}`).sort()).toEqual([
    'example.com HISTORY_EXTENDED',
    'example.net HISTORY_EXTENDED',
  ]);
  // The lines of a pipe are recorded as they come, and say nothing that is new.
  expect(await importText(lines)).toMatch(/^recorded +0 /m);
});

test('passive DNS that is imported again counts as known, also beside a line that tells something new', async () => {
  const seen = observed('2024-03-01', '192.0.2.7').replace('}\n', ',"sighted":true}\n');
  await importText(seen);
  const summary = await importText(observed('2024-01-01') + seen, '--backfill');
  expect(summary).toMatch(/^recorded +1 \(0 with a change\)$.*^already known +1$/ms);
});

test('an observation that is imported again contradicts nothing, though a record was sighted since', async () => {
  await importText(OBSERVED);
  await importText(sighting('192.0.2.9', '2024-06-01', '2025-06-01'));
  for (const [text, contradicting] of [
    [OBSERVED, 0],
    [observed('2024-01-01', '192.0.2.4'), 1],
  ] as const) {
    const summary = JSON.parse(await importText(text, '--json'));
    expect(summary).toMatchObject({ changed: 0, unchanged: 0, contradicting });
  }
});
