import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidObservationError } from '../../src/model/errors.js';
import {
  addHeaderField,
  canonicalFieldName,
  canonicalFieldValue,
  joinHeaderFields,
} from '../../src/model/header-fields.js';

function combined(...fields: readonly (readonly [string, string])[]): [string, string][] {
  const headers = new Map<string, string[]>();
  for (const [name, value] of fields) addHeaderField(headers, name, value);
  return [...joinHeaderFields(headers)];
}

describe('the name of a header field', () => {
  test.each([
    ['Server', 'server'],
    ['x-powered-by', 'x-powered-by'],
    ['__proto__', '__proto__'],
    ["!#$%&'*+-.^_`|~09AZ", "!#$%&'*+-.^_`|~09az"],
    ['X'.repeat(1024), 'x'.repeat(1024)],
    ['X-ZÜRICH', 'x-zÜrich'],
    ['X-\u212a', 'x-\u212a'],
  ])('%s is %s', (name, canonical) => {
    expect(canonicalFieldName(name)).toBe(canonical);
  });

  test.each(['', ' ', 'a b', 'é b', 'a:', 'a\n', '\ud800', 'a"', 'a(b)', 'a/b', '\0', 'x'.repeat(1025)])(
    '%j is rejected',
    (name) => {
      expect(() => canonicalFieldName(name)).toThrow(InvalidObservationError);
    },
  );
});

describe('the value of a header field', () => {
  test.each([
    ['nginx', 'nginx'],
    [' \t\r\n nginx \t\r\n', 'nginx'],
    ['a  b', 'a  b'],
    ['', ''],
    [' \t', ''],
    ['\u00a0é\u00a0', '\u00a0é\u00a0'],
    ['x'.repeat(100_000), 'x'.repeat(100_000)],
  ])('%j is trimmed of HTTP white space and of nothing else', (value, canonical) => {
    expect(canonicalFieldValue(value)).toBe(canonical);
  });

  test.each(['a\0b', '\0', '\ud800', 'a\udc00b'])(
    '%j, which the database cannot hold, is rejected',
    (value) => {
      expect(() => canonicalFieldValue(value)).toThrow(InvalidObservationError);
    },
  );

  test('stays as it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r', 'a', 'é', '\u2003') }),
        (value) => {
          const canonical = canonicalFieldValue(value);
          expect(canonicalFieldValue(canonical)).toBe(canonical);
          expect(value).toContain(canonical);
        },
      ),
    );
  });
});

test.each(['a\rb', 'a\nb', 'a\r\n b', 'a,\r\n\r\nb', 'a\r\n', '\na', '\n'])(
  'the value %j has CR or LF and is rejected (RFC 9110, 5.5)',
  (value) => {
    expect(() => combined(['server', value])).toThrow(
      /^".* contains CR or LF \(RFC 9110, 5\.5\): remove it, or write several values as a list\.$/,
    );
  },
);

test('fields of one name, in whatever case, are joined in the order in which they came', () => {
  expect(
    combined(['Via', ' 1.1 a'], ['server', 'nginx'], ['VIA', '1.1 b '], ['via', ''], ['via', 'c']),
  ).toEqual([
    ['via', '1.1 a, 1.1 b, , c'],
    ['server', 'nginx'],
  ]);
});

test('set-cookie is joined too', () => {
  expect(combined(['Set-Cookie', 'a=1; Path=/'], ['Set-Cookie', 'b=2'])).toEqual([
    ['set-cookie', 'a=1; Path=/, b=2'],
  ]);
});

test('empty values at the ends leave a value that is trimmed', () => {
  expect(combined(['a', ''], ['a', 'b'], ['a', ''])).toEqual([['a', ', b,']]);
});
