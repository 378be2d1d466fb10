import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDmsLine } from '../../src/importers/dms.js';
import { parseDnsRecord } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { parseInstant } from '../../src/model/instant.js';
import type { Observation } from '../../src/model/observation.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';
import { expectRejected } from '../support/rejections.js';

const now = parseInstant('2024-03-01T12:00:00Z');
const a = { host: 'example.com', class: 'IN', type: 'A', ip: '192.0.2.7' };
const mx = { host: 'example.com', class: 'IN', type: 'MX', pri: 10, target: 'mail.example.com' };
const whole = {
  domain: 'example.com',
  observedAt: '2024-03-01T10:20:30.123456Z',
  dnsRecords: [a],
  dnsTypes: ['A', 'AAAA'],
  httpHeaders: { server: 'nginx', via: ['1.1 a', '1.1 b'] },
  source: 'probe-1',
};

function parse(line: unknown): Observation {
  return parseDmsLine(JSON.stringify(line), now);
}

/** A whole line with some keys replaced, or left out where they are undefined. */
function parseWith(keys: Readonly<Record<string, unknown>>): Observation {
  return parse({ ...whole, ...keys });
}

test('a line gives the domain, the time, the records by type, the types, the headers and the source', () => {
  expect(parse(whole)).toEqual({
    domain: 'example.com',
    observedAt: 1_709_288_430_123_456n,
    dns: { types: new Set(['A', 'AAAA']), records: new Map([['A', [parseDnsRecord(a)]]]) },
    httpHeaders: new Map(Object.entries({ server: 'nginx', via: '1.1 a, 1.1 b' })),
    source: 'probe-1',
  });
});

test('dnsTypes may have all types that were not seen before, and the types that are not among them', () => {
  expect(parseWith({ dnsTypes: ['a', '!mx', '*', '!TXT'] }).dns).toEqual({
    types: new Set(['A', '*']),
    notOther: new Set(['MX', 'TXT']),
    records: new Map([['A', [parseDnsRecord(a)]]]),
  });
});

test.each([
  [{ dnsTypes: undefined }, { records: new Map([['A', [parseDnsRecord(a)]]]) }],
  [{ dnsTypes: undefined, dnsRecords: [] }, { records: new Map() }],
  [{ dnsRecords: [] }, { types: new Set(['A', 'AAAA']), records: new Map() }],
])('without dnsTypes every type was queried, and an empty set of records was observed: %j', (keys, dns) => {
  expect(parseWith(keys).dns).toEqual(dns);
});

test('the domain is canonical, and records and types that are the same in canonical form are one', () => {
  expect(parseWith({ domain: 'BÜCHER.example.' }).domain).toBe('xn--bcher-kva.example');
  const again = { ttl: 60, ip: '192.0.2.7', type: 'a', class: 'in', host: 'EXAMPLE.com.' };
  expect(parseWith({ dnsRecords: [a, again, a] })).toEqual(parse(whole));
  expect(parseWith({ dnsTypes: ['a', 'AAAA', 'A', 'aaaa'] })).toEqual(parse(whole));
});

test('the order of the records, of the types and of the keys does not matter', () => {
  const records = fc.array(dnsRecordInput, { minLength: 1, maxLength: 8 });
  const permuted = records.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  fc.assert(
    fc.property(permuted, ([list, shuffled]) => {
      const dnsTypes = list.map(({ type }) => type);
      const { domain, observedAt } = whole;
      const line = parse({ domain, observedAt, dnsRecords: list, dnsTypes });
      expect(parse({ dnsTypes: dnsTypes.reverse(), dnsRecords: shuffled, observedAt, domain })).toEqual(line);
    }),
  );
});

test('a header may be called __proto__', () => {
  const { httpHeaders = [] } = parseDmsLine(JSON.stringify(whole).replace('server', '__proto__'), now);
  expect(Object.fromEntries(httpHeaders)).toEqual(JSON.parse('{"__proto__":"nginx","via":"1.1 a, 1.1 b"}'));
});

