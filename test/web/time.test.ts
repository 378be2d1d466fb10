import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, formatTime, microsecondsOf, readTime, timestampOf } from '../../web/src/time.js';

test('a time of the API comes back digit for digit', () => {
  // From the first second of 1970 to the end of 2254.
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8_993_721_599_999_999 }), (time) => {
      expect(microsecondsOf(timestampOf(time))).toBe(time);
      expect(timestampOf(time)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    }),
  );
  expect(timestampOf(microsecondsOf('2023-11-15T22:05:59.999990Z'))).toBe('2023-11-15T22:05:59.999990Z');
});

test.each([
  ['2023', '2023-12-31T23:59:59.999999Z'],
  ['2024-02', '2024-02-29T23:59:59.999999Z'],
  ['2024-03-01', '2024-03-01T23:59:59.999999Z'],
  ['2024-03-01 10:20', '2024-03-01T10:20:59.999999Z'],
  ['2024-03-01 10:20:30', '2024-03-01T10:20:30.000000Z'],
  [' 2024-03-01T10:20:30.5 ', '2024-03-01T10:20:30.500000Z'],
  ['2024-03-01T10:20:30.123456Z', '2024-03-01T10:20:30.123456Z'],
  ['2024-03-01T10:20:30+02:00', '2024-03-01T08:20:30.000000Z'],
])('a time that a person writes, in UTC, is up to its end: %s', (written, time) => {
  expect(timestampOf(readTime(written))).toBe(time);
});

test('other texts are no times that a person may write', () => {
  const others = ['', 'yesterday', '2024-13', '2024-02-30', '2024-03-01 25:00', '01.03.2024', '2024-3-1'];
  for (const written of others) expect(readTime(written), written).toBeNaN();
});

test('times of wrong clocks are shown, and are no times to choose', () => {
  for (const [time, shown] of [
    ['0001-01-01T00:00:00.000000Z', '0001-01-01 00:00:00'],
    ['1500-02-03T04:05:06.700000Z', '1500-02-03 04:05:06'],
    ['9999-12-31T23:59:59.000000Z', '9999-12-31 23:59:59'],
  ] as const) {
    expect(formatTime(microsecondsOf(time), 'UTC')).toBe(shown);
    expect(timestampOf(microsecondsOf(time))).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(readTime(time)).toBeNaN();
  }
});

test('times are shown to the second, durations in their largest unit', () => {
  expect(formatTime(microsecondsOf('2023-11-15T22:05:59.999990Z'), 'UTC')).toBe('2023-11-15 22:05:59');
  expect(formatDuration(1_000_000)).toBe('1 second');
  expect(formatDuration(90 * 86_400_000_000)).toBe('3 months');
});
