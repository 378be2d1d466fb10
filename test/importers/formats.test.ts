import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { InputParser } from '../../src/importers/formats.js';
import { IMPORT_FORMATS, type ImportFormat } from '../../src/importers/import-format.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { HTTPX_1_7, httpxLine, RAW_HEADER } from '../support/httpx-lines.js';
import { repeats } from '../support/long-form.js';
import { NOW, observationLine } from '../support/observations.js';

const DMS = observationLine({ at: 1, headers: { server: 'x' } });
const HTTPX = httpxLine();

/** What parses one input, and the formats that it was found to have. */
function detecting(format: 'auto' | ImportFormat = 'auto') {
  const formats: ImportFormat[] = [];
  const { limits } = readSettings({ LIMIT_RECORDS_PER_TYPE: '2', LIMIT_RECORDS: '3', LIMIT_HEADERS: '20' });
  const onDetected = (found: ImportFormat) => formats.push(found);
  const parser = new InputParser(format, { now: () => NOW, ignoredHeaders: new Set(), limits, onDetected });
  const parse = (text: string) => {
    const said = parser.parse({ number: 1, bytes: Buffer.from(text) });
    if (said.rejected !== undefined) throw new InvalidObservationError(said.rejected);
    return said;
  };
  return { parse, formats };
}

test.each([
  ['dms', DMS],
  ['httpx', HTTPX],
  ['httpx', JSON.stringify({ ...HTTPX_1_7, header: undefined })],
  ['dms', '{"domain":"example.com","url":"https://example.com","timestamp":"2024-01-01T00:00:00Z"}'],
  ['dms', '{"observedAt":"2024-01-01T00:00:00Z"}'],
  ['dnsx', '{"host":"a.example","resolver":["192.0.2.53:53"],"a":["192.0.2.1"]}'],
  ['zdns', '{"name":"a.example","results":{"A":{"data":{},"status":"NOERROR"}}}'],
  ['zdns', '{"name":"a.example","class":"IN","status":"NOERROR","data":{"answers":[]}}'],
  ['massdns', '{"name":"a.example.","error":"timeout"}'],
  ['massdns', '{"name":"a.example.","type":"A","class":"IN","status":"NOERROR","data":{"answers":[]}}'],
] as const)('the format of an input is told by the keys of its first line: %s', (format, line) => {
  const { parse, formats } = detecting();
  try {
    parse(line);
  } catch {
    // A rejected line decides the format, too.
  }
  expect(formats).toEqual([format]);
});

test('the format of an input is told by its first line that has the keys of one; those before are rejected', () => {
  const { parse, formats } = detecting();
  expect(() => parse('broken')).toThrow(/^it is no JSON object/);
  expect(() => parse('{"host":"example.com","timestamp":"2024-01-01T00:00:00Z"}')).toThrow(
    /^its keys are of no known format \(dms: domain observedAt; .*\)\. Name the format/,
  );
  expect(formats).toEqual([]);
  expect(parse(HTTPX).observations[0]?.source).toBe('httpx');
  expect(formats).toEqual(['httpx']);
});

test('the format of an input is that of its first line, but for lines with the keys of another, which are read as that', () => {
  const { parse } = detecting();
  const [alone, beside] = [detecting(), detecting()];
  parse(HTTPX);
  expect(parse(DMS)).toEqual(alone.parse(DMS));
  expect(parse(HTTPX)).toEqual(beside.parse(HTTPX));
  expect(() => parse('{"domain":"a"}')).toThrow('observedAt: it is missing.');
  expect(() => parse('{}')).toThrow('url: it is missing.');
});

const mx = { host: 'example.com', class: 'IN', type: 'MX', pri: 1, target: 'example.com' };
const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
const [, ...two] = addresses;
const twice = { records: [...two, ...two] };
const [three, four] = [{ records: [...two, mx] }, { records: [...two, mx, { ...mx, pri: 2 }] }];
const headers = (count: number) => ({
  headers: Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'a'])),
});
const via = (octets: number) => ({ headers: { via: ['é'.repeat(8), 'x'.repeat(octets - 18)] } });

test.each([
  // Records that are the same in canonical form count once.
  [twice, { records: addresses }, 'dnsRecords: 3 records of type A are', 'RECORDS_PER_TYPE', 2],
  [three, four, 'dnsRecords: 4 records are', 'RECORDS', 3],
  [headers(20), headers(21), 'httpHeaders: 21 headers are', 'HEADERS', 20],
  [via(32_768), via(32_769), 'httpHeaders: the value of via has 32769 octets,', 'HEADER_VALUE', 32_768],
] as const)('a line rejected by a limit names its setting: %#', (within, beyond, what, setting, limit) => {
  const reason = `${what} more than LIMIT_${setting} allows (${limit}): set it higher to import the line.`;
  const { parse } = detecting();
  expect(parse(observationLine({ at: 1, ...within })).observations).toHaveLength(1);
  // The second line is compared with the first by its text: it is to be rejected as well.
  for (const at of [2, 3])
    expect(() => parse(observationLine({ at, ...beyond }))).toThrow(new InvalidObservationError(reason));
});

const KEYS: Readonly<Record<ImportFormat, string>> = {
  dms: 'domain observedAt dnsRecords dnsTypes httpHeaders source',
  httpx: 'url input raw_header header timestamp method',
  dnsx: 'host timestamp all a cname ns soa txt status_code',
  zdns: 'name results timestamp status data',
  massdns: 'name type class status rx_ts data',
  cof: 'rrname rrtype rdata time_first time_last cond obj',
};
const LONG = 'x\n'.repeat(repeats(100_000, 10_000));

test('whatever the keys of a line hold, it is read, or rejected in one line that does not repeat the whole of a long one', () => {
  const known = ['example.com', 'https://a', '192.0.2.1', 'A', RAW_HEADER, '2024-01-01T00:00:00Z'];
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(...known),
    fc.constantFrom<unknown>(1_400_000_000, LONG, ['A'], [{ ...mx, pri: LONG }]),
  );
  const line = fc.constantFrom(...IMPORT_FORMATS).chain((format) => {
    const key = fc.constantFrom(...KEYS[format].split(' '), LONG);
    return fc.tuple(fc.constant(format), fc.dictionary(key, value));
  });
  fc.assert(
    fc.property(line, ([format, keys]) => {
      try {
        detecting(format).parse(JSON.stringify(keys));
      } catch (error) {
        expect(String(error)).toMatch(/^InvalidObservationError: .{1,400}$/);
      }
    }),
    { numRuns: repeats(2_000, 1_000) },
  );
});
