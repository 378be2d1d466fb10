import { resolve } from 'node:path';
import express from 'express';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { requireOwnMetricsPort } from '../../src/config/settings.js';
import { UsageError } from '../../src/model/errors.js';
import { IGNORED_HEADERS } from '../../src/model/ignored-headers.js';
import { redactSecrets } from '../../src/telemetry/redact.js';

test('without any setting, the defaults hold', () => {
  expect(readSettings({})).toEqual({
    host: '127.0.0.1',
    port: 4000,
    basePath: '',
    databaseUrl: undefined,
    databasePrepared: 'auto',
    readReplicas: undefined,
    dataDirectory: resolve('data'),
    logLevel: 'info',
    role: 'all',
    rateLimits: { anonymous: 600, token: 6000 },
    gate: { places: 64, searchPlaces: 16 },
    redisUrl: undefined,
    auth: { provider: undefined, required: 'scopes' },
    anonymousScopes: new Set(['search:read', 'watch:read']),
    samples: true,
    changesKept: 365 * 86_400_000,
    domainsKept: undefined,
    trustProxy: 0,
    shutdownTimeout: 10_000,
    telemetry: { metricsPort: undefined, metricsHost: '127.0.0.1', traces: false },
    secrets: [],
    notify: { allowPrivate: false, smtp: undefined },
    observe: {
      dnsServers: [],
      dnsTypes: ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'],
      dnsTimeout: 2000,
      dnsTries: 3,
      httpsPort: 443,
      httpPort: 80,
      httpTimeout: 10_000,
      httpsGrace: 86_400_000_000n,
      userAgent: expect.stringContaining('domain-metadata-service'),
      source: 'dms',
      ignoredHeaders: new Set(IGNORED_HEADERS.keys()),
      allowPrivate: false,
      concurrency: 200,
      questionsPerResolver: 100,
      connectionsPerAddress: 4,
      lease: 120_000,
    },
    limits: { recordsPerType: 1000, records: 10_000, headers: 500, headerValue: 32_768, line: 4_194_304 },
    http: { maxAge: 0, corsOrigins: [], cache: { megabytes: 24, seconds: 0 } },
    graphql: { maxFields: 250_000, introspection: true, persistedOnly: undefined },
  });
});

