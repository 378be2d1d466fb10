import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatInstant, parseInstant } from '../../src/model/instant.js';
import { durationOf, durationText, parseRequestedTime } from '../../src/model/requested-time.js';
import { expectRejected } from '../support/rejections.js';

const NOW = parseInstant('2024-03-01T10:20:30.123456Z');

const read = (text: string) => formatInstant(parseRequestedTime(text, NOW));

test.each([
  ['2024-02-29', '2024-02-29T00:00:00.000000Z'],
  ['9999-12-31', '9999-12-31T00:00:00.000000Z'],
  ['2024-02-29T10:20:30+02:00', '2024-02-29T08:20:30.000000Z'],
])('the time %s is the instant %s at any moment', (text, instant) => {
  expect(read(text)).toBe(instant);
});

test.each([
  ['500ms', '2024-03-01T10:20:29.623456Z'],
  ['30d', '2024-01-31T10:20:30.123456Z'],
  ['2w', '2024-02-16T10:20:30.123456Z'],
  ['0d', '2024-03-01T10:20:30.123456Z'],
  ['now', '2024-03-01T10:20:30.123456Z'],
])('the time %s is so long before now', (text, instant) => {
  expect(read(text)).toBe(instant);
});

test('a duration that is written is read as the same, and means a time as long before now', () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 10n ** 12n), (milliseconds) => {
      const text = durationText(milliseconds * 1000n);
      expect(durationOf(text)).toBe(milliseconds * 1000n);
      expect(NOW - parseRequestedTime(text, NOW)).toBe(milliseconds * 1000n);
    }),
  );
});

test('a duration is written in the largest unit that fits, days at most', () => {
  const texts = ['1500ms', '90s', '90m', '36h', '14d'];
  expect(texts.map((text) => durationText(durationOf(text) ?? 0n))).toEqual(texts);
});

test('a duration is a number without a sign or a leading zero, and a unit', () => {
  const others = ['', '6', 'h', '0h', '-1h', '1.5h', '06h', '6 h', '6H', '6y', ' 6h', '1h30m'];
  expect(others.map(durationOf)).toEqual(others.map(() => undefined));
});

test.each([
  ['', 'is not a time: write it like 2024-03-01T10:20:30Z, a date like 2024-03-01'],
  ['00d', 'is not a time'],
  ['1709288430', 'is not a time'],
  ['2024-02-30', '"2024-02-30" is not a date of the calendar: write year, month and day like 2024-03-01.'],
  ['2024-13-01T00:00:00Z', '"2024-13-01T00:00:00Z" is not an RFC 3339 time: write it like '],
  ['2024-02-01T10:20', 'is not an RFC 3339 time'],
  ['999999999999d', 'is not in the years 0000 to 9999'],
])('the time %j is rejected, with the reason', (text, reason) => {
  expectRejected(() => parseRequestedTime(text, NOW), reason);
});
