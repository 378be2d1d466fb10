import { expect, test } from 'vitest';
import { BoundedCache, memoized } from '../../src/model/bounded-cache.js';

test('a cache never holds more entries than its limit', () => {
  const cache = new BoundedCache<number, string>(3);
  for (let key = 0; key < 100; key += 1) {
    cache.set(key, String(key));
    const held = Array.from({ length: 100 }, (_, at) => cache.get(at)).filter((value) => value !== undefined);
    expect(held.length).toBeLessThanOrEqual(3);
    expect(cache.get(key)).toBe(String(key));
  }
});

test('a remembered function computes a text once, and gives what it would give without its memory', () => {
  const computed: string[] = [];
  const upper = memoized((text) => {
    computed.push(text);
    return text.toUpperCase();
  });
  expect([upper('a'), upper('b'), upper('a')]).toEqual(['A', 'B', 'A']);
  expect(computed).toEqual(['a', 'b']);
});

test('a long text is not kept', () => {
  let computed = 0;
  const length = memoized((text) => {
    computed += 1;
    return String(text.length);
  });
  const long = 'x'.repeat(1000);
  expect([length(long), length(long)]).toEqual(['1000', '1000']);
  expect(computed).toBe(2);
});

test('a refusal is given again each time', () => {
  const refuse = memoized((text): string => {
    throw new Error(text);
  });
  expect(() => refuse('a')).toThrow('a');
  expect(() => refuse('a')).toThrow('a');
});
