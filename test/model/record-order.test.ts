import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareDnsRecords,
  type DnsRecord,
  dnsRecordData,
  parseDnsRecord,
  recordsByType,
} from '../../src/model/dns-record.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';

/** The order by its definition, on the parsed fields: numbers as numbers, texts by their UTF-8 bytes. */
function compareByDefinition(a: DnsRecord, b: DnsRecord): number {
  const { class: classA, type: typeA, host: hostA, ...ownA } = dnsRecordData(a);
  const { class: classB, type: typeB, host: hostB, ...ownB } = dnsRecordData(b);
  const left = [typeA, hostA, ...Object.values(ownA), classA];
  const right = [typeB, hostB, ...Object.values(ownB), classB];
  return compareSequences(left, right);
}

function compareSequences(a: readonly unknown[], b: readonly unknown[]): number {
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    const order = compareSingle(a[at], b[at]);
    if (order !== 0) return order;
  }
  return Math.sign(a.length - b.length);
}

function compareSingle(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return Math.sign(a - b);
  if (Array.isArray(a) && Array.isArray(b)) return compareSequences(a, b);
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

const record = dnsRecordInput.map(parseDnsRecord);
/** Records that often differ in their own fields only. */
const similar = record.chain((one) =>
  record.map((other): [DnsRecord, DnsRecord] => [
    one,
    other.type === one.type ? { ...other, host: one.host } : other,
  ]),
);

test('records are ordered by type, host, own fields and class', () => {
  fc.assert(
    fc.property(similar, ([a, b]) => {
      expect(Math.sign(compareDnsRecords(a, b))).toBe(compareByDefinition(a, b));
    }),
    { numRuns: 5000 },
  );
});

test('two records compare as equal if and only if they are the same', () => {
  fc.assert(
    fc.property(similar, ([a, b]) => {
      const same = a.host === b.host && a.class === b.class && a.type === b.type && a.rdata === b.rdata;
      expect(compareDnsRecords(a, b) === 0).toBe(same);
      expect(compareDnsRecords(a, { ...a })).toBe(0);
    }),
    { numRuns: 2000 },
  );
});

describe('own fields', () => {
  function ordered(type: string, ...fields: readonly Readonly<Record<string, unknown>>[]): void {
    const records = fields.map((own) => parseDnsRecord({ host: 'a', class: 'IN', type, ...own }));
    expect([...records].reverse().sort(compareDnsRecords)).toEqual(records);
  }

  test('numbers are ordered as numbers', () => {
    ordered('MX', { pri: 5, target: 'z' }, { pri: 10, target: 'a' }, { pri: 10, target: 'b' });
  });

  test('texts are ordered by their bytes, a beginning before what continues it', () => {
    ordered('NS', { target: 'a' }, { target: 'a!' }, { target: 'a.b' }, { target: 'a0' }, { target: 'aa' });
    ordered('A', { ip: '192.0.2.1' }, { ip: '192.0.2.10' }, { ip: '192.0.2.2' });
    const strings = ['', 'a b', 'a!', 'a', 'a#', 'a"b"', 'a\\b'];
    ordered('SPF', ...strings.map((text) => ({ data: `"${text.replace(/["\\]/g, '\\$&')}"` })));
    ordered('CAA', ...['\n', 'a', '\u{ffff}', '\u{1f600}'].map((value) => ({ flags: 0, tag: 'a', value })));
  });

  test('entries are ordered one by one', () => {
    ordered('TXT', { entries: ['a', 'b'] }, { entries: ['ab'] }, { entries: ['ab', ''] }, { entries: ['b'] });
  });
});

describe('a set of records', () => {
  test('does not depend on the order in which they came, nor on repeats', () => {
    const shuffled = fc
      .array(record, { maxLength: 12 })
      .chain((records) =>
        fc.tuple(
          fc.constant(records),
          fc.shuffledSubarray([...records, ...records], { minLength: records.length * 2 }),
        ),
      );
    fc.assert(
      fc.property(shuffled, ([records, again]) => {
        expect(recordsByType(again)).toEqual(recordsByType(records));
      }),
    );
  });

  test('holds each record once, by its type, in order', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), (records) => {
        const byType = recordsByType(records);
        const all = [...byType.values()].flat();
        expect(new Set(all.map((one) => JSON.stringify(one)))).toEqual(
          new Set(records.map((one) => JSON.stringify(one))),
        );
        expect(all.length).toBe(new Set(records.map((one) => JSON.stringify(one))).size);
        for (const [type, group] of byType) {
          expect(group.every((one) => one.type === type)).toBe(true);
          expect([...group].sort(compareDnsRecords)).toEqual(group);
        }
      }),
    );
  });
});
