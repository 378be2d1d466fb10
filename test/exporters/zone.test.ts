import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ZONE } from '../../src/exporters/zone.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { type DnsRecord, parseDnsRecord } from '../../src/model/dns-record.js';
import type { Instant } from '../../src/model/instant.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';
import { exportHistory, historyOf } from '../support/histories.js';
import { NOW, observation } from '../support/observations.js';
import { RDATA_EXAMPLES, RETIRED_EXAMPLES } from '../support/rdata-examples.js';
import { HAS_ZONE_CHECKERS, loadedRecords, recordsOfLines } from '../support/zone-checkers.js';

function ofDomain(domain: string, ...records: readonly Readonly<Record<string, unknown>>[]): StoredHistory {
  return historyOf([observation({ at: 0, domain, records })]);
}

const recordsIn = (history: StoredHistory, at?: Instant) =>
  recordsOfLines(exportHistory(ZONE, history, at).lines);
const text = (record: DnsRecord) => JSON.stringify(record);

test('any record is a line of a zone file that is the same record again, or is counted as left out', () => {
  fc.assert(
    fc.property(dnsRecordInput, (input) => {
      const record = parseDnsRecord(input);
      const { lines, omitted } = exportHistory(ZONE, ofDomain('example.com', input));
      const shown = lines.map((line) => line.replace('; of another zone: ', '').trimEnd());
      const isLeftOut = omitted.class !== undefined || omitted.unpresentable !== undefined;
      expect(recordsOfLines(shown)).toEqual(isLeftOut ? [] : [record]);
    }),
    { numRuns: 500 },
  );
});

const SOA = {
  ...{ host: 'example.com', class: 'IN', type: 'SOA', mname: 'ns1.example.com', rname: 'a\\.b.example.com' },
  ...{ serial: 4_294_967_295, refresh: 7200, retry: 900, expire: 1_209_600, 'minimum-ttl': 0 },
};
const NS = { host: 'example.com', class: 'IN', type: 'NS', target: 'ns1.example.com' };
const GLUE = { host: 'ns1.example.com', class: 'IN', type: 'A', ip: '192.0.2.53' };

test('a zone file begins with the SOA record, and has a comment that says so where there is none', () => {
  const { lines } = exportHistory(ZONE, ofDomain('example.com', GLUE, NS, SOA));
  expect(lines).toEqual([
    '\n; domain example.com, as of 2024-01-01T00:00:00.000000Z\n',
    'example.com.\tIN\tSOA\tns1.example.com. a\\.b.example.com. 4294967295 7200 900 1209600 0\n',
    'example.com.\tIN\tNS\tns1.example.com.\n',
    'ns1.example.com.\tIN\tA\t192.0.2.53\n',
  ]);
  expect(exportHistory(ZONE, ofDomain('example.com', NS)).lines[1]).toMatch(/^; no SOA record/);
});

test.each(RETIRED_EXAMPLES)('%s %s, which would be octets now, is written as it is stored', (type, data) => {
  const record = { host: 'example.com', class: 'IN', type, data };
  const { lines } = exportHistory(ZONE, ofDomain('example.com', record));
  expect(lines.at(-1)).toBe(`example.com.\tIN\t${type}\t${data}\n`);
});

test('records of other zones are comments in a zone file: of names that are not below the domain, whatever their text', () => {
  const others = ['www.example.net', 'a\\.example.com', 'notexample.com'];
  const below = ['*.example.com', 'a\\.b.example.com', '_a.\\"b.example.com', '\\000.example.com'];
  const records = [...others, ...below].map((host) => ({ ...GLUE, host }));
  const { lines } = exportHistory(ZONE, ofDomain('example.com', ...records));
  const comments = lines.filter((line) => line.startsWith('; of another zone: '));
  const owners = comments.map((line) => line.slice(19).split('.\t')[0]);
  expect(owners.sort()).toEqual(others.sort());
  const hosts = recordsOfLines(lines).map(({ host }) => host);
  expect(hosts.sort()).toEqual(below.sort());
});

