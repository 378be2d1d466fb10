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
  ['Server', 'server'],
  ['__proto__', '__proto__'],
  ["!#$%&'*+-.^_`|~09AZ", "!#$%&'*+-.^_`|~09az"],
  ['X'.repeat(1024), 'x'.repeat(1024)],
  ['X-ZÜRICH', 'x-zÜrich'],
  ['X-\u212a', 'x-\u212a'],
])('the field name %s is %s', (name, canonical) => {
  expect(canonicalFieldName(name)).toBe(canonical);
});

test.each(['', ' ', 'a b', 'é b', 'a:', 'a\n', '\ud800', 'a"', 'a(b)', 'a/b', '\0', 'x'.repeat(1025)])(
  '%j is no field name',
  (name) => {
    expect(() => canonicalFieldName(name)).toThrow(InvalidObservationError);
  },
);

test.each([
  [' \t\r\n nginx \t\r\n', 'nginx'],
  ['a  b', 'a  b'],
  [' \t', ''],
  ['\u00a0é\u00a0', '\u00a0é\u00a0'],
  ['x'.repeat(100_000), 'x'.repeat(100_000)],
])('the field value %j is trimmed of HTTP white space and of nothing else', (value, canonical) => {
  expect(canonicalFieldValue(value)).toBe(canonical);
});

test.each(['a\0b', '\0', '\ud800', 'a\udc00b'])(
  'the field value %j, which the database cannot hold, is rejected',
  (value) => {
    expect(() => canonicalFieldValue(value)).toThrow(InvalidObservationError);
  },
);

test('a canonical field value stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r', 'a', 'é', '\u2003') }), (value) => {
      const canonical = canonicalFieldValue(value);
      expect(canonicalFieldValue(canonical)).toBe(canonical);
      expect(value).toContain(canonical);
    }),
  );
});

test.each(['a\rb', 'a\nb', 'a\r\n b', 'a,\r\n\r\nb', 'a\r\n', '\na', '\n'])(
  'the field value %j has CR or LF and is rejected (RFC 9110, 5.5)',
  (value) => {
    expect(() => combined(['server', value])).toThrow(
      /^".* contains CR or LF \(RFC 9110, 5\.5\): remove it, or write several values as a list\.$/,
    );
  },
);

test('fields of one name, in whatever case, are joined in the order in which they came, set-cookie too', () => {
  const via = [
    ['Via', ' 1.1 a'],
    ['VIA', '1.1 b '],
    ['via', ''],
    ['via', 'c'],
  ] as const;
  const cookies = [
    ['Set-Cookie', 'a=1; Path=/'],
    ['Set-Cookie', 'b=2'],
  ] as const;
  expect(combined(...via, ['server', 'nginx'], ...cookies)).toEqual([
    ['via', '1.1 a, 1.1 b, , c'],
    ['server', 'nginx'],
    ['set-cookie', 'a=1; Path=/, b=2'],
  ]);
  // Empty values at the ends leave a value that is trimmed.
  expect(combined(['a', ''], ['a', 'b'], ['a', ''])).toEqual([['a', ', b,']]);
});

test.each(
  `date age expires server-timing report-to traceparent x-b3-traceid x-request-id cf-ray x-amz-cf-id x-amzn-trace-id
  x-served-by x-timer x-varnish akamai-grn x-azure-ref x-cloud-trace-context x-vercel-id x-nf-request-id
  fly-request-id x-github-request-id x-runtime x-envoy-upstream-service-time`.split(/\s+/),
)('%s, which differs at every request, is ignored by default', (name) => {
  expect(IGNORED_HEADERS.has(name)).toBe(true);
});

test.each(
  `server location content-type content-length cache-control etag last-modified strict-transport-security
  content-security-policy via alt-svc nel vary link x-powered-by x-frame-options x-ratelimit-limit connection
  transfer-encoding`.split(/\s+/),
)('%s, in which a change of configuration shows, is not ignored by default', (name) => {
  expect(IGNORED_HEADERS.has(name)).toBe(false);
});

test('the names that are ignored by default are canonical', () => {
  expect([...IGNORED_HEADERS].map(canonicalFieldName)).toEqual([...IGNORED_HEADERS]);
});

test.each(
  `set-cookie set-cookie2 cookie authorization proxy-authorization x-auth-token token x-amz-security-token x-csrf-token
  x-client-secret connection`.split(/\s+/),
)('%s is never recorded by an observer, whatever is to be ignored', (name) => {
  for (const list of [[], ['date'], IGNORED_HEADERS]) expect(alwaysIgnoring(list).has(name)).toBe(true);
});

test.each(['server', 'www-authenticate', 'x-cookie-policy', 'token-binding', 'x-secret-sauce', 'etag'])(
  '%s is recorded, since its kind is not secret',
  (name) => {
    expect(alwaysIgnoring([]).has(name)).toBe(false);
  },
);
