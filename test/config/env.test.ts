import { resolve } from 'node:path';
import express from 'express';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { requireOwnMetricsPort } from '../../src/config/settings.js';
import { UsageError } from '../../src/model/errors.js';
import { IGNORED_HEADERS } from '../../src/model/ignored-headers.js';
import { redactSecrets } from '../../src/telemetry/redact.js';
import { settingNames } from '../support/setting-names.js';

const DAY = 86_400_000;
const USUAL_TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];
const USUALLY_IGNORED = [...IGNORED_HEADERS.keys()];

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
    changesKept: 365 * DAY,
    domainsKept: undefined,
    trustProxy: 0,
    shutdownTimeout: 10_000,
    telemetry: { metricsPort: undefined, metricsHost: '127.0.0.1', traces: false },
    secrets: [],
    notify: { allowPrivate: false, smtp: undefined },
    observe: {
      dnsServers: [],
      dnsTypes: USUAL_TYPES,
      dnsTimeout: 2000,
      dnsTries: 3,
      httpsPort: 443,
      httpPort: 80,
      httpTimeout: 10_000,
      httpsGrace: 86_400_000_000n,
      userAgent: expect.stringContaining('domain-metadata-service'),
      source: 'dms',
      ignoredHeaders: new Set(USUALLY_IGNORED),
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

test.each<readonly [assignment: string, path: string, value: unknown]>([
  ['HOST=::1', 'host', '::1'],
  ['PORT=65535', 'port', 65_535],
  ['BASE_PATH=/', 'basePath', ''],
  ['BASE_PATH=dms', 'basePath', '/dms'],
  ['BASE_PATH=/a/b/', 'basePath', '/a/b'],
  ['DATABASE_URL=postgres://u:a,b@127.0.0.1/dms', 'databaseUrl', 'postgres://u:a,b@127.0.0.1/dms'],
  ['DATABASE_PREPARED=off', 'databasePrepared', 'off'],
  ['DATA_DIR=/var/lib/dms', 'dataDirectory', '/var/lib/dms'],
  ['LOG_LEVEL=debug', 'logLevel', 'debug'],
  ['ROLE=api', 'role', 'api'],
  ['RATE_LIMIT_ANONYMOUS=1', 'rateLimits.anonymous', 1],
  ['RATE_LIMIT_TOKEN=1000000', 'rateLimits.token', 1_000_000],
  ['REQUESTS_AT_ONCE=128', 'gate.places', 128],
  ['SEARCHES_AT_ONCE=32', 'gate.searchPlaces', 32],
  ['REDIS_URL=redis://:p%40ss@[::1]:6379/0', 'redisUrl', 'redis://:p%40ss@[::1]:6379/0'],
  ['REDIS_URL=rediss://u:p@redis.example:6380', 'redisUrl', 'rediss://u:p@redis.example:6380'],
  ['AUTH_REQUIRED=all', 'auth.required', 'all'],
  ['ANONYMOUS_SCOPES=dns:read, headers:read', 'anonymousScopes', new Set(['dns:read', 'headers:read'])],
  ['ANONYMOUS_SCOPES=', 'anonymousScopes', new Set()],
  ['SAMPLES=off', 'samples', false],
  ['CHANGES_KEPT=30d', 'changesKept', 30 * DAY],
  ['CHANGES_KEPT=off', 'changesKept', undefined],
  ['DOMAINS_KEPT=730d', 'domainsKept', 730 * DAY],
  ['TRUST_PROXY=2', 'trustProxy', 2],
  ['TRUST_PROXY=linklocal uniquelocal', 'trustProxy', ['linklocal', 'uniquelocal']],
  ['TRUST_PROXY=10.0.0.0/8, ::1/128 192.0.2.1', 'trustProxy', ['10.0.0.0/8', '::1/128', '192.0.2.1']],
  ['SHUTDOWN_TIMEOUT=500ms', 'shutdownTimeout', 500],
  ['DNS_SERVERS=192.0.2.54:5353', 'observe.dnsServers', [{ address: '192.0.2.54', port: 5353 }]],
  ['DNS_SERVERS=[2001:db8::53]:54', 'observe.dnsServers', [{ address: '2001:db8::53', port: 54 }]],
  ['DNS_SERVERS=2001:db8::54', 'observe.dnsServers', [{ address: '2001:db8::54', port: 53 }]],
  ['DNS_SERVERS=192.0.2.1,192.0.2.2 192.0.2.3', 'observe.dnsServers.length', 3],
  ['OBSERVE_DNS_TYPES=srv, type65534, A', 'observe.dnsTypes', [...USUAL_TYPES, 'SRV', 'TYPE65534']],
  ['OBSERVE_DNS_TIMEOUT=500ms', 'observe.dnsTimeout', 500],
  ['OBSERVE_DNS_TRIES=1', 'observe.dnsTries', 1],
  ['OBSERVE_HTTPS_PORT=8443', 'observe.httpsPort', 8443],
  ['OBSERVE_HTTP_PORT=8080', 'observe.httpPort', 8080],
  ['OBSERVE_HTTP_TIMEOUT=30s', 'observe.httpTimeout', 30_000],
  ['OBSERVE_HTTPS_GRACE=12h', 'observe.httpsGrace', 43_200_000_000n],
  ['OBSERVE_HTTPS_GRACE=off', 'observe.httpsGrace', 0n],
  ['OBSERVE_HTTPS_GRACE=0s', 'observe.httpsGrace', 0n],
  ['OBSERVE_USER_AGENT=probe/1.0 (+x)', 'observe.userAgent', 'probe/1.0 (+x)'],
  ['OBSERVE_SOURCE=probe 1', 'observe.source', 'probe 1'],
  ['OBSERVE_IGNORED_HEADERS=Date, x-Request-ID', 'observe.ignoredHeaders', new Set(['date', 'x-request-id'])],
  ['OBSERVE_IGNORED_HEADERS=none', 'observe.ignoredHeaders', new Set()],
  ['OBSERVE_IGNORED_HEADERS=+ETag, -via', 'observe.ignoredHeaders', new Set([...USUALLY_IGNORED, 'etag'])],
  ['OBSERVE_IGNORED_HEADERS=-date', 'observe.ignoredHeaders.size', USUALLY_IGNORED.length - 1],
  ['OBSERVE_PRIVATE=allow', 'observe.allowPrivate', true],
  ['OBSERVE_CONCURRENCY=1000', 'observe.concurrency', 1000],
  ['OBSERVE_QUESTIONS_PER_RESOLVER=7', 'observe.questionsPerResolver', 7],
  ['OBSERVE_CONNECTIONS_PER_ADDRESS=1', 'observe.connectionsPerAddress', 1],
  ['OBSERVE_LEASE=30s', 'observe.lease', 30_000],
  ['NOTIFY_PRIVATE=allow', 'notify.allowPrivate', true],
  ['LIMIT_RECORDS_PER_TYPE=1', 'limits.recordsPerType', 1],
  ['LIMIT_RECORDS=1000000', 'limits.records', 1_000_000],
  ['LIMIT_HEADERS=2', 'limits.headers', 2],
  ['LIMIT_HEADER_VALUE=1024', 'limits.headerValue', 1024],
  ['LIMIT_LINE=64 kb', 'limits.line', 65_536],
  ['HTTP_MAX_AGE=300', 'http.maxAge', 300],
  ['CACHE_MB=0', 'http.cache.megabytes', 0],
  ['CACHE_SECONDS=5', 'http.cache.seconds', 5],
  ['CORS_ORIGINS=*', 'http.corsOrigins', '*'],
  ['CORS_ORIGINS=https://a.b, http://b:3000', 'http.corsOrigins', ['https://a.b', 'http://b:3000']],
  ['GRAPHQL_MAX_COST=5000', 'graphql.maxFields', 5000],
  ['GRAPHQL_INTROSPECTION=off', 'graphql.introspection', false],
  ['PERSISTED_ONLY=operations.json', 'graphql.persistedOnly', resolve('operations.json')],
  ['METRICS_PORT=9464', 'telemetry.metricsPort', 9464],
  ['METRICS_HOST=0.0.0.0', 'telemetry.metricsHost', '0.0.0.0'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318', 'telemetry.traces', true],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces', 'telemetry.traces', true],
  ['OTEL_TRACES_EXPORTER=otlp', 'telemetry.traces', true],
  ['OTEL_EXPORTER_OTLP_PROTOCOL=grpc', 'telemetry.traces', false],
  ['OTEL_SERVICE_NAME=dms', 'telemetry.traces', false],
])('a setting is read as it is written: %s', (assignment, path, value) => {
  const [, name = '', written = ''] = /^(\w+)=(.*)$/.exec(assignment) ?? [];
  expect(readSettings({ [name]: written })).toHaveProperty(path, value);
});

test.each([{ OTEL_TRACES_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'true' }])(
  'no traces are sent where they are switched off: %j',
  (switchedOff) => {
    const environment = { ...switchedOff, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    expect(readSettings(environment).telemetry.traces).toBe(false);
  },
);

test('replicas are read with their primary', () => {
  const [databaseUrl, urls] = ['postgres://a/dms', ['postgres://b/dms', 'postgres://c/dms']];
  const environment = { DATABASE_URL: databaseUrl, DATABASE_READ_URLS: urls.join(', '), READ_MAX_LAG: '3s' };
  expect(readSettings(environment).readReplicas).toEqual({ databaseUrl, urls, mostBehind: 3_000 });
});

test('the passwords in settings are known as secrets, as they are written and decoded', () => {
  const { secrets } = readSettings({
    DATABASE_URL: 'postgres://u:p@127.0.0.1:5432/dms',
    DATABASE_READ_URLS: 'postgres://u:p@127.0.0.2:5432/dms, postgres://u:q%2C@127.0.0.3:5432/dms',
    REDIS_URL: 'rediss://u:r@redis.example:6380/1',
    SMTP_URL: 'smtps://u:s@[::1]?from=dms@mail.example',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, x-key = k',
    PGPASSWORD: 'pg',
  });
  expect(secrets.toSorted().join(' ')).toBe('Bearer x Bearer%20x k p pg q%2C q, r s');
});

test('an empty value counts as unset, but for ANONYMOUS_SCOPES, where it is no scope', () => {
  const names = [...settingNames()].filter((name) => !/^(?:ANONYMOUS_SCOPES|PG.*)$/.test(name));
  expect(readSettings(Object.fromEntries(names.map((name) => [name, ' '])))).toEqual(readSettings({}));
});

test('whatever TRUST_PROXY says is rejected by name, or understood by Express', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('::ffff:192.0.2.1', 'loopback', '1', ''));
  const length = fc.oneof(fc.integer({ min: 0, max: 129 }).map(String), fc.constantFrom('00', '08', 'x', ''));
  const subnet = fc.tuple(address, length).map((parts) => parts.join('/'));
  const part = fc.oneof(address, subnet);
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

/** A row for each value. */
function eachOf(rows: readonly (readonly [name: string, advice: string, ...values: string[]])[]) {
  return rows.flatMap(([name, advice, ...values]) => values.map((value) => [name, value, advice] as const));
}

test.each(
  eachOf([
    ['PORT', 'write a whole number from 0 to 65535', 'http', '65536', '1e3'],
    ['BASE_PATH', 'write a path of letters', '/a//b', '/a/../b', '/a?b'],
    ['LOG_LEVEL', 'write debug or info or warn or error or silent', 'loud'],
    ['ROLE', 'write all or api', 'worker'],
    ['RATE_LIMIT_ANONYMOUS', 'write a whole number from 1 to', '0'],
    ['AUTH_REQUIRED', 'write scopes or all', 'yes'],
    ['AUTH_ISSUER', 'write it as in the tokens: printable characters without blanks', 'a b'],
    ['ANONYMOUS_SCOPES', 'write dns:read or headers:read', 'dns'],
    ['SAMPLES', 'write on or off', 'no'],
    ['CHANGES_KEPT', 'write a time from 1h to 3650d', '1m'],
    ['DOMAINS_KEPT', 'write a time from 1d to 36500d, such as 730d, or off', '1h'],
    ['TRUST_PROXY', 'write the number of proxies before this server', 'true', '0.0.0.0/0', '1.2.3.4, ::/0'],
    ['CORS_ORIGINS', 'https://a.example/ is not an origin; write origins as browsers', 'https://a.example/'],
    ['CORS_ORIGINS', '* is not an origin', '*,https://app.example'],
    ...['https://bücher.example', 'null', 'https://*.app.example'].map(
      (origin) => ['CORS_ORIGINS', `${origin} is not an origin`, origin] as const,
    ),
    [
      'DNS_SERVERS',
      'write addresses of resolvers between commas',
      'dns.example',
      '1.2.3.4:0',
      '[1.2.3.4]:53',
    ],
    ['OBSERVE_DNS_TYPES', 'write DNS types that can be queried, by mnemonic or number', 'SRV,WIBBLE', 'ANY'],
    ['OBSERVE_DNS_TIMEOUT', 'write a time up to 1m', '0s'],
    ['OBSERVE_DNS_TRIES', 'write a whole number from 1 to 10', '0'],
    ['OBSERVE_HTTP_PORT', 'write a whole number from 1 to 65535', '0'],
    ['OBSERVE_HTTP_TIMEOUT', 'write a time up to 1m', '61s'],
    ['OBSERVE_HTTPS_GRACE', 'write a time up to 365d, such as 12h or 1d, or off', 'on'],
    ['OBSERVE_USER_AGENT', 'write up to 256 printable characters of ASCII', 'agent\u00e9'],
    ['OBSERVE_SOURCE', 'write 1 to 64 printable characters', 'x'.repeat(65)],
    [
      'OBSERVE_IGNORED_HEADERS',
      'write header names between commas, each with + or -',
      '+a, via',
      'date, a:b',
    ],
    ['OBSERVE_CONCURRENCY', 'write a whole number from 1 to', '0'],
    ['OBSERVE_LEASE', 'write a time from 5s to 1h, such as 2m', '4s'],
    ['LIMIT_RECORDS', 'write a whole number from 1 to 1000000', '1k'],
    ['LIMIT_HEADER_VALUE', 'write a size from 1024 to 16777216 bytes, such as 65536, 64kB or 4MB', '1023'],
    ['LIMIT_LINE', 'write a size from 1024 to 268435456 bytes', '4 MiB'],
    ['SHUTDOWN_TIMEOUT', 'write a time up to 10m, such as 10s', '11m'],
    ['HTTP_MAX_AGE', 'write a whole number from 0 to 31536000', '31536001'],
    ['OTEL_TRACES_EXPORTER', 'write otlp or none', 'zipkin'],
  ]),
)(
  'a bad setting stops the program with one line that names and shows it, and says what to write: %s=%s',
  (name, value, advice) => {
    expect(complaintOf({ [name]: value })).toContain(`${name} is "${value}": ${advice}`);
  },
);

const PROVIDER = {
  AUTH_JWKS_URL: 'https://id.example.com/jwks.json',
  AUTH_ISSUER: 'https://id.example.com/',
  AUTH_AUDIENCE: 'dms',
};

const POSTGRESQL = 'write postgresql://user:password@host';
const REDIS = 'write redis://user:password@host:6379, ';
const ONE_HOST = 'one host that leads to the primary';
const SMTP = 'write smtp://user:password@host:587?from=dms@example.com';
const JWKS = 'write an https address without user and password';

test.each(
  eachOf([
    ['DATABASE_URL', POSTGRESQL, 'mysql://u:hunter2@host/db', 'host=a password=hunter2'],
    ['DATABASE_URL', ONE_HOST, 'postgres://u:hunter2@a:5432,b:5433/db', 'postgres://u:hunter2@/db?host=a,b'],
    ['DATABASE_READ_URLS', POSTGRESQL, 'postgresql://a/b, mysql://u:hunter2@c/d'],
    ['REDIS_URL', REDIS, 'redis.example:6379', 'redis://'],
    ['REDIS_URL', REDIS, 'http://:hunter2@a.example', 'redis://:hunter2@h/name', 'redis://:hunter2%zz@h'],
    ['SMTP_URL', SMTP, 'mail.example', 'smtp://u:hunter2@mail.example', 'smtp://u:hunter2%zz@h'],
    ['SMTP_URL', SMTP, 'https://u:hunter2@h?from=a@b'],
    ['AUTH_JWKS_URL', JWKS, 'http://id.example.com/jwks', 'http://localhost.example.com/jwks'],
    [
      'AUTH_JWKS_URL',
      JWKS,
      'http://10.0.0.1/jwks',
      'file:///etc/jwks.json',
      'https://user:hunter2@id.example',
    ],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'write a URL such as http://127.0.0.1:4318', 'u:hunter2@collector'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'write name=value, with commas between several', 'a=b,hunter2'],
  ]),
)('a bad setting that may contain a password is not shown: %s=%s', (name, value, advice) => {
  const complaint = complaintOf({ [name]: value, OTEL_TRACES_EXPORTER: 'otlp' });
  expect(complaint).toContain(`${name} is not valid (it is not shown, since it may contain a password): `);
  expect(complaint).toContain(advice);
  expect(complaint).not.toContain('hunter2');
});

test.each([
  [{ ...PROVIDER, AUTH_ISSUER: '' }, 'AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong together'],
  [{ AUTH_AUDIENCE: 'dms' }, 'AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong together'],
  [{ DATABASE_READ_URLS: 'postgresql://a/b' }, 'DATABASE_READ_URLS is set, and DATABASE_URL is not'],
  [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, ': write http/protobuf'],
])('settings that need each other are missed by name: %j', (environment, complaint) => {
  expect(complaintOf(environment)).toContain(complaint);
});

test.each([
  'http://localhost/jwks',
  'http://127.0.0.1/jwks',
  'http://[::1]:8080/jwks',
  'https://id.example.com/jwks?tenant=1',
])('an identity provider may have its keys at %s', (url) => {
  const provider = { jwksUrl: new URL(url), issuer: 'https://id.example.com/', audience: 'dms' };
  expect(readSettings({ ...PROVIDER, AUTH_JWKS_URL: url }).auth).toMatchObject({ provider });
});

test.each([
  ['smtp://mail.example?from=dms@a.example', ['mail.example', 587, false, undefined, false, 'dms@a.example']],
  ['smtps://a%40a.example:p@mail.example', ['mail.example', 465, true, 'a@a.example', false, 'a@a.example']],
  ['smtp://u:p@[::1]:25?from=x@a.example', ['::1', 25, false, 'u', false, 'x@a.example']],
  ['smtp://u:p@mail.example?from=x@a.example', ['mail.example', 587, false, 'u', true, 'x@a.example']],
])('a mail server may be at %s, and a password goes to it by TLS alone', (url, expected) => {
  const { host, port, secure, auth, requireTLS, from } = readSettings({ SMTP_URL: url }).notify.smtp ?? {};
  expect([host, port, secure, auth?.user, requireTLS, from]).toEqual(expected);
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['::1', '::'],
])('PORT and METRICS_PORT cannot be the same, on %s and %s', (host, metricsHost) => {
  const environment = { HOST: host, PORT: '5228', METRICS_HOST: metricsHost, METRICS_PORT: '5228' };
  expect(() => requireOwnMetricsPort(readSettings(environment))).toThrow(
    new UsageError('PORT and METRICS_PORT are both 5228: set one of them to another port.'),
  );
});

test.each([{ METRICS_PORT: '' }, { METRICS_HOST: '127.0.0.2' }, { PORT: '0', METRICS_PORT: '0' }])(
  'PORT and METRICS_PORT may be the same where they meet nowhere: %j',
  (environment) => {
    requireOwnMetricsPort(readSettings({ PORT: '5228', METRICS_PORT: '5228', ...environment }));
  },
);

/** One line, in which nothing is taken for a secret and redacted. */
function complaintOf(environment: Readonly<Record<string, string>>): string {
  try {
    readSettings(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    const { message } = error as UsageError;
    expect(message).toMatch(/^[^\n]+\.$/);
    expect(redactSecrets(message)).toBe(message);
    return message;
  }
  throw new Error('There was nothing to complain of.');
}
