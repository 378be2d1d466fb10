import { expect, test, vi } from 'vitest';
import { memoized } from '../../src/model/memoized.js';

test('a memoized function keeps no more results than its limit', () => {
  const compute = vi.fn((key: number) => String(key));
  const text = memoized(compute, 3);
  const keys = Array.from({ length: 100 }, (_, key) => key);
  keys.map((key) => text(key));
  compute.mockClear();
  expect(keys.reverse().map((key) => text(key))).toEqual(keys.map(String));
  expect(compute.mock.calls.length).toBeGreaterThanOrEqual(97);
});
