import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  compareInstants,
  EARLIEST_INSTANT,
  formatInstant,
  LATEST_INSTANT,
  parseInstant,
} from '../../src/model/instant.js';
import { expectRejected } from '../support/rejections.js';

const instant = fc.oneof(
  fc.bigInt({ min: EARLIEST_INSTANT, max: LATEST_INSTANT }),
  fc.bigInt({ min: -10_000_000_000_000_000n, max: 10_000_000_000_000_000n }),
  // The last and the first microseconds of days.
  fc
    .tuple(fc.integer({ min: -719_000, max: 2_900_000 }), fc.integer({ min: -2, max: 2 }))
    .map(([day, microsecond]) => BigInt(day) * 86_400_000_000n + BigInt(microsecond)),
);

test.each([
  [0n, '1970-01-01T00:00:00.000000Z'],
  [1_709_288_430_123_456n, '2024-03-01T10:20:30.123456Z'],
  [EARLIEST_INSTANT, '0000-01-01T00:00:00.000000Z'],
  [LATEST_INSTANT, '9999-12-31T23:59:59.999999Z'],
  [BigInt(Number.MAX_SAFE_INTEGER), '2255-06-05T23:47:34.740991Z'],
  [BigInt(Number.MAX_SAFE_INTEGER) + 1n, '2255-06-05T23:47:34.740992Z'],
  [BigInt(Number.MIN_SAFE_INTEGER) - 1n, '1684-07-28T00:12:25.259008Z'],
])('%s µs are written as %s', (microseconds, text) => {
  expect(formatInstant(microseconds)).toBe(text);
});

test('every time is written with six digits, agrees with Date to the millisecond, and comes back digit for digit; texts are ordered as the times are', () => {
  fc.assert(
    fc.property(instant, instant, (microseconds, other) => {
      const text = formatInstant(microseconds);
      expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      const milliseconds = Number((microseconds - EARLIEST_INSTANT) / 1000n + EARLIEST_INSTANT / 1000n);
      expect(text.slice(0, 23)).toBe(new Date(milliseconds).toISOString().slice(0, 23));
      expect(parseInstant(text)).toBe(microseconds);
      const order = text < formatInstant(other) ? -1 : Number(text > formatInstant(other));
      expect(compareInstants(microseconds, other)).toBe(order);
    }),
  );
});

test('an offset moves a time by itself', () => {
  const offset = fc.tuple(fc.constantFrom(1, -1), fc.integer({ min: 0, max: 1439 }));
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), offset, (microseconds, [sign, minutes]) => {
      const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) =>
        String(part).padStart(2, '0'),
      );
      const text = formatInstant(microseconds).replace('Z', `${sign < 0 ? '-' : '+'}${hour}:${minute}`);
      expect(parseInstant(text)).toBe(microseconds - BigInt(sign * minutes) * 60_000_000n);
    }),
  );
});

test.each([
  ['2024-03-01T10:20:30Z', '2024-03-01T10:20:30.000000Z'],
  ['2024-03-01t10:20:30z', '2024-03-01T10:20:30.000000Z'],
  ['2024-03-01 10:20:30Z', '2024-03-01T10:20:30.000000Z'],
  ['2024-03-01T10:20:30.1234569Z', '2024-03-01T10:20:30.123456Z'],
  [`2024-03-01T10:20:30.${'9'.repeat(500)}Z`, '2024-03-01T10:20:30.999999Z'],
  ['2024-03-01T10:20:30.999999999+05:30', '2024-03-01T04:50:30.999999Z'],
  ['2024-02-29T23:59:59-00:01', '2024-03-01T00:00:59.000000Z'],
  ['1937-01-01T12:00:27.87+00:20', '1937-01-01T11:40:27.870000Z'],
  ['1969-12-31T23:59:59.0000019Z', '1969-12-31T23:59:59.000001Z'],
  ['9999-12-31T23:59:59.9999999Z', '9999-12-31T23:59:59.999999Z'],
  ['0000-01-01T00:00:00-01:00', '0000-01-01T01:00:00.000000Z'],
  // A leap second is the second after it.
  ['1990-12-31T23:59:60Z', '1991-01-01T00:00:00.000000Z'],
  ['2015-07-01T05:29:60.5+05:30', '2015-07-01T00:00:00.500000Z'],
])('the time %s is %s', (text, canonical) => {
  expect(formatInstant(parseInstant(text))).toBe(canonical);
});

const FORM = 'write it like 2024-03-01T10:20:30.123456Z';
test.each([
  [FORM, '', '2024-03-01', '2024-03-01T10:20Z', '2024-03-01T10:20:30', '2024-03-01T10:20:30.Z', '1709288430'],
  [FORM, '2024-03-01T10:20:30+0100', '2024-03-01T10:20:30Z\n', ' 2024-03-01T10:20:30Z'],
  [FORM, '٢٠٢٤-03-01T10:20:30Z', '2024-00-01T10:20:30Z', '2024-13-01T10:20:30Z', '2024-03-00T10:20:30Z'],
  [FORM, '2024-03-01T24:00:00Z', '2024-03-01T10:60:30Z', '2024-03-01T10:20:61Z'],
  [FORM, '2024-03-01T10:20:30+24:00', '2024-03-01T10:20:30-01:60', '12024-03-01T10:20:30Z'],
  ['the month has no such day', '2024-04-31T10:20:30Z', '2023-02-29T10:20:30Z', '1900-02-29T10:20:30Z'],
  ['it is not a leap second', '2024-03-01T10:20:60Z', '2024-03-31T23:59:60Z', '2024-06-29T23:59:60Z'],
  ['it is not a leap second', '2024-06-30T23:59:60+01:00'],
  ['0000 to 9999', '0000-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '9999-12-31T23:59:60Z'],
])('a text is no RFC 3339 time: %s', (reason, ...texts) => {
  for (const text of texts) expectRejected(() => parseInstant(text), reason);
});
