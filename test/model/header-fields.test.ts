import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidObservationError } from '../../src/model/errors.js';
import {
  addHeaderField,
  canonicalFieldName,
  canonicalFieldValue,
  joinHeaderFields,
} from '../../src/model/header-fields.js';
import { alwaysIgnoring, IGNORED_HEADERS } from '../../src/model/ignored-headers.js';

function combined(...fields: readonly (readonly [string, string])[]): [string, string][] {
  const headers = new Map<string, string[]>();
  for (const [name, value] of fields) addHeaderField(headers, name, value);
  return [...joinHeaderFields(headers)];
}

test.each([
  ['__proto__', '__proto__'],
  ["!#$%&'*+-.^_`|~09AZ", "!#$%&'*+-.^_`|~09az"],
  ['X'.repeat(1024), 'x'.repeat(1024)],
  ['X-ZÜRICH', 'x-zÜrich'],
  ['X-\u212a', 'x-\u212a'],
])('the field name %s is %s', (name, canonical) => {
  expect(canonicalFieldName(name)).toBe(canonical);
});

test('no field name has white space, a separator or an end of a line, is empty, or is longer than 1024 characters', () => {
  for (const name of ['', ' ', 'é b', 'a:', 'a\n', '\ud800', 'a"', 'a(b)', 'a/b', '\0', 'x'.repeat(1025)])
    expect(() => canonicalFieldName(name), name).toThrow(InvalidObservationError);
});

test.each([
  [' \t\r\n a  b \t\r\n', 'a  b'],
  [' \t', ''],
  ['\u00a0é\u00a0', '\u00a0é\u00a0'],
  ['x'.repeat(100_000), 'x'.repeat(100_000)],
])('the field value %j is trimmed of HTTP white space and of nothing else', (value, canonical) => {
  expect(canonicalFieldValue(value)).toBe(canonical);
});

test('a field value that the database cannot hold is rejected', () => {
  for (const value of ['a\0b', '\0', '\ud800', 'a\udc00b'])
    expect(() => canonicalFieldValue(value), value).toThrow(InvalidObservationError);
});

test('a canonical field value stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r', 'a', 'é', '\u2003') }), (value) => {
      const canonical = canonicalFieldValue(value);
      expect(canonicalFieldValue(canonical)).toBe(canonical);
      expect(value).toContain(canonical);
    }),
  );
});

test('a field value with CR or LF is rejected (RFC 9110, 5.5)', () => {
  const reason = /^".* contains CR or LF \(RFC 9110, 5\.5\): remove it, or write several values as a list\.$/;
  for (const value of ['a\rb', 'a\nb', 'a\r\n b', 'a,\r\n\r\nb', 'a\r\n', '\na', '\n'])
    expect(() => combined(['server', value]), value).toThrow(reason);
});

test('fields of one name, in whatever case, are joined in the order in which they came, set-cookie too', () => {
  const via = combined(['Via', ' 1.1 a'], ['VIA', '1.1 b '], ['via', ''], ['via', 'c'], ['server', 'nginx']);
  expect([...via, ...combined(['Set-Cookie', 'a=1; Path=/'], ['Set-Cookie', 'b=2'])]).toEqual([
    ['via', '1.1 a, 1.1 b, , c'],
    ['server', 'nginx'],
    ['set-cookie', 'a=1; Path=/, b=2'],
  ]);
  // Empty values at the ends leave a value that is trimmed.
  expect(combined(['a', ''], ['a', 'b'], ['a', ''])).toEqual([['a', ', b,']]);
});

test('what differs at every request is ignored by default, and what shows a change of configuration is not', () => {
  const ignored =
    `date age expires server-timing report-to traceparent x-b3-traceid x-request-id cf-ray x-amz-cf-id
    x-amzn-trace-id x-served-by x-timer x-varnish akamai-grn x-azure-ref x-cloud-trace-context x-vercel-id
    x-nf-request-id fly-request-id x-github-request-id x-runtime x-envoy-upstream-service-time`.split(/\s+/);
  expect(ignored.filter((name) => !IGNORED_HEADERS.has(name))).toEqual([]);
  const kept =
    `server location content-type content-length cache-control etag last-modified strict-transport-security
    content-security-policy via alt-svc nel vary link x-powered-by x-frame-options x-ratelimit-limit connection
    transfer-encoding`.split(/\s+/);
  expect(kept.filter((name) => IGNORED_HEADERS.has(name))).toEqual([]);
});

test('the names that are ignored by default are canonical', () => {
  expect([...IGNORED_HEADERS].map(canonicalFieldName)).toEqual([...IGNORED_HEADERS]);
});

test('an observer never records what is secret by its kind, whatever is to be ignored', () => {
  const secret = `set-cookie set-cookie2 cookie authorization proxy-authorization x-auth-token token
    x-amz-security-token x-csrf-token x-client-secret connection`.split(/\s+/);
  for (const list of [[], ['date'], IGNORED_HEADERS])
    expect(secret.filter((name) => !alwaysIgnoring(list).has(name))).toEqual([]);
  const others = ['server', 'www-authenticate', 'x-cookie-policy', 'token-binding', 'x-secret-sauce', 'etag'];
  expect(others.filter((name) => alwaysIgnoring([]).has(name))).toEqual([]);
});
