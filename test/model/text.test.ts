import { expect, test } from 'vitest';
import { quoted } from '../../src/model/text.js';

test.each([
  ['plain', '"plain"'],
  ['with space', '"with space"'],
  ['a"b\\c', String.raw`"a\"b\\c"`],
  ['a\nb\0', String.raw`"a\nb\u0000"`],
  ['a\u007f\u0085\u2028\u202e\u00a0b', String.raw`"a\u{7f}\u{85}\u{2028}\u{202e}\u{a0}b"`],
  ['bücher 日本 😀', '"bücher 日本 😀"'],
  ['\ud800', String.raw`"\ud800"`],
])('%j is shown on one line, with everything in it visible', (text, shown) => {
  expect(quoted(text)).toBe(shown);
});

test('a long text is cut', () => {
  expect(quoted('x'.repeat(100_000))).toBe(`"${'x'.repeat(64)}…"`);
});
