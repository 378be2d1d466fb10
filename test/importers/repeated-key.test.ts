import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requireUniqueKeys } from '../../src/importers/json-line.js';

/** Few keys, so that they meet, and texts that look like keys. */
const key = fc.constantFrom('a', 'b', '__proto__', '":', '\\":', ': ', '1', '');
const values = [key, fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.ipV6()];
const json = fc.object({ key, values, maxDepth: 4, maxKeys: 4 }).map((value) => JSON.stringify(value));
const space = fc.constantFrom('', '', ' ', ' \t\r\n');

function isRejected(text: string): boolean {
  try {
    requireUniqueKeys(text, JSON.parse(text));
    return false;
  } catch (error) {
    expect(String(error)).toBe('InvalidObservationError: a key occurs twice in one object: write it once.');
    return true;
  }
}

/** Each character as an escape. */
function escaped(name: string): string {
  const units = [...name].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${units.join('')}"`;
}

test('keys that occur twice in an object are found wherever they are and however they are spelt, and nothing else is taken for them', () => {
  fc.assert(
    fc.property(json, fc.nat(), space, json, (text, place, blank, value) => {
      expect(isRejected(text)).toBe(false);
      const objects = [...text.matchAll(/\{("(?:[^"\\]|\\.)*")(?=:)/g)];
      const found = objects[place % objects.length];
      fc.pre(found !== undefined);
      for (const again of [found[1] ?? '', escaped(JSON.parse(found[1] ?? ''))]) {
        const member = `${again}${blank}:${blank}${value},`;
        expect(isRejected(`${text.slice(0, found.index + 1)}${member}${text.slice(found.index + 1)}`)).toBe(
          true,
        );
      }
    }),
    { numRuns: 2_000 },
  );
});

test('keys that occur twice are looked for in a line of any depth', () => {
  const deep = (inner: string) => `${'['.repeat(500_000)}${inner}${']'.repeat(500_000)}`;
  expect(isRejected(deep('{"a":1}'))).toBe(false);
  expect(isRejected(deep('{"a":":","a":1}'))).toBe(true);
});