test('a time up to five minutes in the future is taken, a later one is rejected', () => {
  expect(parseWith({ observedAt: '2024-03-01T12:05:00Z' }).observedAt).toBe(now + 300_000_000n);
  const later = '2024-03-01T12:05:00.000001Z';
  const reason = `observedAt: ${later} is more than five minutes in the future.`;
  expect(() => parseWith({ observedAt: later })).toThrow(new InvalidObservationError(reason));
});

const lines = [
  whole,
  { ...whole, observedAt: '2024-03-01T10:20:31.000001Z' },
  { ...whole, observedAt: '2024-03-01T10:20:32Z', dnsRecords: [] },
  { ...whole, observedAt: '2024-03-01T10:20:33Z' },
  { ...whole, domain: 'EXAMPLE.com.', observedAt: '2024-03-01T10:20:33Z' },
  { ...whole, domain: 'other.example', observedAt: '2024-03-01T10:20:33Z' },
  { ...whole, source: 'probe-2' },
  whole,
];

test.each([
  ['without spaces', (line: string) => line],
  ['with spaces', (line: string) => line.replaceAll(/":|,(?=")/g, '$& ')],
])('lines of a domain that repeat each other are each read as if alone, written %s', (_, write) => {
  for (const line of lines) {
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(line).reverse()));
    expect(parseDmsLine(write(JSON.stringify(line)), now)).toEqual(parseDmsLine(reordered, now));
  }
});

test('a line that repeats another is rejected as that was: from the future, or of a domain that cannot be', () => {
  parse(whole);
  expect(() => parseWith({ observedAt: '2024-03-02T00:00:00Z' })).toThrow('in the future');
  for (const domain of ['-a', '-a'])
    expect(() => parseWith({ domain })).toThrow('domain: "-a" is not a domain name');
});

test('a line with a key twice in one object is rejected each time', () => {
  const twice = JSON.stringify(whole).replace('"class":"IN"', '"class":"IN","class":"CH"');
  for (const line of [twice, twice])
    expect(() => parseDmsLine(line, now)).toThrow('a key occurs twice in one object: write it once.');
});

const NO_OBJECT = /^it is no JSON object( \(character \d+\))?: each line must be one whole JSON object\.$/;

test.each([
  ['', NO_OBJECT],
  ['\x7fELF\u0002', NO_OBJECT],
  ['  "domain": "a",', NO_OBJECT],
  ['{"domain":"a",}', NO_OBJECT],
  ['{"domain":"a","observedAt":"2024-03-01T10:20:30Z","dnsRecords":[]', NO_OBJECT],
  ['{"domain":"a"} {}', NO_OBJECT],
  ...['null', '[]', '"a"', '1'].map((line): [string, RegExp] => [line, NO_OBJECT]),
  ['{"__proto__":{"domain":"a"}}', /^unknown key "__proto__": remove it/],
  ['{}', /^domain: it is missing\.$/],
])('a line that is not one whole JSON object is rejected: %j', (line, reason) => {
  expectRejected(() => parseDmsLine(line, now), reason);
});

const oneOfAll =
  'remove it, or write one of domain, observedAt, dnsRecords, dnsTypes, httpHeaders, site, sighted, source.';
const neither = 'it has neither dnsRecords nor httpHeaders: nothing was observed.';
const ofRecordsAlone =
  'sighted: only a line with dnsRecords, and without dnsTypes and httpHeaders, has it, and only as true.';
const noRecords = 'dnsTypes: the line has no dnsRecords, the answer for these types.';
const site = { scheme: 'http', status: 200 };

