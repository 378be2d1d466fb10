import { expect, test } from 'vitest';
import { createCofParser } from '../../src/importers/cof.js';
import { ImportSummary } from '../../src/importers/import-summary.js';
import { dnsRecordData } from '../../src/model/dns-record.js';
import { formatInstant, parseInstant } from '../../src/model/instant.js';
import { expectRejected } from '../support/rejections.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

function read(...lines: readonly object[]) {
  const parse = createCofParser();
  const summary = new ImportSummary();
  const parsed = lines.map((line) => parse(JSON.stringify(line), NOW));
  for (const { remarks = [] } of parsed) summary.addRemarks(remarks);
  const sightings = parsed.flatMap(({ observations }) => observations);
  return {
    sightings: sightings.map(({ domain, observedAt, source, dns }) => ({
      ...{ domain, at: formatInstant(observedAt), source, isSighting: dns?.sighted },
      records: [...(dns?.records.values() ?? [])].flat().map((record) => {
        const { class: _class, host, ...data } = dnsRecordData(record);
        return { ...(host !== domain && { host }), ...data };
      }),
    })),
    remarks: summary.remarks.map(([text]) => text),
  };
}

/** 2014-05-13T16:53:20Z and 2017-07-14T02:40:00Z. */
const TIMES = { time_first: 1_400_000_000, time_last: 1_500_000_000 };
const ENDS = ['2014-05-13T16:53:20.000000Z', '2017-07-14T02:40:00.000000Z'];
const LINE = { rrname: 'www.example.com', rrtype: 'A', rdata: '192.0.2.1', ...TIMES };

test('a line of passive DNS is a sighting of its records at both of its times, and of the owner name’s domain', () => {
  const records = [{ type: 'A', ip: '192.0.2.1' }];
  const sighting = { domain: 'www.example.com', source: 'cof', isSighting: true, records };
  expect(read(LINE)).toEqual({ sightings: ENDS.map((at) => ({ ...sighting, at })), remarks: [] });
  expect(read({ ...LINE, time_last: LINE.time_first }).sightings).toHaveLength(1);
});

test('a line of passive DNS may have several records, keys of its own, and names with a final dot', () => {
  const rdata = ['192.0.2.1', '192.0.2.2'];
  const more = { count: 7, bailiwick: 'example.com.', origin: 'https://example.net', 'x-own': { a: 1 } };
  const [sighting] = read({ ...LINE, ...more, rrname: 'WWW.example.com.', rdata }).sightings;
  const records = rdata.map((ip) => ({ type: 'A', ip }));
  expect(sighting).toMatchObject({ domain: 'www.example.com', records });
});

test('a line of passive DNS tells its source by sensor_id', () => {
  const sourceOf = (sensor_id: unknown) => read({ ...LINE, sensor_id }).sightings[0]?.source;
  expect(['sensor-7', 'x'.repeat(65), 7].map(sourceOf)).toEqual(['sensor-7', 'cof', 'cof']);
});

test.each([
  ['NS', 'ns1.example.net', { target: 'ns1.example.net' }],
  ['MX', '10 Mail.Example.net.', { pri: 10, target: 'mail.example.net' }],
  ['SOA', 'a.example. b.example. 4294967295 2 3 4 5', { mname: 'a.example', serial: 4294967295 }],
  ['CAA', '0 issue "ca.example"', { flags: 0, tag: 'issue', value: 'ca.example' }],
  ['TXT', '"a b" "c"', { entries: ['a b', 'c'] }],
  ['TXT', 'v=spf1 include:example.net -all', { entries: ['v=spf1 include:example.net -all'] }],
  ['TXT', '""', { entries: [''] }],
  ['DS', '21707 8 1 6d92dd0d0db0e392fa9d5f08ea15bbd297b8cbe2', { type: 'DS' }],
  [65534, '\\# 2 abcd', { type: 'TYPE65534', data: '\\# 2 ABCD' }],
  ['65534', '\\# 2 abcd', { type: 'TYPE65534' }],
  [28, '2001:DB8::1', { type: 'AAAA', ipv6: '2001:db8::1' }],
])('a line of passive DNS has rdata of %s as a master file has it: %s', (rrtype, rdata, record) => {
  expect(read({ ...LINE, rrtype, rdata }).sightings[0]?.records).toMatchObject([record]);
});

