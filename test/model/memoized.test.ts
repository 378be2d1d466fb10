import { expect, test, vi } from 'vitest';
import { memoized } from '../../src/model/memoized.js';

test('a memoized function computes a text once, but for a long one, and what is thrown', () => {
  const compute = vi.fn((text: string): string => {
    if (text === '') throw new Error('empty');
    return text.toUpperCase();
  });
  const upper = memoized(compute);
  const long = 'X'.repeat(1000);
  expect(['a', 'b', 'a', long, long].map(upper)).toEqual(['A', 'B', 'A', long, long]);
  for (let time = 0; time < 2; time += 1) expect(() => upper('')).toThrow('empty');
  expect(compute).toHaveBeenCalledTimes(6);
});

test('a memoized function keeps no more results than its limit', () => {
  const compute = vi.fn((key: number) => String(key));
  const text = memoized(compute, 3);
  const keys = Array.from({ length: 100 }, (_, key) => key);
  keys.map((key) => text(key));
  compute.mockClear();
  expect(keys.reverse().map((key) => text(key))).toEqual(keys.map(String));
  expect(compute.mock.calls.length).toBeGreaterThanOrEqual(97);
});
