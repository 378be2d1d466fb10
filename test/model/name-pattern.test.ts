import { expect, test } from 'vitest';
import { parseNamePattern } from '../../src/model/name-pattern.js';

test.each([
  ['*.Example.com', ['', '.example.com']],
  ['\\*.Example.com', ['*.example.com']],
  ['\\042.example.com.', ['*.example.com']],
  ['\\*.*.example.com', ['*.', '.example.com']],
  ['a\\*b.example.com', ['a*b.example.com']],
  ['a\\\\.example.com', ['a\\\\.example.com']],
])('in the pattern of names %s only a "*" that is not escaped stands for any characters', (text, parts) => {
  expect(parseNamePattern('host', text)).toEqual({ parts });
});

test('in a pattern of names a label with "*" has no escapes besides', () => {
  for (const text of ['\\\\*.example.com', 'a\\*b*.example.com'])
    expect(() => parseNamePattern('host', text), text).toThrow('a label with "*" may have letters');
});
