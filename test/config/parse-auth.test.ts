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