test.each<[Readonly<Record<string, unknown>>, string]>([
  [{ dnsrecords: [] }, 'unknown key "dnsrecords": write dnsRecords.'],
  [{ http_headers: {} }, 'unknown key "http_headers": write httpHeaders.'],
  [{ 'a\nb': 1 }, `unknown key "a\\nb": ${oneOfAll}`],
  [{ domain: undefined }, 'domain: it is missing.'],
  [{ domain: 1 }, 'domain: it is not a string.'],
  [{ domain: '192.0.2.7' }, 'domain: "192.0.2.7" is not a domain name: it is an IP address.'],
  [{ observedAt: undefined }, 'observedAt: it is missing.'],
  [{ observedAt: 1_709_288_430 }, 'observedAt: it is not a string.'],
  [{ dnsRecords: undefined, dnsTypes: undefined, httpHeaders: undefined }, neither],
  [{ site: 'https' }, 'site: it is not an object.'],
  [{ site: { ...site, scheme: 'ftp' } }, 'site: scheme: it is neither https nor http.'],
  [{ site: { ...site, status: '200' } }, 'site: status: it is not a number from 100 to 999.'],
  [{ site: { ip: '' } }, 'site: unknown key "ip": remove it, or write one of scheme, status.'],
  [{ site, httpHeaders: undefined }, 'site: it is where httpHeaders came from, which the line has not.'],
  [{ sighted: false }, ofRecordsAlone],
  [{ sighted: true, httpHeaders: undefined }, ofRecordsAlone],
  [{ sighted: true, dnsTypes: undefined }, ofRecordsAlone],
  [{ sighted: true, dnsTypes: undefined, httpHeaders: undefined, dnsRecords: [] }, ofRecordsAlone],
  [{ dnsRecords: undefined }, noRecords],
  [{ dnsRecords: null }, 'dnsRecords: it is not an array of records.'],
  [{ dnsRecords: [a, null] }, 'dnsRecords[1]: a record must be a JSON object.'],
  [{ dnsRecords: [a, { ...a, IP: '' }] }, 'dnsRecords[1]: unknown key "IP" in a record of type A: write ip.'],
  [{ dnsRecords: [a, mx] }, 'dnsRecords[1]: its type MX is not in dnsTypes.'],
  [{ dnsTypes: [] }, 'dnsTypes: it is empty; write at least one string.'],
  [{ dnsTypes: 'A' }, 'dnsTypes: it is not an array of strings.'],
  [{ dnsTypes: ['A', ''] }, 'dnsTypes: "" is not a mnemonic of DNS, such as MX or IN.'],
  [{ dnsTypes: ['!A'] }, 'dnsTypes: "!A" is not a mnemonic of DNS, such as MX or IN.'],
  [{ dnsTypes: ['*', '!*'] }, 'dnsTypes: "*" is not a mnemonic of DNS, such as MX or IN.'],
  [{ dnsTypes: ['*', '!MX'] }, 'dnsRecords[0]: its type A is not in dnsTypes.'],
  [{ httpHeaders: null }, 'httpHeaders: it is not an object.'],
  [{ httpHeaders: { a: 1 } }, 'httpHeaders["a"]: it is not an array of strings.'],
  [{ httpHeaders: { a: [] } }, 'httpHeaders["a"]: it is empty; write at least one string.'],
  [{ httpHeaders: { a: ['b', null] } }, 'httpHeaders["a"]: it is not an array of strings.'],
  [{ httpHeaders: { a: ['b', 'c\0'] } }, 'httpHeaders["a"]: "c\\u0000" contains U+0000.'],
  [{ httpHeaders: { '': 'b' } }, 'httpHeaders[""]: "" is not the name of a header field (RFC 9110, 5.1).'],
  [{ source: 'a\u007f' }, 'source: "a\\u{7f}" is not 1 to 64 printable characters.'],
  [{ source: '' }, 'source: "" is not 1 to 64 printable characters.'],
  [{ source: 'x'.repeat(65) }, `source: "${'x'.repeat(64)}…" is not 1 to 64 printable characters.`],
])('a line is rejected with its key and reason, in whatever order its keys are: %j: %s', (keys, reason) => {
  expect(() => parseWith(keys)).toThrow(new InvalidObservationError(reason));
  const reordered = Object.entries({ ...whole, ...keys }).reverse();
  expect(() => parse(Object.fromEntries(reordered))).toThrow(new InvalidObservationError(reason));
});

test('a source of 64 printable characters is taken as it is', () => {
  for (const source of ['Sonde é 日本', '😀'.repeat(64)]) expect(parseWith({ source }).source).toBe(source);
});
