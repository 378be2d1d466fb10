import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isCanonicalRecord, parseDnsRecord } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { MasterText } from '../../src/model/master-text.js';
import { MessageReader } from '../../src/model/message-reader.js';
import { parseRdataText, presentRdata, rdataOctets, readRdata } from '../../src/model/rdata-text.js';
import { LAYOUTS, RDATA_FIELDS, RETIRED_TYPES } from '../../src/model/rdata-types.js';
import { repeats } from '../support/long-form.js';
import { octetsNearExamples, RDATA_EXAMPLES, RETIRED_EXAMPLES } from '../support/rdata-examples.js';
import { resultOf } from '../support/rejections.js';

function parse(type: string, own: string | Readonly<Record<string, unknown>>) {
  const fields = typeof own === 'string' ? { data: own } : own;
  return parseDnsRecord({ host: 'example.com', class: 'IN', type, ...fields });
}

function own(type: string, data: string): unknown {
  return JSON.parse(parse(type, data).rdata);
}

function generic(octets: Buffer): string {
  return String.raw`\# ${octets.length} ${octets.toString('hex').toUpperCase()}`;
}

const octetsOf = (type: string, text: string) => rdataOctets(type, new MasterText(text));
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

test('every type that is shown as text has an example', () => {
  expect(new Set(RDATA_EXAMPLES.map(([type]) => type))).toEqual(new Set(LAYOUTS.keys()));
  expect(new Set(RETIRED_EXAMPLES.map(([type]) => type))).toEqual(RETIRED_TYPES);
});

test.each(RDATA_EXAMPLES)('%s %s is %s, from text, octets and RFC 3597', (type, written, canonical) => {
  const octets = octetsOf(type, written);
  for (const text of [written, canonical, generic(octets)])
    expect(own(type, text)).toEqual({ data: canonical });
  expect(readRdata(type, MessageReader.ofRdata(octets))).toEqual({ data: canonical });
});

test.each([
  ['DNSKEY', '257 3 8 AwEA aagA', '257 3 RSASHA256 ( AwEAaagA )'],
  ['AFSDB', '1 AFSDB.example.com.', String.raw`\# 21 0001 05 6166736462 07 6578616d706c65 03 636f6d 00`],
  ['APL', '1:192.168.32.0/21', String.raw`\# 7 00011503c0a820`],
  ['HTTPS', '1 . alpn=h2,h3 port=443', '1 . port="443" alpn="h2,h3"'],
  ['SVCB', '1 Foo.example. alpn=h2', String.raw`1 foo.example. key1="\002h2"`],
  ['LOC', '52 22 23 N 4 53 32 E -2', '52 22 23.000 N 4 53 32.000 E -2.00m 1m 10000m 10m'],
  ['LOC', '52 N 4 E 0m', '52 0 0 N 4 0 0.000 e 0.00 1.00 10000.00m'],
  ['RP', 'Admin.example. .', 'admin.example .'],
  ['DS', '1 RSASHA1 9 abcd', '1 5 9 AB CD'],
  ['SIG', 'TYPE1 8 2 60 1767225600 1 1 a. AQI=', 'A 8 2 60 20260101000000 19700101000001 1 A. AQ I='],
  ['URI', '10 1 "https://é.example/\u00a0"', String.raw`10 1 "https://\195\169.example/\194\160"`],
  ['SPF', '150862028003217 004', '"150862028003217" ; a comment\n "004"'],
])('%s %s and %s are one record', (type, one, other) => {
  expect(parse(type, one)).toEqual(parse(type, other));
});

test.each([
  ['A', { ip: '192.0.2.7' }, '192.0.2.7', String.raw`\# 4 c0 000207`],
  ['AAAA', { ipv6: '2001:db8::1' }, '2001:DB8::0:1', String.raw`\# 16 20010db8000000000000000000000001`],
  ['NS', { target: 'a.example' }, 'A.example.', String.raw`\# 11 0141076578616d706c6500`],
  ['MX', { pri: 10, target: '.' }, '10 .', String.raw`\# 3 000a00`],
  ['CAA', { flags: 0, tag: 'iodef', value: 'a' }, '0 iodef "a"', String.raw`\# 8 00 05 696f646566 61`],
  ['TXT', { entries: ['a', 'é;'] }, 'a "é;"', String.raw`\# 6 0161 03c3a93b`],
  ['HINFO', { cpu: 'a', os: '' }, 'a ""', String.raw`\# 3 016100`],
])('%s %j, its text and its octets are one record, by any name of the type', (type, fields, text, octets) => {
  const number = { A: 1, NS: 2, HINFO: 13, MX: 15, TXT: 16, AAAA: 28, CAA: 257 }[type];
  for (const name of [type, `TYPE${number}`]) {
    for (const own of [text, octets, fields]) expect(parse(name, own)).toEqual(parse(type, fields));
  }
});

