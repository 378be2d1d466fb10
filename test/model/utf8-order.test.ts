import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareUtf8 } from '../../src/model/utf8-order.js';

/** Texts that share beginnings, with characters on both sides of the surrogates. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      'a',
      'b',
      '\u{7f}',
      'é',
      '\u{d7ff}',
      '\u{e000}',
      '\u{ffff}',
      '\u{10000}',
      '\u{10ffff}',
    ),
  }),
);

test('texts are ordered as their UTF-8 bytes are', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test('a character beyond U+FFFF comes after U+FFFF', () => {
  expect(['\u{1f600}', '\u{ffff}', '\u{e000}', '\u{d7ff}', 'z'].sort(compareUtf8)).toEqual([
    'z',
    '\u{d7ff}',
    '\u{e000}',
    '\u{ffff}',
    '\u{1f600}',
  ]);
});
