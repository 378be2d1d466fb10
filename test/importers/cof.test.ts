import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCofParser } from '../../src/importers/cof.js';
import { ImportSummary } from '../../src/importers/import-summary.js';
import { dnsRecordData } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { formatInstant, parseInstant } from '../../src/model/instant.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

function read(...lines: readonly object[]) {
  const parse = createCofParser();
  const summary = new ImportSummary();
  const parsed = lines.map((line) => parse(JSON.stringify(line), NOW));
  for (const { remarks = [] } of parsed) summary.addRemarks(remarks);
  return {
    sightings: parsed
      .flatMap(({ observations }) => observations)
      .map(({ domain, observedAt, source, dns }) => ({
        domain,
        at: formatInstant(observedAt),
        source,
        isSighting: dns?.sighted,
        records: [...(dns?.records.values() ?? [])].flat().map((record) => {
          const { class: _class, host, ...data } = dnsRecordData(record);
          return { ...(host !== domain && { host }), ...data };
        }),
      })),
    remarks: summary.remarks.map(([text]) => text),
  };
}

const recordsOf = (line: object) => read({ ...TIMES, ...line }).sightings.map(({ records }) => records)[0];

/** 2014-05-13T16:53:20Z and 2017-07-14T02:40:00Z. */
const TIMES = { time_first: 1_400_000_000, time_last: 1_500_000_000 };
const LINE = { rrname: 'www.example.com', rrtype: 'A', rdata: '192.0.2.1', ...TIMES };

test('a line of passive DNS is a sighting of its records at both of its times, and of the owner name’s domain', () => {
  const sighting = {
    ...{ domain: 'www.example.com', source: 'cof', isSighting: true },
    records: [{ type: 'A', ip: '192.0.2.1' }],
  };
  expect(read(LINE)).toEqual({
    sightings: [
      { ...sighting, at: '2014-05-13T16:53:20.000000Z' },
      { ...sighting, at: '2017-07-14T02:40:00.000000Z' },
    ],
    remarks: [],
  });
  expect(read({ ...LINE, time_last: LINE.time_first }).sightings).toHaveLength(1);
});

test('a line of passive DNS may have several records, keys of its own, and names with a final dot', () => {
  const rdata = ['192.0.2.1', '192.0.2.2'];
  const more = { count: 7, bailiwick: 'example.com.', origin: 'https://example.net', 'x-own': { a: 1 } };
  const { sightings } = read({ ...LINE, ...more, rrname: 'WWW.example.com.', rdata });
  expect(sightings[0]).toMatchObject({
    domain: 'www.example.com',
    records: rdata.map((ip) => ({ type: 'A', ip })),
  });
});

test('a line of passive DNS tells its source by sensor_id', () => {
  expect(read({ ...LINE, sensor_id: 'sensor-7' }).sightings[0]?.source).toBe('sensor-7');
  expect(read({ ...LINE, sensor_id: 'x'.repeat(65) }).sightings[0]?.source).toBe('cof');
  expect(read({ ...LINE, sensor_id: 7 }).sightings[0]?.source).toBe('cof');
});

test.each([
  ['NS', 'ns1.example.net', { target: 'ns1.example.net' }],
  ['MX', '10 Mail.Example.net.', { pri: 10, target: 'mail.example.net' }],
  [
    'SOA',
    'ns1.example.net. hostmaster.example.net. 4294967295 7200 3600 1209600 300',
    { mname: 'ns1.example.net', rname: 'hostmaster.example.net', serial: 4294967295 },
  ],
  ['CAA', '0 issue "ca.example"', { flags: 0, tag: 'issue', value: 'ca.example' }],
  ['TXT', '"a b" "c"', { entries: ['a b', 'c'] }],
  ['TXT', 'v=spf1 include:example.net -all', { entries: ['v=spf1 include:example.net -all'] }],
  ['TXT', '""', { entries: [''] }],
  [
    'DS',
    '21707 8 1 6d92dd0d0db0e392fa9d5f08ea15bbd297b8cbe2',
    { data: '21707 8 1 6D92DD0D0DB0E392FA9D5F08EA15BBD297B8CBE2' },
  ],
  [65534, '\\# 2 abcd', { type: 'TYPE65534', data: '\\# 2 ABCD' }],
  ['65534', '\\# 2 abcd', { type: 'TYPE65534' }],
  [28, '2001:DB8::1', { type: 'AAAA', ipv6: '2001:db8::1' }],
])('a line of passive DNS has rdata of %s as a master file has it: %s', (rrtype, rdata, record) => {
  expect(recordsOf({ rrname: 'example.com', rrtype, rdata })).toMatchObject([record]);
});

