import { expect, test } from 'vitest';
import { memoized } from '../../src/model/memoized.js';

test('a memoized function keeps no more results than its limit', () => {
  const computed: number[] = [];
  const text = memoized((key: number) => {
    computed.push(key);
    return String(key);
  }, 3);
  for (let key = 0; key < 100; key += 1) text(key);
  computed.length = 0;
  for (let key = 99; key >= 0; key -= 1) expect(text(key)).toBe(String(key));
  expect(computed.length).toBeGreaterThanOrEqual(97);
});

test('a memoized function computes a text once, and gives what it would give without its memory', () => {
  const computed: string[] = [];
  const upper = memoized((text: string) => {
    computed.push(text);
    return text.toUpperCase();
  });
  expect([upper('a'), upper('b'), upper('a')]).toEqual(['A', 'B', 'A']);
  expect(computed).toEqual(['a', 'b']);
});

test('a long text is not kept', () => {
  let computed = 0;
  const length = memoized((text: string) => {
    computed += 1;
    return String(text.length);
  });
  const long = 'x'.repeat(1000);
  expect([length(long), length(long)]).toEqual(['1000', '1000']);
  expect(computed).toBe(2);
});

test('what is thrown is thrown again each time', () => {
  const throws = memoized((text: string): string => {
    throw new Error(text);
  });
  expect(() => throws('a')).toThrow('a');
  expect(() => throws('a')).toThrow('a');
});
