import { expect, test } from 'vitest';
import { InvalidObservationError } from '../../src/model/errors.js';
import { requireKey } from '../../src/model/json-values.js';
import { quoted } from '../../src/model/text.js';

test.each([
  ['DNS_RECORDS', '', 'unknown key "DNS_RECORDS": write dnsRecords.'],
  ['records', '', 'unknown key "records": remove it, or write one of dnsRecords, minimum-ttl.'],
  ['DNSRecords', 'in a line', 'unknown key "DNSRecords" in a line: write dnsRecords.'],
])('the reason for the unknown key %j %s says what to write', (key, owner, reason) => {
  const known = new Set(['dnsRecords', 'minimum-ttl']);
  expect(() => requireKey(key, known, owner)).toThrow(new InvalidObservationError(reason));
});

test.each([
  ['with space', '"with space"'],
  ['a"b\\c', String.raw`"a\"b\\c"`],
  ['a\nb\0', String.raw`"a\nb\u0000"`],
  ['a\u007f\u0085\u2028\u202e\u00a0b', String.raw`"a\u{7f}\u{85}\u{2028}\u{202e}\u{a0}b"`],
  ['bücher 日本 😀', '"bücher 日本 😀"'],
  ['\ud800', String.raw`"\ud800"`],
  ['x'.repeat(100_000), `"${'x'.repeat(64)}…"`],
])('an error shows %j on one line, cut, with everything in it visible', (text, shown) => {
  expect(quoted(text)).toBe(shown);
});