test.each([
  ['*.example.com.', 'example.com', '*.example.com'],
  ['a\\.b.example.com', 'example.com', 'a\\.b.example.com'],
  ['_dmarc.example.com', '_dmarc.example.com', undefined],
])('a line of passive DNS of %s belongs to the domain %s', (rrname, domain, host) => {
  const [sighting] = read({ ...LINE, rrname }).sightings;
  expect([sighting?.domain, (sighting?.records[0] as { host?: string } | undefined)?.host]).toEqual([
    domain,
    host,
  ]);
});

const ENDS = ['2014-05-13T16:53:20.000000Z', '2017-07-14T02:40:00.000000Z'];
const without = { time_first: undefined, time_last: undefined };

test.each([
  [{ time_first: '1400000000', time_last: '1500000000' }, ENDS],
  [{ ...without, zone_time_first: 1_400_000_000, zone_time_last: 1_500_000_000 }, ENDS],
  [{ time_first_ms: 1_400_000_000_123 }, ['2014-05-13T16:53:20.123000Z', ENDS[1]]],
  [{ time_first_ms: 1_400_000_000_123.5, time_last_ms: '1500000000999' }, ENDS],
  [{ time_first_ms: 7, time_last_ms: 8 }, ENDS],
  [{ zone_time_first: 1, zone_time_last: 2 }, ENDS],
  [
    { time_first: 1_400_000_000.913, time_last: '1400000001.123456789' },
    ['2014-05-13T16:53:20.913000Z', '2014-05-13T16:53:21.123456Z'],
  ],
  [{ time_first: 0 }, ENDS.slice(1)],
  [{ time_last: '0' }, ENDS.slice(0, 1)],
  [{ time_first: '2014-05-13T16:53:20Z', time_last: '2017-07-14 02:40:00' }, ENDS],
  [
    { time_first: '2014-05-13T16:53:20', time_last: '2017-07-14 02:40:00.5' },
    [ENDS[0], '2017-07-14T02:40:00.500000Z'],
  ],
])('a line of passive DNS has its times as services write them: %j', (times, expected) => {
  expect(read({ ...LINE, ...times }).sightings.map(({ at }) => at)).toEqual(expected);
});

test('a line of passive DNS with a record that cannot be read has its others, and says so', () => {
  const { sightings, remarks } = read({ ...LINE, rdata: ['192.0.2.1', 'no address', 7] });
  expect(sightings[0]?.records).toEqual([{ type: 'A', ip: '192.0.2.1' }]);
  expect(remarks).toEqual(['A record of type A was left out that cannot be read.']);
  const lost = read({ ...LINE, rrtype: 'TXT', rdata: ['caf\ufffd', 'b'] });
  expect(lost.sightings[0]?.records).toMatchObject([{ txt: 'b' }]);
  expect(lost.remarks).toEqual(['A record of type TXT was left out that cannot be read.']);
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
])(
  'a line of passive DNS that cannot show whether name and data are exchanged %s',
  (_what, lines, domain, count) => {
    const { sightings, remarks } = read(...lines);
    expect(sightings.at(-1)?.domain).toBe(domain);
    expect(remarks).toHaveLength(count);
  },
);

test('a line of the service of CIRCL has names and addresses exchanged: they are turned round', () => {
  const line = { ...LINE, rrname: '192.0.2.9', rdata: 'www.example.org' };
  expect(read(line).sightings[0]).toMatchObject({
    domain: 'www.example.org',
    records: [{ type: 'A', ip: '192.0.2.9' }],
  });
  const several = { ...line, rrtype: 'AAAA', rrname: '2001:DB8::1', rdata: ['a.example', 'b.example'] };
  expect(read(several).sightings.map(({ domain }) => domain)).toEqual([
    ...['a.example', 'a.example'],
    ...['b.example', 'b.example'],
  ]);
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
  const line = { ...LINE, ...change };
  expect(() => read(line)).toThrow(InvalidObservationError);
  expect(() => read(line)).toThrow(reason);
});

test('a line of passive DNS never ends in another error, whatever its values are', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>('example.com', 'A', '192.0.2.1', 1_400_000_000),
  );
  const line = fc.record(
    {
      rrname: value,
      rrtype: value,
      rdata: value,
      time_first: value,
      time_last: value,
      cond: value,
      obj: value,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(line, (any) => {
      try {
        read(any);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidObservationError);
      }
    }),
    { numRuns: 500 },
  );
});

const begin = { cond: 'begin' };
const line = { obj: { ...LINE, rrname: 'www.example.com.', rdata: ['192.0.2.1'] } };

test('an answer of DNSDB has its lines in objects between its beginning and its end, which say nothing of records', () => {
  const { sightings, remarks } = read(begin, line, { cond: 'succeeded' });
  expect([sightings.length, remarks]).toEqual([2, []]);
});

test.each([
  [
    'was cut at the limit',
    [begin, line, { cond: 'limited', msg: 'Result limit reached' }],
    /cut at the limit/,
  ],
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
