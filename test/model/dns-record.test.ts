import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dnsRecordData, parseDnsRecord } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { RDATA_FIELDS } from '../../src/model/rdata-types.js';
import { anyCharacter } from '../support/any-character.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';

type Fields = Readonly<Record<string, unknown>>;

function parse(type: string, fields: Fields) {
  return parseDnsRecord({ host: 'example.com', class: 'IN', type, ...fields });
}

/** The type's own fields in canonical form, as the JSON text that is stored. */
const rdata = (type: string, fields: Fields) => parse(type, fields).rdata;

const TIMES = { expire: 5, retry: 4, refresh: '3', 'minimum-ttl': 0 };
const SOA =
  '{"mname":"ns1.a","rname":"host.a","serial":4294967295,"refresh":3,"retry":4,"expire":5,"minimum-ttl":0}';

/** The first of each type has all its fields. A third text: the canonical form is another. */
const EXAMPLES: readonly (readonly [type: string, fields: Fields, canonical?: string])[] = [
  ['A', { ip: '192.0.2.7' }],
  ['AAAA', { ipv6: '2001:0DB8:0:0:0:0:0:1' }, '{"ipv6":"2001:db8::1"}'],
  ['NS', { target: 'NS1.Example.com.' }, '{"target":"ns1.example.com"}'],
  ['CNAME', { target: 'bücher.example' }, '{"target":"xn--bcher-kva.example"}'],
  ['PTR', { target: String.raw`a\ b.example` }, String.raw`{"target":"a\\032b.example"}`],
  ['SOA', { ...TIMES, serial: 4294967295, rname: 'Host.a.', mname: 'NS1.A.' }, SOA],
  ['TXT', { txt: 'v=spf1 -all' }, '{"txt":"v=spf1 -all","entries":["v=spf1 -all"]}'],
  ['TXT', { txt: 'ab', entries: ['a', 'b'] }],
  ['TXT', { entries: ['', ''] }, '{"txt":"","entries":["",""]}'],
  // An escape or a character that is split between two entries is whole in txt.
  ['TXT', { entries: ['\\195', '\\169'] }, String.raw`{"txt":"é","entries":["\\195","\\169"]}`],
  ['TXT', { entries: ['\\', '065'], txt: '\\065' }, String.raw`{"txt":"\\092065","entries":["\\","065"]}`],
  ['MX', { pri: 10, target: 'MAIL.example.com' }, '{"pri":10,"target":"mail.example.com"}'],
  ['MX', { pri: '0', target: '' }, '{"pri":0,"target":"."}'],
  ['SRV', { pri: 10, weight: 0, port: 5060, target: 'sip.example.com' }],
  ['CAA', { flags: 128, tag: 'issue', value: 'ca.example; a="b"' }],
  ['NAPTR', { order: 1, pref: 10, flags: 'S', services: 'SIP', regex: '!^.*$!sip:\\1@a!', replacement: '.' }],
  ['HINFO', { cpu: 'RFC8482', os: '' }],
  ['HTTPS', { data: ' 1  .\talpn="h2,h3" ' }, String.raw`{"data":"1 . alpn=\"h2,h3\""}`],
];

test.each(
  EXAMPLES.map(([type, fields, canonical = JSON.stringify(fields)]) => [type, fields, canonical] as const),
)('the own fields of %s %j, in their order and in canonical form, are %s', (type, fields, expected) => {
  expect(rdata(type, fields)).toBe(expected);
});

test.each([0, -0, 65535, 4294967295, 1e3, '0', '007', '4294967295'])('%j is an integer', (pri) => {
  expect(rdata('MX', { pri, target: 'a' })).toBe(`{"pri":${Number(pri)},"target":"a"}`);
});

test.each([
  ...[-1, 4294967296, 1.5, 1e300, Number.NaN, '', ' 1', '1 ', '+1', '-1', '1.0', '1e3', '0x1', '4294967296'],
  ...['١', true, null, [], {}],
])('%j is no integer', (pri) => {
  const reason = /^pri: .* is not an integer from 0 to 4294967295\.$/;
  expect(() => rdata('MX', { pri, target: 'a' })).toThrow(reason);
});