test('each setting is read', () => {
  const settings = readSettings({
    HOST: '::1',
    PORT: '65535',
    BASE_PATH: '/dms/',
    DATABASE_URL: 'postgres://u:p@127.0.0.1:5432/dms',
    DATABASE_PREPARED: 'off',
    DATABASE_READ_URLS: 'postgres://u:p@127.0.0.2:5432/dms, postgres://u:q%2C@127.0.0.3:5432/dms',
    READ_MAX_LAG: '3s',
    DATA_DIR: '/var/lib/dms',
    LOG_LEVEL: 'debug',
    ROLE: 'api',
    RATE_LIMIT_ANONYMOUS: '1',
    RATE_LIMIT_TOKEN: '1000000',
    REQUESTS_AT_ONCE: '128',
    SEARCHES_AT_ONCE: '32',
    REDIS_URL: 'rediss://u:p@redis.example:6380/1',
    AUTH_JWKS_URL: 'https://id.example.com/jwks.json',
    AUTH_ISSUER: 'https://id.example.com/',
    AUTH_AUDIENCE: 'dms',
    AUTH_REQUIRED: 'all',
    ANONYMOUS_SCOPES: 'dns:read, headers:read',
    SAMPLES: 'off',
    CHANGES_KEPT: '30d',
    DOMAINS_KEPT: '730d',
    TRUST_PROXY: '1',
    DNS_SERVERS: '192.0.2.53, 192.0.2.54:5353 [2001:db8::53]:54,2001:db8::54',
    OBSERVE_DNS_TYPES: 'srv, HTTPS, type65534, A',
    OBSERVE_DNS_TIMEOUT: '500ms',
    OBSERVE_DNS_TRIES: '1',
    OBSERVE_HTTPS_PORT: '8443',
    OBSERVE_HTTP_PORT: '8080',
    OBSERVE_HTTP_TIMEOUT: '30s',
    OBSERVE_HTTPS_GRACE: '12h',
    OBSERVE_USER_AGENT: 'probe/1.0 (+https://example.com/probe)',
    OBSERVE_SOURCE: 'probe 1',
    OBSERVE_IGNORED_HEADERS: 'Date, x-Request-ID',
    OBSERVE_PRIVATE: 'allow',
    NOTIFY_PRIVATE: 'allow',
    SMTP_URL: 'smtps://u:p@[::1]?from=dms@mail.example',
    OBSERVE_CONCURRENCY: '1000',
    OBSERVE_QUESTIONS_PER_RESOLVER: '100',
    OBSERVE_CONNECTIONS_PER_ADDRESS: '1',
    OBSERVE_LEASE: '30s',
    LIMIT_RECORDS_PER_TYPE: '1',
    LIMIT_RECORDS: '1000000',
    LIMIT_HEADERS: '2',
    LIMIT_HEADER_VALUE: '1024',
    LIMIT_LINE: '64 kb',
    HTTP_MAX_AGE: '300',
    CORS_ORIGINS: 'https://app.example',
    CACHE_MB: '0',
    CACHE_SECONDS: '5',
    GRAPHQL_MAX_COST: '5000',
    GRAPHQL_INTROSPECTION: 'off',
    PERSISTED_ONLY: 'operations.json',
    SHUTDOWN_TIMEOUT: '500ms',
    METRICS_PORT: '9464',
    METRICS_HOST: '0.0.0.0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
  });
  expect(settings).toEqual({
    host: '::1',
    port: 65535,
    basePath: '/dms',
    databaseUrl: 'postgres://u:p@127.0.0.1:5432/dms',
    databasePrepared: 'off',
    readReplicas: {
      databaseUrl: 'postgres://u:p@127.0.0.1:5432/dms',
      urls: ['postgres://u:p@127.0.0.2:5432/dms', 'postgres://u:q%2C@127.0.0.3:5432/dms'],
      mostBehind: 3_000,
    },
    dataDirectory: '/var/lib/dms',
    logLevel: 'debug',
    role: 'api',
    rateLimits: { anonymous: 1, token: 1_000_000 },
    gate: { places: 128, searchPlaces: 32 },
    redisUrl: 'rediss://u:p@redis.example:6380/1',
    auth: {
      provider: {
        jwksUrl: new URL('https://id.example.com/jwks.json'),
        issuer: 'https://id.example.com/',
        audience: 'dms',
      },
      required: 'all',
    },
    anonymousScopes: new Set(['dns:read', 'headers:read']),
    samples: false,
    changesKept: 30 * 86_400_000,
    domainsKept: 730 * 86_400_000,
    trustProxy: 1,
    shutdownTimeout: 500,
    telemetry: { metricsPort: 9464, metricsHost: '0.0.0.0', traces: true },
    secrets: ['p', 'q%2C', 'q,'],
    notify: {
      allowPrivate: true,
      smtp: {
        ...{ host: '::1', port: 465, secure: true, requireTLS: false },
        ...{ auth: { user: 'u', pass: 'p' }, from: 'dms@mail.example' },
      },
    },
    observe: {
      dnsServers: [
        { address: '192.0.2.53', port: 53 },
        { address: '192.0.2.54', port: 5353 },
        { address: '2001:db8::53', port: 54 },
        { address: '2001:db8::54', port: 53 },
      ],
      dnsTypes: ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA', 'SRV', 'HTTPS', 'TYPE65534'],
      dnsTimeout: 500,
      dnsTries: 1,
      httpsPort: 8443,
      httpPort: 8080,
      httpTimeout: 30_000,
      httpsGrace: 43_200_000_000n,
      userAgent: 'probe/1.0 (+https://example.com/probe)',
      source: 'probe 1',
      ignoredHeaders: new Set(['date', 'x-request-id']),
      allowPrivate: true,
      concurrency: 1000,
      questionsPerResolver: 100,
      connectionsPerAddress: 1,
      lease: 30_000,
    },
    limits: { recordsPerType: 1, records: 1_000_000, headers: 2, headerValue: 1024, line: 65_536 },
    http: { maxAge: 300, corsOrigins: ['https://app.example'], cache: { megabytes: 0, seconds: 5 } },
    graphql: { maxFields: 5000, introspection: false, persistedOnly: resolve('operations.json') },
  });
  expect(readSettings({ OBSERVE_IGNORED_HEADERS: 'none' }).observe.ignoredHeaders).toEqual(new Set());
  const { ignoredHeaders } = readSettings({ OBSERVE_IGNORED_HEADERS: '+ETag, -x-served-by' }).observe;
  const changed = [...IGNORED_HEADERS.keys()].filter((name) => name !== 'x-served-by');
  expect(ignoredHeaders).toEqual(new Set([...changed, 'etag']));
  for (const none of ['off', '0s'])
    expect(readSettings({ OBSERVE_HTTPS_GRACE: none }).observe.httpsGrace).toBe(0n);
});

