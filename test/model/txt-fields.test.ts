import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dnsRecordData, parseDnsRecord } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';

type Fields = Readonly<Record<string, unknown>>;

function parse(fields: Fields) {
  return parseDnsRecord({ host: 'example.com', class: 'IN', type: 'TXT', ...fields });
}

function rdata(fields: Fields): string {
  return parse(fields).rdata;
}

test('4,000 octets in segments, with quotes, NUL, other octets and characters beyond ASCII, come back as they are', () => {
  const entries = Array.from({ length: 16 }, (_, at) => `k${at}="é日😀"; \\000\\255\\ `.padEnd(240, 'x"'));
  const record = parse({ txt: entries.join(''), entries });
  expect(dnsRecordData(record)).toEqual({
    host: 'example.com',
    class: 'IN',
    type: 'TXT',
    txt: entries.join(''),
    entries,
  });
});

test('any octets in any segments survive, and txt is the segments joined', () => {
  const segment = fc.array(fc.constantFrom('\\', '0', '2', '5', '\\000', '\\195', '\\169', 'é', '"'), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), (segments) => {
      const entries = segments.map((parts) => parts.join(''));
      const record = parse({ entries });
      const data = dnsRecordData(record);
      expect(parseDnsRecord(data)).toEqual(record);
      expect(parse({ entries, txt: entries.join('') })).toEqual(record);
      expect(parse({ entries, txt: data['txt'] })).toEqual(record);
    }),
    { numRuns: 500 },
  );
});

test('the segments tell records apart, how they are written does not', () => {
  expect(rdata({ entries: ['ab'] })).not.toBe(rdata({ entries: ['a', 'b'] }));
  expect(rdata({ entries: [String.raw`\097`, 'b\0'] })).toBe(rdata({ entries: ['a', String.raw`b\000`] }));
});

test('an escape or a character that is split between two segments is whole in txt', () => {
  expect(rdata({ entries: [String.raw`\195`, String.raw`\169`] })).toBe(
    String.raw`{"txt":"é","entries":["\\195","\\169"]}`,
  );
  expect(rdata({ entries: ['\\', '065'], txt: String.raw`\065` })).toBe(
    String.raw`{"txt":"\\092065","entries":["\\","065"]}`,
  );
});

test.each<[Fields, string]>([
  [{}, 'txt: it is missing.'],
  [{ txt: null }, 'txt: it is not a string.'],
  [{ txt: 1 }, 'txt: it is not a string.'],
  [{ entries: [] }, 'entries: it is empty; write at least one string.'],
  [{ txt: '', entries: [] }, 'entries: it is empty; write at least one string.'],
  [{ entries: 'a' }, 'entries: it is not an array of strings.'],
  [{ entries: ['a', 1] }, 'entries: it is not an array of strings.'],
  [{ txt: 'a', entries: null }, 'entries: it is not an array of strings.'],
  [{ txt: 1, entries: ['1'] }, 'txt: it is not a string.'],
  [{ txt: 'a b', entries: ['a', 'b'] }, 'txt: it is not the entries joined.'],
  [{ txt: '\ud800' }, 'txt: "\\ud800" contains a lone surrogate.'],
  [{ entries: ['a', '\ud83d', '\ude00'] }, 'entries: "\\ud83d" contains a lone surrogate.'],
  [{ txt: 'a'.repeat(65535) }, 'its data is longer than 65535 octets.'],
  [{ entries: Array.from({ length: 256 }, () => 'a'.repeat(255)) }, 'its data is longer than 65535 octets.'],
])('%j is rejected: %s', (fields, reason) => {
  expect(() => rdata(fields)).toThrow(new InvalidObservationError(reason));
});

test('65,534 octets in one entry are allowed, in whatever way they are written', () => {
  expect(rdata({ txt: '\\065'.repeat(65_534) })).toBe(rdata({ txt: 'A'.repeat(65_534) }));
});