test('the DS records of a zone file are those of the zone above, and comments', () => {
  const ds = { host: 'example.com', class: 'IN', type: 'DS', data: '1 2 9 AB' };
  const below = { ...ds, host: 'sub.example.com' };
  const owners = (...records: readonly (typeof ds | typeof SOA | typeof NS)[]) =>
    recordsIn(ofDomain('example.com', ...records)).map(({ host, type }) => `${host} ${type}`);
  expect(owners(SOA, ds, below)).toEqual(['example.com SOA', 'sub.example.com DS']);
  // Without an SOA record it is what the zone above has of it.
  expect(owners(NS, ds)).toEqual(['example.com DS', 'example.com NS']);
});

test('only what is present is in a zone file: now, or at an instant', () => {
  const history = historyOf([
    observation({ at: 0, records: ['192.0.2.1'] }),
    observation({ at: 20, records: ['192.0.2.2'] }),
  ]);
  const addresses = (at?: Instant) => recordsIn(history, at).map(({ rdata }) => JSON.parse(rdata).ip);
  expect(addresses()).toEqual(['192.0.2.2']);
  expect(addresses(history.state.created + 10_000_000n)).toEqual(['192.0.2.1']);
});

test('a string of TXT data that is longer than 255 octets is divided, as in a message', () => {
  const txt = { host: 'example.com', class: 'IN', type: 'TXT', txt: 'é'.repeat(200) };
  const [record] = recordsIn(ofDomain('example.com', txt));
  const { txt: joined, entries } = JSON.parse(record?.rdata ?? '');
  expect([joined, entries.length]).toEqual([txt.txt, 2]);
});

describe.skipIf(!HAS_ZONE_CHECKERS)('the name servers BIND and NSD', () => {
  const loaded = (history: StoredHistory, integrity: 'local' | 'none') =>
    loadedRecords(history.name, ZONE.head + exportHistory(ZONE, history).lines.join(''), integrity);

  const present = ({ stays }: StoredHistory) =>
    stays.filter(({ removal }) => removal === null).map(({ record }) => record);

  test('load the sample domains as they are, those without SOA and NS records with such', () => {
    const lines = readFileSync(new URL('../../samples/observations.ndjson', import.meta.url), 'utf8').trim();
    const observations = lines.split('\n').map((line) => parseDmsLine(line, NOW));
    for (const domain of new Set(observations.map(({ domain: name }) => name))) {
      const history = historyOf(observations.filter((each) => each.domain === domain));
      const missing = [SOA, NS].filter(({ type }) => !present(history).some((each) => each.type === type));
      const added = ofDomain(domain, ...missing.map((data) => ({ ...data, host: domain })));
      const whole = { ...history, stays: [...history.stays, ...added.stays] };
      // The zone above has its DS record.
      const expected = present(whole).filter(({ type }) => type !== 'DS');
      expect(loaded(whole, 'none').map(text).sort(), domain).toEqual(expected.map(text).sort());
    }
  });

  test('load every type of record as it is', () => {
    // Obsolete, and with a rule of its own: BIND loads neither MD nor MF (RFC 1035, sections 3.3.4 and 3.3.5).
    const examples = RDATA_EXAMPLES.filter(([type]) => !['MD', 'MF'].includes(type));
    const others = examples.map(([type, , data], at) => ({ host: `n${at}.example.com`, type, data }));
    const entries = ['', 'a"b\\c;d', '\\000\\255é', 'x'.repeat(255)];
    const own = [
      { host: '*.example.com', type: 'TXT', entries },
      { host: '\\000\\"\\;\\(\\@\\$.example.com', type: 'AAAA', ipv6: '::ffff:192.0.2.1' },
      { host: 'a\\.b.example.com', type: 'MX', pri: 65_535, target: '.' },
      { host: 'c.example.com', type: 'CAA', flags: 128, tag: 'issue', value: 'ca.example.net; a="b"' },
      { host: 'h.example.com', type: 'HINFO', cpu: '', os: 'a b' },
      { host: 'u.example.com', type: 'TYPE65280', data: '\\# 0' },
    ];
    const records = [...others, ...own].map((data) => ({ ...data, class: 'IN' }));
    const history = ofDomain('example.com', SOA, NS, GLUE, ...records);
    expect(loaded(history, 'local').map(text).sort()).toEqual(present(history).map(text).sort());
  });
});