test('how a TXT record of passive DNS is divided into strings is known of quoted ones alone', () => {
  const line = { ...LINE, rrtype: 'TXT', rdata: ['v=spf1 -all', '"v=spf1 " "-all"'] };
  const record = { type: 'TXT', txt: 'v=spf1 -all' };
  expect(read(line).sightings[0]?.records).toEqual([
    { ...record, entries: ['v=spf1 ', '-all'] },
    { ...record, entries: ['v=spf1 -all'], joined: true },
  ]);
});

test.each([
  ['*.example.com.', 'example.com', '*.example.com'],
  ['a\\.b.example.com', 'example.com', 'a\\.b.example.com'],
  ['_dmarc.example.com', '_dmarc.example.com', undefined],
])('a line of passive DNS of %s belongs to the domain %s', (rrname, domain, host) => {
  const [sighting] = read({ ...LINE, rrname }).sightings;
  expect(sighting).toMatchObject({ domain, records: [{ ...(host && { host }), type: 'A' }] });
});

const without = { time_first: undefined, time_last: undefined };

test.each([
  [{ time_first: '1400000000', time_last: '1500000000' }, ENDS],
  [{ ...without, zone_time_first: 1_400_000_000, zone_time_last: 1_500_000_000 }, ENDS],
  [{ time_first_ms: 1_400_000_000_123 }, ['2014-05-13T16:53:20.123000Z', ENDS[1]]],
  [{ time_first_ms: 1_400_000_000_123.5, time_last_ms: '1500000000999' }, ENDS],
  [{ time_first_ms: 7, time_last_ms: 8 }, ENDS],
  [{ zone_time_first: 1, zone_time_last: 2 }, ENDS],
  [{ time_first: 1_400_000_000.913 }, ['2014-05-13T16:53:20.913000Z', ENDS[1]]],
  [{ time_last: '1400000001.123456789' }, [ENDS[0], '2014-05-13T16:53:21.123456Z']],
  [{ time_first: 0 }, ENDS.slice(1)],
  [{ time_last: '0' }, ENDS.slice(0, 1)],
  [{ time_first: '2014-05-13T16:53:20Z', time_last: '2017-07-14 02:40:00' }, ENDS],
  [{ time_last: '2017-07-14T02:40:00.5' }, [ENDS[0], '2017-07-14T02:40:00.500000Z']],
])('a line of passive DNS has its times as services write them: %j', (times, expected) => {
  expect(read({ ...LINE, ...times }).sightings.map(({ at }) => at)).toEqual(expected);
});

test.each([
  ['A', ['no address', '192.0.2.1', 7], { ip: '192.0.2.1' }],
  ['TXT', ['caf\ufffd', 'b'], { txt: 'b' }],
])('a record of passive DNS that cannot be read is left out, and told: %s %j', (rrtype, rdata, record) => {
  const { sightings, remarks } = read({ ...LINE, rrtype, rdata });
  expect(sightings[0]?.records).toMatchObject([record]);
  expect(remarks).toEqual([`A record of type ${rrtype} was left out that cannot be read.`]);
});

test.each([
  ['v=DKIM1; p=AAAA" "BBBB"', ['v=DKIM1; p=AAAA', 'BBBB'], 1],
  ['a "quoted" word', ['a "quoted" word'], 0],
  ['a "word"', ['a "word"'], 0],
  ['5\\"', ['5"'], 0],
])('a TXT record of passive DNS is torn where nothing opens its last quote: %s', (rdata, entries, count) => {
  const { sightings, remarks } = read({ ...LINE, rrtype: 'TXT', rdata });
  expect(sightings[0]?.records).toMatchObject([{ entries }]);
  expect(remarks).toHaveLength(count);
});

const EXCHANGED = { ...LINE, rrtype: 'MX', rrname: '10 mail.example.org', rdata: 'example.org' };
const NS = { ...LINE, rrtype: 'NS', rrname: 'ns1.example.net', rdata: 'example.org' };