test.each(RETIRED_EXAMPLES)('%s %s, which nobody serves any more, stays as it is stored', (type, text) => {
  const stored = { host: 'example.com', class: 'IN', type, rdata: JSON.stringify({ data: text }) };
  expect(isCanonicalRecord(stored)).toBe(true);
  expect(presentRdata(stored)).toBe(text);
  const inLines = text.replace(' ', ' ( ').concat(text.includes(' ') ? '\n) ; a comment' : '');
  expect(parse(type, inLines)).toEqual(stored);
});

test('what is observed of types that nobody serves any more is in the form of RFC 3597', () => {
  const octets = hex('0a000001 06 40');
  expect(readRdata('WKS', MessageReader.ofRdata(octets))).toEqual({ data: generic(octets) });
  expect(own('WKS', generic(octets))).toEqual({ data: generic(octets) });
  for (const text of ['"a\nb"', '']) expect(() => parse('WKS', text)).toThrow('write \\#');
});

test.each([
  ['DS', 'total garbage', '"total" is not an integer from 0 to 65535.'],
  ['DS', '1 8 2 ABCD', 'its last field cannot have 2 octets.'],
  ['DS', '1 8 9 ABC', '"ABC" is not hexadecimal of whole octets.'],
  ['DS', '1 8 9', 'its last field cannot have 0 octets.'],
  ['DS', '', 'it ends too early.'],
  ['TYPE65534', String.raw`\# 4 01`, 'there are 1 octets in place of 4.'],
  ['A', String.raw`\# 3 010203`, 'it ends too early.'],
  ['A', '192.0.2.7 x', '"x" is one field too many.'],
  ['TYPE65534', '192.0.2.7', String.raw`write \#, the number of octets, and the octets in hexadecimal.`],
  ['DNSKEY', '257 3 8 AwEAa', '"AwEAa" is not base64.'],
  ['SPF', '"open  end ', 'at "\\"open  end " a quote or an escape has no end.'],
  ['SPF', 'a\\', 'at "\\\\" a quote or an escape has no end.'],
  ['SPF', String.raw`a\256`, String.raw`"a\\256": after "\" comes a character or \000 to \255.`],
  ['SPF', `"${'a'.repeat(256)}"`, 'a string is longer than 255 octets.'],
  ['HTTPS', '1 . alpn=h2 alpn=h3', 'service parameters out of order, or repeated.'],
  ['HTTPS', '1 . mandatory=port', 'a mandatory parameter is missing.'],
  ['HTTPS', '1 . colour=red', '"colour" is not a key of service parameters.'],
  ['HTTPS', '1 . port=', 'it ends too early.'],
  ['NSEC', 'a.', 'it ends too early.'],
  ['NSEC', 'a. A FOO', '"FOO" is not a type: write a mnemonic, or TYPE and its number.'],
  ['RRSIG', 'A 8 2 60 20260230000000 0 1 a. AQI=', '"20260230000000" is not a time.'],
  ['LOC', '91 N 4 E 0m', 'an angle that is too large.'],
  ['LOC', '52 60 N 4 E 0m', '"60" is not part of a location.'],
  ['IPSECKEY', '10 4 2 . AQNR', 'an unknown type of gateway, 4.'],
  ['CAA', '0 "" "a"', 'an empty tag.'],
  ['APL', '3:10.0.0.0/8', '"3:10.0.0.0/8" is not a prefix such as 1:192.0.2.0/24.'],
  ['TXT', '( "a"', 'a parenthesis is not closed.'],
  ['TXT', '"a" )', 'a parenthesis is closed that is not open.'],
])('%s %j is rejected: %s', (type, data, reason) => {
  const message = `data: it is not the data of a record of type ${type}: ${reason}`;
  expect(() => parse(type, data)).toThrow(new InvalidObservationError(message));
});