test('what is kept may be kept for good', () => {
  const { changesKept, domainsKept } = readSettings({ CHANGES_KEPT: 'off', DOMAINS_KEPT: 'off' });
  expect([changesKept, domainsKept]).toEqual([undefined, undefined]);
});

test('an empty value counts as unset, but for ANONYMOUS_SCOPES, where it is no scope', () => {
  const names = ['HOST', 'PORT', 'BASE_PATH', 'DATABASE_URL', 'DATA_DIR', 'LOG_LEVEL', 'ROLE'];
  const more = ['RATE_LIMIT_ANONYMOUS', 'RATE_LIMIT_TOKEN', 'SAMPLES', 'TRUST_PROXY', 'DNS_SERVERS'];
  const graphql = [
    'LIMIT_LINE',
    'LIMIT_HEADERS',
    'GRAPHQL_MAX_COST',
    'GRAPHQL_INTROSPECTION',
    'PERSISTED_ONLY',
  ];
  const observe = ['DNS_TYPES', 'DNS_TIMEOUT', 'HTTP_PORT', 'IGNORED_HEADERS', 'PRIVATE', 'CONCURRENCY'];
  const observing = observe.map((name) => `OBSERVE_${name}`);
  const empty = Object.fromEntries([...names, ...more, ...graphql, ...observing].map((name) => [name, '']));
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
  ['linklocal uniquelocal', ['linklocal', 'uniquelocal']],
  ['10.0.0.0/8, 2001:db8::/32 192.0.2.1', ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']],
])('TRUST_PROXY %s is understood', (value, trustProxy) => {
  expect(readSettings({ TRUST_PROXY: value }).trustProxy).toEqual(trustProxy);
});

test('whatever TRUST_PROXY says is rejected by name, or understood by Express', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('::ffff:192.0.2.1', 'loopback', '1', ''));
  const length = fc.oneof(fc.integer({ min: 0, max: 129 }).map(String), fc.constantFrom('00', '08', 'x', ''));
  const part = fc.oneof(
    address,
    fc.tuple(address, length).map((parts) => parts.join('/')),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), (parts) => {
      const environment = { TRUST_PROXY: parts.join(',') };
      try {
        express().set('trust proxy', readSettings(environment).trustProxy);
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
        expect(String(error)).toContain('TRUST_PROXY is ');
      }
    }),
  );
});