test.each<[string, object[], string, number]>([
  ['is taken as written where no other line shows it', [NS], 'ns1.example.net', 0],
  ['is taken as written where others show that nothing is', [LINE, NS], 'ns1.example.net', 0],
  ['follows those that show it', [EXCHANGED, NS], 'example.org', 1],
  ['is taken as written where others show both', [EXCHANGED, LINE, NS], 'ns1.example.net', 1],
])('passive DNS that cannot show whether name and data are exchanged %s', (_what, lines, domain, count) => {
  const { sightings, remarks } = read(...lines);
  expect(sightings.at(-1)?.domain).toBe(domain);
  expect(remarks).toHaveLength(count);
});

test('a line of the service of CIRCL has names and addresses exchanged: they are turned round', () => {
  const line = { ...LINE, rrtype: 'AAAA', rrname: '2001:DB8::1', rdata: ['a.example', 'b.example'] };
  const { sightings } = read(line);
  expect(sightings.map(({ domain }) => domain)).toEqual(['a.example', 'a.example', 'b.example', 'b.example']);
  expect(sightings[0]?.records).toEqual([{ type: 'AAAA', ipv6: '2001:db8::1' }]);
});

test.each([
  [{ rrname: undefined }, /^rrname: /],
  [{ rrname: '.' }, /^rrname: .* belongs to no domain/],
  [{ rrname: '.', dms_domain: 'a b' }, /^dms_domain: /],
  [{ rrtype: 'NONSENSE' }, /^rrtype: /],
  [{ rrtype: 41 }, /^rrtype: |^rdata: /],
  [{ rdata: undefined }, /^rdata: /],
  [{ rdata: [] }, /^rdata: it is empty/],
  [{ rdata: ['no address', 7] }, /^rdata: /],
  [{ rdata: 'no address' }, /^rdata: /],
  [{ time_first: undefined }, /^time_first: it is missing/],
  [{ time_last: 'yesterday' }, /^time_last: "yesterday" is not a number of seconds/],
  [{ time_first: -1 }, /^time_first: /],
  [{ time_first: { toString: 'no function' } }, /^time_first: .* is not a number of seconds/],
  [{ time_first: 1 }, /^time_first: 1970-.* is before 1990/],
  [{ time_first: 0, time_last: '0' }, /^time_first: it is 0, and so is time_last/],
  [{ time_last: 1_300_000_000 }, /^time_first: it is later than time_last/],
  [{ time_last: 1_500_000_000_000 }, /^time_last: .* but of milliseconds/],
  [{ time_last: '2015-06-31T10:00:00Z' }, /^time_last: /],
  [{ time_last: 1_800_000_000 }, /^time_last: .*more than five minutes in the future/],
])('a line of passive DNS is rejected with the reason: %j', (change, reason) => {
  expectRejected(() => read({ ...LINE, ...change }), reason);
});

const begin = { cond: 'begin' };
const line = { obj: { ...LINE, rrname: 'www.example.com.', rdata: ['192.0.2.1'] } };

test('an answer of DNSDB has its lines in objects between its beginning and its end, which say nothing of records', () => {
  const { sightings, remarks } = read(begin, line, { cond: 'succeeded' });
  expect([sightings.length, remarks]).toEqual([2, []]);
});

test.each([
  ['was cut at the limit', [begin, line, { cond: 'limited' }], /cut at the limit/],
  ['failed', [begin, line, { cond: 'failed' }], /ended its answer with an error/],
  ['has no end', [begin, line], /has no end/],
  ['has no end, after one that has', [begin, line, { cond: 'succeeded' }, begin, line], /has no end/],
])('an answer of DNSDB that %s is imported, with a remark', (_what, lines, remark) => {
  const { sightings, remarks } = read(...lines);
  expect(sightings.length).toBeGreaterThan(0);
  expect(remarks).toEqual([expect.stringMatching(remark)]);
});

test('the end alone of an answer of DNSDB does not hide that an answer in another input has no end', () => {
  const summary = new ImportSummary();
  for (const cond of ['succeeded', 'begin', 'limited']) {
    const { remarks = [] } = createCofParser()(JSON.stringify({ cond }), NOW);
    summary.addRemarks(remarks);
  }
  expect(summary.remarks.map(([text]) => text)).toContainEqual(expect.stringContaining('has no end'));
});
