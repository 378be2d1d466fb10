import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requireUniqueKeys } from '../../src/importers/json-line.js';
import { resultOf } from '../support/rejections.js';

/** JSON as it is written, where an object may have a key twice. */
type Written = { readonly text: string; readonly repeats: boolean };

const space = fc.constantFrom('', '', '', ' ', ' \t\r\n');
/** Few keys, so that they meet, in two spellings each, and texts that look like keys. */
const key = fc.constantFrom('a', 'b', '__proto__', '":', '\\":', ': ', '1', '');
const inEscapes = (json: string) =>
  json.replace(/[\w: ]/g, (unit) => `\\u00${unit.charCodeAt(0).toString(16)}`);
const spelt = fc.tuple(key, fc.boolean()).map(([name, isEscaped]) => {
  const text = JSON.stringify(name);
  return { name, text: isEscaped ? inEscapes(text) : text };
});
const scalar = fc
  .oneof(key, fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.ipV6())
  .map((value): Written => ({ text: JSON.stringify(value), repeats: false }));

const { value } = fc.letrec<{ value: Written; object: Written; array: Written }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, tie('object'), tie('array')),
  array: fc.array(tie('value'), { maxLength: 3 }).map((elements) => ({
    text: `[${elements.map(({ text }) => text).join(',')}]`,
    repeats: elements.some(({ repeats }) => repeats),
  })),
  object: fc.array(fc.tuple(spelt, space, space, tie('value')), { maxLength: 4 }).map((members) => ({
    text: `{${members.map(([name, before, after, member]) => `${name.text}${before}:${after}${member.text}`).join(',')}}`,
    repeats:
      new Set(members.map(([{ name }]) => name)).size < members.length ||
      members.some(([, , , member]) => member.repeats),
  })),
}));

function isRejected(text: string): boolean {
  return resultOf(() => requireUniqueKeys(text, JSON.parse(text)) ?? 'read') !== 'read';
}

test('keys that occur twice in an object are found wherever they are and however they are spelt, and nothing else is taken for them', () => {
  const counts = { rejected: 0, taken: 0 };
  fc.assert(
    fc.property(value, ({ text, repeats }) => {
      fc.pre(/^[[{]/.test(text));
      expect(isRejected(text)).toBe(repeats);
      counts[repeats ? 'rejected' : 'taken'] += 1;
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(counts.rejected, counts.taken)).toBeGreaterThan(50);
});

test('keys that occur twice are looked for in a line of any depth', () => {
  const deep = (inner: string) => `${'['.repeat(500_000)}${inner}${']'.repeat(500_000)}`;
  expect(isRejected(deep('{"a":1}'))).toBe(false);
  expect(isRejected(deep('{"a":":","a":1}'))).toBe(true);
});
