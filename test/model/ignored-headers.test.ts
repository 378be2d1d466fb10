import { describe, expect, test } from 'vitest';
import { canonicalFieldName } from '../../src/model/header-fields.js';
import { alwaysIgnoring, IGNORED_HEADERS } from '../../src/model/ignored-headers.js';

describe('the header fields that are ignored by default', () => {
  test.each([
    ...['date', 'age', 'expires', 'server-timing', 'report-to', 'traceparent', 'x-b3-traceid'],
    ...['x-request-id', 'cf-ray', 'x-amz-cf-id', 'x-amzn-trace-id', 'x-served-by', 'x-timer', 'x-varnish'],
    ...['akamai-grn', 'x-azure-ref', 'x-cloud-trace-context', 'x-vercel-id', 'x-nf-request-id'],
    ...['fly-request-id', 'x-github-request-id', 'x-runtime', 'x-envoy-upstream-service-time'],
  ])('are such as differ at every request: %s', (name) => {
    expect(IGNORED_HEADERS.has(name)).toBe(true);
  });

  test.each([
    ...['server', 'location', 'content-type', 'content-length', 'cache-control', 'etag', 'last-modified'],
    ...['strict-transport-security', 'content-security-policy', 'via', 'alt-svc', 'nel', 'vary', 'link'],
    ...['x-powered-by', 'x-frame-options', 'x-ratelimit-limit', 'connection', 'transfer-encoding'],
  ])('are none that a change of configuration shows in: %s', (name) => {
    expect(IGNORED_HEADERS.has(name)).toBe(false);
  });

  test('have canonical names', () => {
    expect([...IGNORED_HEADERS].map(canonicalFieldName)).toEqual([...IGNORED_HEADERS]);
  });
});

describe('whatever list of header fields is to be ignored', () => {
  test.each([
    ...[
      'set-cookie',
      'set-cookie2',
      'cookie',
      'authorization',
      'proxy-authorization',
      'x-auth-token',
      'token',
    ],
    ...['x-amz-security-token', 'x-csrf-token', 'x-client-secret', 'connection'],
  ])('%s is never recorded by an observer', (name) => {
    for (const list of [[], ['date'], IGNORED_HEADERS.keys()])
      expect(alwaysIgnoring(list).has(name)).toBe(true);
  });

  test.each([
    ...['server', 'www-authenticate', 'x-cookie-policy', 'token-binding', 'x-secret-sauce', 'etag'],
  ])('%s is recorded, since its kind is not secret', (name) => {
    expect(alwaysIgnoring([]).has(name)).toBe(false);
  });
});
