import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  compareDnsRecords,
  type DnsRecord,
  dnsRecordData,
  parseDnsRecord,
  recordsByType,
} from '../../src/model/dns-record.js';
import { compareUtf8 } from '../../src/model/utf8-order.js';
import { anyCharacter } from '../support/any-character.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';

/** The values of a record in the order in which they decide. */
function valuesOf(one: DnsRecord): readonly unknown[] {
  const { class: ofClass, type, host, ...own } = dnsRecordData(one);
  return [type, host, ...Object.values(own), ofClass];
}

/** The order by its definition: numbers as numbers, texts by their UTF-8 bytes, lists element by element. */
function compareByDefinition(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return Math.sign(a - b);
  if (!Array.isArray(a) || !Array.isArray(b)) return Buffer.compare(Buffer.from(`${a}`), Buffer.from(`${b}`));
  const orders = a.slice(0, b.length).map((each, at) => compareByDefinition(each, b[at]));
  return orders.find((order) => order !== 0) ?? Math.sign(a.length - b.length);
}

const record = dnsRecordInput.map(parseDnsRecord);
/** Records that often differ in their own fields only. */
const similar = fc
  .tuple(record, record)
  .map(([one, other]) => [one, other.type === one.type ? { ...other, host: one.host } : other] as const);

test('records are ordered by type, host, own fields and class, and are equal if and only if they are the same', () => {
  fc.assert(
    fc.property(similar, ([a, b]) => {
      expect(Math.sign(compareDnsRecords(a, b))).toBe(compareByDefinition(valuesOf(a), valuesOf(b)));
      const isSame = a.host === b.host && a.class === b.class && a.type === b.type && a.rdata === b.rdata;
      expect(compareDnsRecords(a, b) === 0).toBe(isSame);
      expect(compareDnsRecords(a, { ...a })).toBe(0);
    }),
    { numRuns: 5000 },
  );
});

const STRINGS = ['', 'a b', 'a!', 'a', 'a#', 'a"b"', 'a\\b'];

test.each([
  ['numbers', 'MX', ['5 z.', '10 a.', '10 b.'].map((data) => ({ data }))],
  ['names by their bytes', 'NS', ['a', 'a!', 'a.b', 'a0', 'aa'].map((target) => ({ target }))],
  ['addresses by their bytes', 'A', ['192.0.2.1', '192.0.2.10', '192.0.2.2'].map((ip) => ({ ip }))],
  ['rdata', 'SPF', STRINGS.map((text) => ({ data: `"${text.replace(/["\\]/g, '\\$&')}"` }))],
  ['texts', 'CAA', ['\n', 'a', '\u{ffff}', '\u{1f600}'].map((value) => ({ flags: 0, tag: 'a', value }))],
  ['entries one by one', 'TXT', [['a', 'b'], ['ab'], ['ab', ''], ['b']].map((entries) => ({ entries }))],
])('%s are ordered in records of one type: %s', (_what, type, fields) => {
  const records = fields.map((own) => parseDnsRecord({ host: 'a', class: 'IN', type, ...own }));
  expect([...records].reverse().sort(compareDnsRecords)).toEqual(records);
});

test('a set of records has each record once, by its type, in order, in whatever order they came', () => {
  const shuffled = fc.array(record, { maxLength: 12 }).chain((records) => {
    const twice = [...records, ...records];
    return fc.tuple(fc.constant(records), fc.shuffledSubarray(twice, { minLength: twice.length }));
  });
  fc.assert(
    fc.property(shuffled, ([records, again]) => {
      const byType = recordsByType(records);
      expect(recordsByType(again)).toEqual(byType);
      const all = [...byType.values()].flat().map((one) => JSON.stringify(one));
      expect(all.toSorted()).toEqual([...new Set(records.map((one) => JSON.stringify(one)))].sort());
      for (const [type, group] of byType)
        expect(group.filter((one) => one.type === type).sort(compareDnsRecords)).toEqual(group);
    }),
  );
});

/** Texts that share beginnings, with characters on both sides of the surrogates. */
const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.constantFrom(...'ab\u{7f}é\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}') }),
);

test('texts are ordered as their UTF-8 bytes are: what is beyond U+FFFF comes after it', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
  expect(compareUtf8('\u{1f600}', '\u{ffff}')).toBeGreaterThan(0);
});
