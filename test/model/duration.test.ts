import fc from 'fast-check';
import { expect, test } from 'vitest';
import { durationOf, durationText } from '../../src/model/duration.js';

test.each([
  ['500ms', 500_000n],
  ['10s', 10_000_000n],
  ['30m', 1_800_000_000n],
  ['6h', 21_600_000_000n],
  ['90d', 7_776_000_000_000n],
  ['2w', 1_209_600_000_000n],
])('%s is %s microseconds', (text, microseconds) => {
  expect(durationOf(text)).toBe(microseconds);
});

test.each(['', '6', 'h', '0h', '-1h', '1.5h', '06h', '6 h', '6H', '6y', ' 6h', '1h30m'])(
  '%j is no duration',
  (text) => {
    expect(durationOf(text)).toBeUndefined();
  },
);

test('a duration that is written is read as the same', () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 10n ** 9n), (milliseconds) => {
      expect(durationOf(durationText(milliseconds * 1000n))).toBe(milliseconds * 1000n);
    }),
  );
});

test('a duration is written in the largest unit that fits, days at most', () => {
  const texts = ['1500ms', '90s', '90m', '36h', '14d'];
  expect(texts.map((text) => durationText(durationOf(text) ?? 0n))).toEqual(texts);
});