test('host, class and type are canonical, and a ttl is dropped', () => {
  const data = { host: '*.Example.COM.', class: 'in', type: 'cname', target: 'A.' };
  const record = { host: '*.example.com', class: 'IN', type: 'CNAME', rdata: '{"target":"a"}' };
  for (const ttl of [300, undefined, null, -1, 'x', {}])
    expect(parseDnsRecord({ ...data, ttl })).toEqual(record);
});

test.each([undefined, null, true, 1, 'x', [], [{}]])('%j is no record', (data) => {
  expect(() => parseDnsRecord(data)).toThrow(new InvalidObservationError('a record must be a JSON object.'));
});

test.each<[Fields, string]>([
  [{ host: undefined }, 'host: it is missing.'],
  [{ host: 1 }, 'host: it is not a string.'],
  [{ host: 'a..b' }, 'host: "a..b" is not a host name: it has an empty label.'],
  [{ class: undefined }, 'class: it is missing.'],
  [{ class: '' }, 'class: "" is not a mnemonic of DNS, such as MX or IN.'],
  [{ type: undefined }, 'type: it is missing.'],
  [{ type: '1A' }, 'type: "1A" is not a mnemonic of DNS, such as MX or IN.'],
  [{ type: 'A\n' }, 'type: "A\\n" is not a mnemonic of DNS, such as MX or IN.'],
  [{ data: '192.0.2.7' }, 'data: the record has ip too: write data or the fields of A.'],
  [{ type: 'FOO' }, 'type: the type "FOO" is not known: write TYPE and its number, such as TYPE65534.'],
  [{ type: 'TYPE99999' }, 'type: no record can have the type "TYPE99999".'],
])('a record is rejected with %j: %s', (changed, reason) => {
  const data = { host: 'a', class: 'IN', type: 'A', ip: '192.0.2.7', ...changed };
  const present = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
  expect(() => parseDnsRecord(present)).toThrow(new InvalidObservationError(reason));
});

test('a __proto__ key is rejected as any other that a type does not have', () => {
  const data: unknown = JSON.parse('{"host":"a","class":"IN","type":"A","__proto__":{"ip":"192.0.2.7"}}');
  const rest = 'remove it, or write one of host, class, type, ttl, ip, data.';
  expect(() => parseDnsRecord(data)).toThrow(`unknown key "__proto__" in a record of type A: ${rest}`);
});

const NO_DATA = 'TYPE0 TYPE41 TYPE128 TYPE255 TYPE65535 any AXFR OPT NXNAME'.split(' ');

test.each(NO_DATA)('no record has the type %s', (type) => {
  expect(() => parse(type, { data: '\\# 0' })).toThrow(`no record can have the type "${type}".`);
});

test('a type, or a class, by its number is the one that has a name (RFC 3597, 5)', () => {
  expect(parse('type1', { ip: '192.0.2.7' })).toEqual(parse('A', { ip: '192.0.2.7' }));
  expect(parse('TYPE65280', { data: String.raw`\# 0` }).type).toBe('TYPE65280');
  const classes = ['IN', 'in', 'CLASS1', 'class3', 'CLASS4', 'CLASS9'];
  const canonical = classes.map((name) => parse('A', { class: name, ip: '192.0.2.1' }).class);
  expect(canonical).toEqual(['IN', 'IN', 'IN', 'CH', 'HS', 'CLASS9']);
});

const COMPLETE = new Map(
  EXAMPLES.toReversed().map(([type, fields]): [string, Fields] => [type, JSON.parse(rdata(type, fields))]),
);

test('every type with fields of its own has an example here', () => {
  expect([...COMPLETE.keys()]).toEqual(expect.arrayContaining([...RDATA_FIELDS.keys()]));
});

test.each(
  [...COMPLETE].flatMap(([type, fields]) => Object.keys(fields).map((name) => [type, name, fields] as const)),
)(
  '%s: %s cannot be null, an object, or absent but in TXT; no U+0000 or lone surrogate',
  (type, name, fields) => {
    for (const value of [null, {}])
      expect(() => rdata(type, { ...fields, [name]: value })).toThrow(new RegExp(`^${name}: `));
    const rest = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
    if (type === 'TXT') return expect(rdata(type, rest)).toBe(rdata(type, fields));
    expect(() => rdata(type, rest)).toThrow(`${name}: it is missing.`);
    for (const value of ['a\0b', 'a\ud800b'])
      expect(() => rdata(type, { ...fields, [name]: value })).toThrow(InvalidObservationError);
  },
);

