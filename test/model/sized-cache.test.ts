import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SizedCache } from '../../src/model/sized-cache.js';

test('what was used longest ago is forgotten first', () => {
  const cache = new SizedCache<string, number>(10);
  cache.set('a', 1, 4);
  cache.set('b', 2, 4);
  expect(cache.get('a')).toBe(1);
  cache.set('c', 3, 4);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
});

test('what alone is larger than the bound is not kept, and leaves the others', () => {
  const cache = new SizedCache<string, number>(10);
  cache.set('a', 1, 10);
  cache.set('b', 2, 11);
  expect([cache.get('a'), cache.get('b')]).toEqual([1, undefined]);
});

test('what is kept is never larger than the bound, and the latest is kept', () => {
  const entry = fc.record({ key: fc.integer({ min: 0, max: 9 }), size: fc.integer({ min: 0, max: 40 }) });
  fc.assert(
    fc.property(fc.array(entry), (entries) => {
      const cache = new SizedCache<number, number>(100);
      for (const { key, size } of entries) {
        cache.set(key, size, size);
        expect(cache.get(key)).toBe(size);
        const kept = Array.from({ length: 10 }, (_, index) => cache.get(index) ?? 0);
        expect(kept.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(100);
      }
    }),
  );
});