test.each([
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' }, true],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
  [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, false],
  [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, false],
  [{ OTEL_SERVICE_NAME: 'dms' }, false],
])('with %j it is %s that traces are sent', (environment, traces) => {
  expect(readSettings(environment).telemetry.traces).toBe(traces);
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
    ['GRAPHQL_MAX_COST', '0', 'write a whole number from 1 to'],
    ['GRAPHQL_INTROSPECTION', 'yes', 'write on or off'],
    ['RATE_LIMIT_ANONYMOUS', '0', 'write a whole number from 1 to'],
    ['RATE_LIMIT_TOKEN', '1.5', 'write a whole number from 1 to'],
    ['AUTH_REQUIRED', 'yes', 'write scopes or all'],
    ['ANONYMOUS_SCOPES', 'dns', 'dns is not a scope; write some of dns:read, headers:read'],
    ['SAMPLES', 'no', 'write on or off'],
    ['CHANGES_KEPT', '1m', 'write a time from 1h to 3650d'],
    ['DOMAINS_KEPT', '1h', 'write a time from 1d to 36500d, such as 730d, or off'],
    ['TRUST_PROXY', 'true', 'write the number of proxies'],
    ['TRUST_PROXY', '10.0.0.0/33', 'write the number of proxies'],
    ['TRUST_PROXY', '0.0.0.0/0', 'write the number of proxies'],
    ['TRUST_PROXY', '10.0.0.1, ::/0', 'write the number of proxies'],
    ['TRUST_PROXY', '10.0.0.0/255.0.0.0', 'write the number of proxies'],
    ['TRUST_PROXY', 'localhost', 'write the number of proxies before this server, such as 1, or their addr'],
    ['TRUST_PROXY', 'proxy.example', 'write the number of proxies'],
    [
      'DNS_SERVERS',
      'dns.example',
      'dns.example is not the address of a resolver; write addresses between commas',
    ],
    ['DNS_SERVERS', '192.0.2.53:0', '192.0.2.53:0 is not the address of a resolver'],
    ['DNS_SERVERS', '[192.0.2.53]:53', '[192.0.2.53]:53 is not the address of a resolver'],
    ['OBSERVE_DNS_TYPES', 'SRV,WIBBLE', 'WIBBLE is not a DNS type that can be queried; write mnemonics'],
    ['OBSERVE_DNS_TYPES', 'ANY', 'ANY is not a DNS type that can be queried'],
    ['OBSERVE_DNS_TIMEOUT', '2', 'write a time up to 1m, such as 500ms or 10s'],
    ['OBSERVE_DNS_TIMEOUT', '0s', 'write a time up to 1m'],
    ['OBSERVE_DNS_TRIES', '0', 'write a whole number from 1 to 10'],
    ['OBSERVE_HTTP_PORT', '0', 'write a whole number from 1 to 65535'],
    ['OBSERVE_HTTP_TIMEOUT', '61s', 'write a time up to 1m'],
    ['OBSERVE_HTTPS_GRACE', 'on', 'write a time up to 365d, such as 12h or 1d, or off'],
    ['OBSERVE_HTTPS_GRACE', '366d', 'write a time up to 365d'],
    ['OBSERVE_USER_AGENT', 'agent\u00e9', 'write up to 256 printable characters of ASCII'],
    ['OBSERVE_SOURCE', 'x'.repeat(65), 'write 1 to 64 printable characters'],
    [
      'OBSERVE_IGNORED_HEADERS',
      '+etag, via',
      'write + or - before each name, to change the list, or before none',
    ],
    ['OBSERVE_IGNORED_HEADERS', 'date, a:b', 'a:b is not a header name; write names between commas, or none'],
    ['OBSERVE_PRIVATE', 'yes', 'write deny or allow'],
    ['OBSERVE_CONCURRENCY', '0', 'write a whole number from 1 to'],
    ['OBSERVE_QUESTIONS_PER_RESOLVER', 'many', 'write a whole number from 1 to'],
    ['OBSERVE_LEASE', '4s', 'write a time from 5s to 1h, such as 2m'],
    ['OBSERVE_CONNECTIONS_PER_ADDRESS', '0', 'write a whole number from 1 to'],
    ['LIMIT_RECORDS_PER_TYPE', '0', 'write a whole number from 1 to 1000000'],
    ['LIMIT_RECORDS', '1k', 'write a whole number from 1 to 1000000'],
    ['LIMIT_HEADERS', '10001', 'write a whole number from 1 to 10000'],
    ['LIMIT_HEADER_VALUE', '1023', 'write a size from 1024 to 16777216 bytes, such as 65536, 64kB or 4MB'],
    ['LIMIT_LINE', '4 MiB', 'write a size from 1024 to 268435456 bytes'],
    ['SHUTDOWN_TIMEOUT', '11m', 'write a time up to 10m, such as 10s'],
    ['METRICS_PORT', '65536', 'write a whole number from 0 to 65535'],
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'write otlp or none'],
  ])('%s=%s', (name, value, advice) => {
    const read = () => readSettings({ [name]: value });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(`${name} is "${value}": ${advice}`);
    expect(read).toThrow(/^[^\n]+\.$/);
    expectShownWhole(read);
  });

  test('OTEL_EXPORTER_OTLP_PROTOCOL, where traces are sent', () => {
    const protocol = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    expect(() => readSettings({ ...protocol, OTEL_TRACES_EXPORTER: 'otlp' })).toThrow(
      'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": write http/protobuf, or leave it unset.',
    );
    expect(readSettings(protocol).telemetry.traces).toBe(false);
  });

  test('OTEL_EXPORTER_OTLP_ENDPOINT, but never its value, which may hold a password', () => {
    const read = () => readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'u:hunter2@collector' });
    expect(read).toThrow(/^OTEL_EXPORTER_OTLP_ENDPOINT is not a valid URL .* such as http:/);
    expect(read).not.toThrow(/hunter2/);
    expectShownWhole(read);
  });

  test.each(['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'])(
    '%s, where traces are sent, but never its value',
    (name) => {
      const read = (value: string) => () => readSettings({ [name]: value, OTEL_TRACES_EXPORTER: 'otlp' });
      expect(read('hunter2')).toThrow(
        /^OTEL_EXPORTER_OTLP_HEADERS is not a list .* write name=value, with commas/,
      );
      expect(read('a=b,hunter2')).not.toThrow(/hunter2/);
      expect(read('authorization=Bearer%20x, x-key = a=b,')).not.toThrow();
    },
  );

  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['::1', '::'],
  ])('PORT and METRICS_PORT that are the same, on %s and %s', (host, metricsHost) => {
    const environment = { HOST: host, PORT: '5228', METRICS_HOST: metricsHost, METRICS_PORT: '5228' };
    const check = () => requireOwnMetricsPort(readSettings(environment));
    expect(check).toThrow(UsageError);
    expect(check).toThrow('PORT and METRICS_PORT are both 5228: set one of them to another port.');
  });

  test('but not where they are free ports, on different addresses, or where metrics have none', () => {
    const one = { PORT: '5228', METRICS_PORT: '5228' };
    for (const other of [
      { METRICS_PORT: '' },
      { METRICS_HOST: '127.0.0.2' },
      { PORT: '0', METRICS_PORT: '0' },
    ]) {
      requireOwnMetricsPort(readSettings({ ...one, ...other }));
    }
  });

  test.each(['mysql://u:hunter2@host/db', 'hunter2', 'host=a password=hunter2'])(
    'DATABASE_URL, but never its value, which may hold a password',
    (value) => {
      const read = () => readSettings({ DATABASE_URL: value });
      expect(read).toThrow(UsageError);
      expect(read).toThrow(
        /^DATABASE_URL is not a valid PostgreSQL URL .* write postgresql:\/\/user:password@host/,
      );
      expect(read).not.toThrow(/hunter2/);
      expectShownWhole(read);
    },
  );
});

test.each([
  'postgresql://u:hunter2@a.example,b.example/db?target_session_attrs=read-write',
  'postgresql://u:hunter2@a.example:5432,b.example:5433/db',
  'postgresql://u:hunter2@/db?host=a.example,b.example',
])(
  'DATABASE_URL with several hosts is refused with what to write in its place, and not shown: %s',
  (value) => {
    const read = () => readSettings({ DATABASE_URL: value });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(
      /^DATABASE_URL is not the URL of one PostgreSQL server .* write one host that leads to the primary/,
    );
    expect(read).not.toThrow(/hunter2/);
  },
);

test('A comma in the password of DATABASE_URL is none between hosts', () => {
  const url = 'postgresql://u:a,b@127.0.0.1/db';
  expect(readSettings({ DATABASE_URL: url })).toMatchObject({ databaseUrl: url });
});

/** What is left out of errors as a secret must be none of the advice. */
function expectShownWhole(read: () => unknown): void {
  let message = '';
  try {
    read();
  } catch (error) {
    message = error instanceof Error ? error.message : '';
  }
  expect(message).not.toBe('');
  expect(redactSecrets(message)).toBe(message);
}