test('rdata that is too long is rejected', () => {
  expect(() => parse('OPENPGPKEY', 'AAAA'.repeat(21_846))).toThrow('it is longer than 65535 octets.');
  expect(() => parse('TYPE1234', 'x'.repeat(600_000))).toThrow('write \\# and its octets');
});

test('octets that do not fit, or whose text could not be read again, stay in the form of RFC 3597', () => {
  // A pointer means something in a message only.
  const pointer = hex('0001 10 61616161616161616161616161616161 c002');
  const largest = Buffer.alloc(65_535);
  // A bitmap of all types is too long in text.
  const windows = Array.from({ length: 253 }, (_, at) => [at + 1, 32, ...Buffer.alloc(32, 255)]);
  const bitmap = Buffer.from([1, 0x61, 0, ...windows.flat()]);
  const rdata = { DS: hex('000a'), AFSDB: pointer, TYPE1234: largest, NSEC: bitmap };
  for (const [type, octets] of Object.entries(rdata))
    expect(own(type, generic(octets))).toEqual({ data: generic(octets) });
});

test.each([...LAYOUTS.keys()])('thousands of words as %s data are read, or rejected', (type) => {
  const words = 'A '.repeat(repeats(250_000, 5_000));
  for (const head of ['a. ', '1 1 1 - AA ', '192.0.2.1 6 1 '])
    resultOf(() => parseRdataText(type, head + words));
});

test('a bitmap has each type once, however often the text names it', () => {
  expect(own('NSEC', `a. ${'MX A TYPE1234 '.repeat(30_000)}`)).toEqual({ data: 'a. A MX TYPE1234' });
});

const anyOctets = fc.tuple(
  fc.constantFrom(...LAYOUTS.keys()),
  fc.uint8Array({ maxLength: 40 }).map((octets) => Buffer.from(octets)),
);

test('any octets become a text that stands for the same octets, with names in lower case', () => {
  let presented = 0;
  fc.assert(
    fc.property(fc.oneof(octetsNearExamples, anyOctets), ([type, octets]) => {
      const data = String(readRdata(type, MessageReader.ofRdata(octets))['data']);
      const again = octetsOf(type, data);
      if (data.startsWith('\\#')) expect(again).toEqual(octets);
      else expect(again.toString('latin1').toLowerCase()).toBe(octets.toString('latin1').toLowerCase());
      expect(own(type, data)).toEqual({ data });
      expect(own(type, generic(octets))).toEqual({ data });
      presented += data.startsWith('\\#') ? 0 : 1;
    }),
    { numRuns: repeats(10_000, 1000) },
  );
  expect(presented).toBeGreaterThan(repeats(2000, 200));
});

test('a canonical text stays as it is, and every other text is rejected with a reason', () => {
  const fragment = fc.constantFrom(...String.raw` |"|\|;|(|=|,|é|\"|\065|1|.|a=`.split('|'), '\t');
  const textNear = fc.constantFrom(...RDATA_EXAMPLES).chain(([type, written]) =>
    fc
      .array(fc.tuple(fc.nat({ max: written.length }), fragment), { maxLength: 3 })
      .map((added) =>
        added.reduce((text, [at, piece]) => text.slice(0, at) + piece + text.slice(at), written),
      )
      .map((text): [string, string] => [type, text]),
  );
  const anyText = fc.tuple(fc.constantFrom(...LAYOUTS.keys()), fc.string());
  fc.assert(
    fc.property(fc.oneof(textNear, anyText), ([type, text]) => {
      const values = resultOf(() => parseRdataText(type, text));
      if (values !== undefined) expect(parseRdataText(type, String(values['data']))).toEqual(values);
    }),
    { numRuns: repeats(10_000, 1000) },
  );
});

test('any octets as those of a type with fields of its own give fields, or a reason', () => {
  fc.assert(
    fc.property(fc.constantFrom(...RDATA_FIELDS.keys()), fc.uint8Array({ maxLength: 40 }), (type, octets) => {
      const record = resultOf(() => parse(type, generic(Buffer.from(octets))));
      if (record !== undefined) expect(parse(type, JSON.parse(record.rdata))).toEqual(record);
    }),
    { numRuns: repeats(5000, 500) },
  );
});
