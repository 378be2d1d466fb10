import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { UsageError } from '../../src/model/errors.js';

test('without any setting, the defaults hold', () => {
  expect(readSettings({})).toEqual({
    host: '127.0.0.1',
    port: 4000,
    basePath: '',
    databaseUrl: undefined,
    dataDirectory: resolve('data'),
    logLevel: 'info',
    role: 'all',
    rateLimits: { anonymous: 600, token: 6000 },
    anonymousScopes: new Set(['search:read']),
    samples: true,
    trustProxy: 0,
  });
});

test('each setting is read', () => {
  const settings = readSettings({
    HOST: '::1',
    PORT: '65535',
    BASE_PATH: '/dms/',
    DATABASE_URL: 'postgres://u:p@127.0.0.1:5432/dms',
    DATA_DIR: '/var/lib/dms',
    LOG_LEVEL: 'debug',
    ROLE: 'api',
    RATE_LIMIT_ANONYMOUS: '1',
    RATE_LIMIT_TOKEN: '1000000',
    ANONYMOUS_SCOPES: 'dns:read, headers:read',
    SAMPLES: 'off',
    TRUST_PROXY: '1',
  });
  expect(settings).toEqual({
    host: '::1',
    port: 65535,
    basePath: '/dms',
    databaseUrl: 'postgres://u:p@127.0.0.1:5432/dms',
    dataDirectory: '/var/lib/dms',
    logLevel: 'debug',
    role: 'api',
    rateLimits: { anonymous: 1, token: 1_000_000 },
    anonymousScopes: new Set(['dns:read', 'headers:read']),
    samples: false,
    trustProxy: 1,
  });
});

test('an empty value counts as unset, but for ANONYMOUS_SCOPES, where it is no scope', () => {
  const names = ['HOST', 'PORT', 'BASE_PATH', 'DATABASE_URL', 'DATA_DIR', 'LOG_LEVEL', 'ROLE'];
  const more = ['RATE_LIMIT_ANONYMOUS', 'RATE_LIMIT_TOKEN', 'SAMPLES', 'TRUST_PROXY'];
  const empty = Object.fromEntries([...names, ...more].map((name) => [name, '']));
  expect(readSettings(empty)).toEqual(readSettings({}));
  expect(readSettings({ ANONYMOUS_SCOPES: '' }).anonymousScopes).toEqual(new Set());
});

test.each([
  ['/', ''],
  ['dms', '/dms'],
  ['/a/b/', '/a/b'],
  ['a/b', '/a/b'],
])('BASE_PATH %s is %s', (value, basePath) => {
  expect(readSettings({ BASE_PATH: value }).basePath).toBe(basePath);
});

test.each([
  ['2', 2],
  ['loopback', ['loopback']],
  ['10.0.0.0/8, 2001:db8::/32 192.0.2.1', ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']],
])('TRUST_PROXY %s is understood', (value, trustProxy) => {
  expect(readSettings({ TRUST_PROXY: value }).trustProxy).toEqual(trustProxy);
});

describe('a bad setting stops the program with one line that names it, shows it, and says what to write', () => {
  test.each([
    ['PORT', 'http', 'write a whole number from 0 to 65535'],
    ['PORT', '65536', 'write a whole number from 0 to 65535'],
    ['PORT', '-1', 'write a whole number from 0 to 65535'],
    ['PORT', '1e3', 'write a whole number from 0 to 65535'],
    ['BASE_PATH', '/a//b', 'write a path of letters'],
    ['BASE_PATH', '/a/../b', 'write a path of letters'],
    ['BASE_PATH', '/a?b', 'write a path of letters'],
    ['LOG_LEVEL', 'loud', 'write debug or info or warn or error or silent'],
    ['ROLE', 'worker', 'write all or api'],
    ['RATE_LIMIT_ANONYMOUS', '0', 'write a whole number from 1 to'],
    ['RATE_LIMIT_TOKEN', '1.5', 'write a whole number from 1 to'],
    ['ANONYMOUS_SCOPES', 'dns', 'dns is no scope; write some of dns:read, headers:read'],
    ['SAMPLES', 'no', 'write on or off'],
    ['TRUST_PROXY', 'true', 'write the number of proxies'],
    ['TRUST_PROXY', '10.0.0.0/33', 'write the number of proxies'],
    ['TRUST_PROXY', 'proxy.example', 'write the number of proxies'],
  ])('%s=%s', (name, value, advice) => {
    const read = () => readSettings({ [name]: value });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(`${name} is "${value}": ${advice}`);
    expect(read).toThrow(/^[^\n]+\.$/);
  });

  test.each(['mysql://u:hunter2@host/db', 'hunter2', 'host=a password=hunter2'])(
    'DATABASE_URL, but never its value, which may hold a password',
    (value) => {
      const read = () => readSettings({ DATABASE_URL: value });
      expect(read).toThrow(UsageError);
      expect(read).toThrow(/^DATABASE_URL is no address .* write postgresql:\/\/user:password@host/);
      expect(read).not.toThrow(/hunter2/);
    },
  );
});