test('texts of records other than addresses, names and data stay as they are', () => {
  const value = fc.string({ unit: anyCharacter }).filter((text) => !text.includes('\0'));
  fc.assert(
    fc.property(value, value, (tag, text) => {
      const caa = dnsRecordData(parse('CAA', { flags: 0, tag, value: text }));
      expect(caa).toEqual({ host: 'example.com', class: 'IN', type: 'CAA', flags: 0, tag, value: text });
    }),
  );
});

test('texts that are too long for an answer are rejected', () => {
  const caa = (value: string) => parse('CAA', { flags: 0, tag: 'issue', value });
  for (const value of ['x'.repeat(65_536), 'é'.repeat(40_000)])
    expect(() => caa(value)).toThrow('longer than 65535 octets');
  const quotes = '"'.repeat(60_000);
  expect(dnsRecordData(caa(quotes))).toMatchObject({ value: quotes });
  expect(rdata('TXT', { txt: '\\065'.repeat(65_534) })).toBe(rdata('TXT', { txt: 'A'.repeat(65_534) }));
});

test('a record that was read, printed and read again is the same', () => {
  fc.assert(
    fc.property(dnsRecordInput, (data) => {
      const record = parseDnsRecord(data);
      const printed = dnsRecordData(record);
      expect(parseDnsRecord(JSON.parse(JSON.stringify(printed)))).toEqual(record);
      const own = (RDATA_FIELDS.get(record.type) ?? [{ name: 'data' }]).map(({ name }) => name);
      expect(Object.keys(printed)).toEqual(['host', 'class', 'type', ...own]);
    }),
    { numRuns: 1000 },
  );
});

test('any octets in any entries of TXT data survive, and txt is the entries joined', () => {
  const unit = fc.constantFrom('\\', '0', '2', '5', '\\000', '\\195', '\\169', 'é', '"');
  const entry = fc.string({ unit, maxLength: 8 });
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), (entries) => {
      const record = parse('TXT', { entries });
      const data = dnsRecordData(record);
      expect(parseDnsRecord(data)).toEqual(record);
      for (const txt of [entries.join(''), data['txt']])
        expect(parse('TXT', { entries, txt })).toEqual(record);
    }),
    { numRuns: 500 },
  );
});

test('the entries of TXT data tell records apart, how they are written does not', () => {
  expect(rdata('TXT', { entries: ['ab'] })).not.toBe(rdata('TXT', { entries: ['a', 'b'] }));
  const escaped = rdata('TXT', { entries: ['\\097', 'b\0'] });
  expect(escaped).toBe(rdata('TXT', { entries: ['a', 'b\\000'] }));
});

test.each<[Fields, string]>([
  [{}, 'txt: it is missing.'],
  [{ txt: '', entries: [] }, 'entries: it is empty; write at least one string.'],
  [{ entries: ['a', 1] }, 'entries: it is not an array of strings.'],
  [{ txt: 'a', entries: null }, 'entries: it is not an array of strings.'],
  [{ txt: 1, entries: ['1'] }, 'txt: it is not a string.'],
  [{ txt: 'a b', entries: ['a', 'b'] }, 'txt: it is not the entries joined.'],
  [{ txt: '\ud800' }, 'txt: "\\ud800" contains a lone surrogate.'],
  [{ entries: ['a', '\ud83d', '\ude00'] }, 'entries: "\\ud83d" contains a lone surrogate.'],
  [{ txt: 'a'.repeat(65535) }, 'its data is longer than 65535 octets.'],
  [{ entries: Array.from({ length: 256 }, () => 'a'.repeat(255)) }, 'its data is longer than 65535 octets.'],
])('TXT data %j are rejected: %s', (fields, reason) => {
  expect(() => rdata('TXT', fields)).toThrow(new InvalidObservationError(reason));
});
