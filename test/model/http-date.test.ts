import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatHttpDate, parseHttpDate } from '../../src/model/http-date.js';

/** 2024-03-01T00:00:00Z. */
const NOW = 1_709_251_200;

test('an HTTP-date has three forms, which name the same second (RFC 9110, section 5.6.7)', () => {
  const all = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'];
  expect(all.map((text) => parseHttpDate(text, NOW))).toEqual([784_111_777, 784_111_777, 784_111_777]);
});

test('a year of two digits in an HTTP-date is over 50 years ahead of none: it is in the past then', () => {
  const yearOf = (digits: string) => {
    const seconds = parseHttpDate(`Friday, 01-Jan-${digits} 00:00:00 GMT`, NOW) ?? Number.NaN;
    return new Date(seconds * 1000).getUTCFullYear();
  };
  expect(['24', '25', '74', '75', '99', '00'].map(yearOf)).toEqual([2024, 2025, 2074, 1975, 1999, 2000]);
});

test('a leap second of an HTTP-date is taken for the second before it', () => {
  expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW)).toBe(Date.UTC(2016, 11, 31, 23, 59, 59) / 1000);
});

test.each([
  ...['', '2024-03-01', 'Sun, 06 Nov 1994 08:49:37', 'Sun, 06 Nov 1994 08:49:37 UTC'],
  ...[' Sun, 06 Nov 1994 08:49:37 GMT', 'Sun, 6 Nov 1994 08:49:37 GMT'],
  ...['Sun, 31 Feb 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 24:00:00 GMT'],
])('%j is no HTTP-date', (text) => {
  expect(parseHttpDate(text, NOW)).toBeUndefined();
});

test('every second of the years 0 to 9999 is read from an HTTP-date as it was written', () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_167_219_200, max: 253_402_300_799 }), (seconds) => {
      expect(parseHttpDate(formatHttpDate(seconds), NOW)).toBe(seconds);
    }),
  );
});
