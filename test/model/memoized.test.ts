import { expect, test, vi } from 'vitest';
import { memoized } from '../../src/model/memoized.js';

test('a memoized function computes a text once, and gives what it would give without its memory', () => {
  const compute = vi.fn((text: string) => text.toUpperCase());
  const upper = memoized(compute);
  expect(['a', 'b', 'a'].map(upper)).toEqual(['A', 'B', 'A']);
  expect(compute).toHaveBeenCalledTimes(2);
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

test('a memoized function does not keep a long text, nor what is thrown', () => {
  const compute = vi.fn((text: string): string => {
    if (text === 'a') throw new Error(text);
    return text;
  });
  const same = memoized(compute);
  const long = 'x'.repeat(1000);
  expect([same(long), same(long)]).toEqual([long, long]);
  for (let time = 0; time < 2; time += 1) expect(() => same('a')).toThrow('a');
  expect(compute).toHaveBeenCalledTimes(4);
});
