import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { UsageError } from '../../src/model/errors.js';
import { redactSecrets } from '../../src/telemetry/redact.js';

const PROVIDER = {
  AUTH_JWKS_URL: 'https://id.example.com/jwks.json',
  AUTH_ISSUER: 'https://id.example.com/',
  AUTH_AUDIENCE: 'dms',
};

function complaintOf(environment: Readonly<Record<string, string>>): string {
  try {
    readSettings(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return String(error);
  }
  throw new Error('There was nothing to complain of.');
}

describe('an identity provider', () => {
  test.each([
    'http://127.0.0.1:8080/jwks',
    'http://localhost/jwks',
    'http://[::1]:8080/jwks',
    'https://id.example.com/jwks?tenant=1',
  ])('has its keys at %s', (url) => {
    expect(readSettings({ ...PROVIDER, AUTH_JWKS_URL: url }).auth.provider?.jwksUrl.href).toBe(url);
  });

  test.each([
    'http://id.example.com/jwks',
    'http://localhost.example.com/jwks',
    'http://10.0.0.1/jwks',
    'https://user:s3cret@id.example.com/jwks',
    'file:///etc/jwks.json',
    'id.example.com',
  ])('cannot have them at %s', (url) => {
    const complaint = complaintOf({ ...PROVIDER, AUTH_JWKS_URL: url });
    expect(complaint).toMatch(/AUTH_JWKS_URL is ".*": write an https address without user and password/);
    expect(complaint).not.toContain('s3cret');
  });

  test.each([
    [['AUTH_JWKS_URL'], 'AUTH_ISSUER and AUTH_AUDIENCE are not set'],
    [['AUTH_ISSUER', 'AUTH_AUDIENCE'], 'AUTH_JWKS_URL is not set'],
    [['AUTH_JWKS_URL', 'AUTH_ISSUER'], 'AUTH_AUDIENCE is not set'],
  ] as const)('is not one by %j alone', (names, missing) => {
    const some = Object.fromEntries(names.map((name) => [name, PROVIDER[name]]));
    expect(complaintOf(some)).toContain(
      `${missing}: AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong together`,
    );
  });

  test('has a name without blanks', () => {
    expect(complaintOf({ ...PROVIDER, AUTH_ISSUER: 'a b' })).toContain('AUTH_ISSUER is "a b"');
  });

  test('is none where nothing is said of it', () => {
    expect(readSettings({ AUTH_JWKS_URL: '', AUTH_ISSUER: ' ' }).auth.provider).toBeUndefined();
  });
});

describe('a Redis', () => {
  test.each(['redis://127.0.0.1', 'redis://:p%40ss@[::1]:6379/0', 'rediss://u:p@redis.example:6380'])(
    'is at %s',
    (url) => {
      expect(readSettings({ REDIS_URL: url }).redisUrl).toBe(url);
    },
  );

  test.each([
    ...['redis.example:6379', 'http://:s3cret@redis.example', 'redis://', 'redis://:s3cret@h/name'],
    ...['redis://:s3cret%zz@h', 'redis://s3cret%ff:p@h'],
  ])('is not at %s, and the complaint does not show it, but how to write it', (url) => {
    const complaint = complaintOf({ REDIS_URL: url });
    expect(complaint).toContain('REDIS_URL is not a valid Redis URL');
    expect(complaint).not.toContain('s3cret');
    expect(redactSecrets(complaint)).toContain('write redis://user:password@host:6379, ');
  });
});

describe('a mail server', () => {
  test.each([
    [
      'smtp://mail.example?from=dms@a.example',
      ['mail.example', 587, false, undefined, false, 'dms@a.example'],
    ],
    [
      'smtps://dms%40a.example:p@mail.example',
      ['mail.example', 465, true, 'dms@a.example', false, 'dms@a.example'],
    ],
    ['smtp://u:p@[::1]:25?from=x@a.example', ['::1', 25, false, 'u', false, 'x@a.example']],
    ['smtp://u:p@mail.example?from=x@a.example', ['mail.example', 587, false, 'u', true, 'x@a.example']],
  ])('is at %s', (url, expected) => {
    const { host, port, secure, auth, requireTLS, from } = readSettings({ SMTP_URL: url }).notify.smtp ?? {};
    expect([host, port, secure, auth?.user, requireTLS, from]).toEqual(expected);
  });

  test.each([
    'mail.example',
    'smtp://u:s3cret@mail.example',
    'https://u:s3cret@h?from=a@b',
    'smtp://u:s3cret%zz@h',
  ])('is not at %s, and the complaint does not show it, but how to write it', (url) => {
    const complaint = complaintOf({ SMTP_URL: url });
    expect(complaint).toContain('SMTP_URL is not the URL of a mail server');
    expect(complaint).not.toContain('s3cret');
  });
});

const corsOrigins = (value: string) => readSettings({ CORS_ORIGINS: value }).http.corsOrigins;

describe('CORS_ORIGINS', () => {
  test('names no origin, all, or a list', () => {
    expect(readSettings({}).http).toEqual({
      maxAge: 0,
      corsOrigins: [],
      cache: { megabytes: 24, seconds: 0 },
    });
    expect(corsOrigins('*')).toBe('*');
    expect(corsOrigins('https://app.example, http://localhost:3000')).toEqual([
      'https://app.example',
      'http://localhost:3000',
    ]);
  });

  test.each([
    ['https://app.example/', 'write https://app.example instead of https://app.example/'],
    ['HTTPS://APP.example', 'write https://app.example instead of HTTPS://APP.example'],
    ['https://bücher.example', 'write https://xn--bcher-kva.example instead of https://bücher.example'],
    ['app.example', 'app.example is not an origin; write origins between commas'],
    ['null', 'null is not an origin'],
    ['*,https://app.example', '* is not a single origin; list each one, or write * alone for all'],
    ['https://*.app.example', 'https://*.app.example is not a single origin; list each one'],
    ['file:///x', 'file:///x is not an origin'],
  ])('%s stops the start with the advice: %s', (value, advice) => {
    expect(() => corsOrigins(value)).toThrow(UsageError);
    expect(() => corsOrigins(value)).toThrow(`CORS_ORIGINS is ${JSON.stringify(value)}: ${advice}`);
  });
});

describe('DATABASE_READ_URLS', () => {
  const primary = { DATABASE_URL: 'postgresql://u:p@10.0.0.1/dms' };

  test('stops the start where one of the URLs is not valid, without showing it', () => {
    const complaint = complaintOf({
      ...primary,
      DATABASE_READ_URLS: 'postgresql://a/b, mysql://u:hunter2@c/d',
    });
    expect(complaint).toContain('DATABASE_READ_URLS is not a list of valid PostgreSQL URLs');
    expect(complaint).not.toContain('hunter2');
  });

  test('stops the start without DATABASE_URL: there is no primary', () => {
    expect(complaintOf({ DATABASE_READ_URLS: 'postgresql://a/b' })).toContain('DATABASE_URL is not');
  });
});

test.each(['-1', 'x', '1.5', '31536001'])('HTTP_MAX_AGE=%s stops the start', (value) => {
  expect(() => readSettings({ HTTP_MAX_AGE: value })).toThrow(
    `HTTP_MAX_AGE is "${value}": write a whole number from 0 to 31536000.`,
  );
});
