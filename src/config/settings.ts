import { resolve } from 'node:path';
import { SCOPES } from '../auth/viewer.js';
import { UsageError } from '../model/errors.js';
import * as parse from './parse.js';
import * as addresses from './parse-addresses.js';

/** The program's settings, checked. Durations are milliseconds unless said otherwise. */
export interface Settings extends Readonly<ReturnType<typeof settingsFrom>> {
  /** What must not be logged: the passwords in other settings. */
  readonly secrets: readonly string[];
}

/** Reads one setting. @param fallback The value of an unset one, as it would be written. */
type ReadSetting = <Value>(name: string, fallback: string, parser: parse.Parse<Value>) => Value;

const port = parse.integer(1, 65_535);
const freePort = parse.integer(0, 65_535);
const perMinute = parse.integer(1, 1_000_000_000);
const atOnce = parse.integer(1, 100_000);
const DAY_SECONDS = 86_400;
const KB = 1024;
const MB = 1024 * KB;

/** A reader of a log can find out what sent the request. */
const USER_AGENT = 'domain-metadata-service (self-hosted; reads only the response headers of /)';

/** Every setting: its name, its default, and its parser. docs/settings.md says what they mean. */
export function settingsFrom(read: ReadSetting) {
  return {
    host: read('HOST', '127.0.0.1', String),
    port: read('PORT', '4000', freePort),
    basePath: read('BASE_PATH', '', addresses.basePath),
    databaseUrl: read('DATABASE_URL', '', parse.optional(addresses.postgresUrl)),
    readReplicas: readReplicas(read),
    databasePrepared: read('DATABASE_PREPARED', 'auto', parse.choice('auto', 'on', 'off')),
    dataDirectory: read('DATA_DIR', './data', resolve),
    logLevel: read('LOG_LEVEL', 'info', parse.choice('debug', 'info', 'warn', 'error', 'silent')),
    role: read('ROLE', 'all', parse.choice('all', 'api')),
    /** Units per minute, by a client's address and by a token. */
    rateLimits: {
      anonymous: read('RATE_LIMIT_ANONYMOUS', '600', perMinute),
      token: read('RATE_LIMIT_TOKEN', '6000', perMinute),
    },
    redisUrl: read('REDIS_URL', '', parse.optional(addresses.redisUrl)),
    auth: {
      provider: identityProvider(read),
      required: read('AUTH_REQUIRED', 'scopes', parse.choice('scopes', 'all')),
    },
    /** The scopes of a client without a token, and so of every client; without effect where all need one. */
    anonymousScopes: new Set(
      read('ANONYMOUS_SCOPES', 'search:read,watch:read', parse.list(parse.choice(...SCOPES))),
    ),
    samples: read('SAMPLES', 'on', parse.onOff),
    /** How far back the feed of changes goes, in milliseconds; absent: to its beginning. */
    changesKept: read('CHANGES_KEPT', '365d', parse.durationOrOff('1h', '3650d', '30d')),
    /** How long a domain is kept after its latest recording, in milliseconds; absent: for good. */
    domainsKept: read('DOMAINS_KEPT', 'off', parse.durationOrOff('1d', '36500d', '730d')),
    /** Which proxies may name a client's address in X-Forwarded-For: the nearest hops, or these addresses. */
    trustProxy: read('TRUST_PROXY', '0', addresses.trustProxy),
    shutdownTimeout: read('SHUTDOWN_TIMEOUT', '10s', parse.duration(undefined, '10m', '10s')),
    observe: {
      dnsServers: read('DNS_SERVERS', '', parse.list(addresses.dnsServer)),
      dnsTypes: read('OBSERVE_DNS_TYPES', '', parse.observedDnsTypes),
      dnsTimeout: read('OBSERVE_DNS_TIMEOUT', '2s', parse.duration(undefined, '1m', '500ms or 10s')),
      dnsTries: read('OBSERVE_DNS_TRIES', '3', parse.integer(1, 10)),
      httpsPort: read('OBSERVE_HTTPS_PORT', '443', port),
      httpPort: read('OBSERVE_HTTP_PORT', '80', port),
      httpTimeout: read('OBSERVE_HTTP_TIMEOUT', '10s', parse.duration(undefined, '1m', '500ms or 10s')),
      /** In microseconds; 0: responses over HTTP count at once where HTTPS is declined. */
      httpsGrace: read('OBSERVE_HTTPS_GRACE', '1d', parse.gracePeriod),
      userAgent: read('OBSERVE_USER_AGENT', USER_AGENT, parse.printableAscii),
      source: read('OBSERVE_SOURCE', 'dms', parse.sourceName),
      ignoredHeaders: read('OBSERVE_IGNORED_HEADERS', '', parse.ignoredHeaders),
      allowPrivate: read('OBSERVE_PRIVATE', 'deny', parse.choice('deny', 'allow')) === 'allow',
      concurrency: read('OBSERVE_CONCURRENCY', '200', atOnce),
      questionsPerResolver: read('OBSERVE_QUESTIONS_PER_RESOLVER', '100', atOnce),
      connectionsPerAddress: read('OBSERVE_CONNECTIONS_PER_ADDRESS', '4', atOnce),
      /** For how long a worker has a domain to itself. An observation ends at half of that. */
      lease: read('OBSERVE_LEASE', '2m', parse.duration('5s', '1h', '2m')),
    },
    notify: {
      allowPrivate: read('NOTIFY_PRIVATE', 'deny', parse.choice('deny', 'allow')) === 'allow',
      smtp: read('SMTP_URL', '', parse.optional(addresses.smtpUrl)),
    },
    gate: {
      places: read('REQUESTS_AT_ONCE', '64', parse.integer(1, 10_000)),
      searchPlaces: read('SEARCHES_AT_ONCE', '16', parse.integer(1, 10_000)),
    },
    limits: {
      recordsPerType: read('LIMIT_RECORDS_PER_TYPE', '1000', parse.integer(1, 1_000_000)),
      records: read('LIMIT_RECORDS', '10000', parse.integer(1, 1_000_000)),
      headers: read('LIMIT_HEADERS', '500', parse.integer(1, 10_000)),
      headerValue: read('LIMIT_HEADER_VALUE', '32kB', parse.size(KB, 16 * MB)),
      // JavaScript's strings end at half a gigabyte.
      line: read('LIMIT_LINE', '4MB', parse.size(KB, 256 * MB)),
    },
    http: {
      /** For how many seconds a response of REST may be used before it is revalidated. */
      maxAge: read('HTTP_MAX_AGE', '0', parse.integer(0, 365 * DAY_SECONDS)),
      corsOrigins: read('CORS_ORIGINS', '', addresses.corsOrigins),
      cache: {
        megabytes: read('CACHE_MB', '24', parse.integer(0, 1_000_000)),
        seconds: read('CACHE_SECONDS', '0', parse.integer(0, DAY_SECONDS)),
      },
    },
    graphql: {
      maxFields: read('GRAPHQL_MAX_COST', '250000', parse.integer(1, 1_000_000_000)),
      introspection: read('GRAPHQL_INTROSPECTION', 'on', parse.onOff),
      persistedOnly: read('PERSISTED_ONLY', '', parse.optional(resolve)),
    },
    telemetry: {
      metricsPort: read('METRICS_PORT', '', parse.optional(freePort)),
      metricsHost: read('METRICS_HOST', '127.0.0.1', String),
      traces: wantsTraces(read),
    },
  };
}

export const ALL_ADDRESSES = ['0.0.0.0', '::'];

/** @throws UsageError where the service and its metrics are to listen on one port of one address. */
export function requireOwnMetricsPort({ host, port, telemetry }: Settings): void {
  const { metricsHost, metricsPort } = telemetry;
  if (port === 0 || port !== metricsPort) return;
  if (host !== metricsHost && ![host, metricsHost].some((one) => ALL_ADDRESSES.includes(one))) return;
  throw new UsageError(`PORT and METRICS_PORT are both ${port}: set one of them to another port.`);
}

function readReplicas(read: ReadSetting) {
  const databaseUrl = read('DATABASE_URL', '', parse.optional(addresses.postgresUrl));
  const urls = read('DATABASE_READ_URLS', '', parse.list(addresses.postgresUrl));
  const mostBehind = read('READ_MAX_LAG', '10s', parse.duration('1s', '30m', '10s'));
  if (urls.length === 0) return undefined;
  if (databaseUrl !== undefined) return { databaseUrl, urls, mostBehind };
  throw new UsageError(
    'DATABASE_READ_URLS is set, and DATABASE_URL is not: set it to the primary of these replicas.',
  );
}

function identityProvider(read: ReadSetting) {
  const jwksUrl = read('AUTH_JWKS_URL', '', parse.optional(addresses.jwksUrl));
  const issuer = read('AUTH_ISSUER', '', parse.optional(addresses.tokenClaim));
  const audience = read('AUTH_AUDIENCE', '', parse.optional(addresses.tokenClaim));
  if ((jwksUrl ?? issuer ?? audience) === undefined) return undefined;
  if (jwksUrl !== undefined && issuer !== undefined && audience !== undefined) {
    return { jwksUrl, issuer, audience };
  }
  throw new UsageError(
    'AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong together: set all three or none.',
  );
}

const endpointUrl = parse.parsed(
  (value) => (/^https?:$/.test(parse.parseUrl(value)?.protocol ?? '') ? value : undefined),
  'write a URL such as http://127.0.0.1:4318',
  parse.IS_SECRET,
);

/** A field name (RFC 9110, section 5.6.2), and its value. */
const HEADER = /^\s*[!#$%&'*+.^_`|~\w-]+\s*=/;

const headers = parse.parsed(
  (value) => value.split(',').every((pair) => pair.trim() === '' || HEADER.test(pair)) || undefined,
  'write name=value, with commas between several',
  parse.IS_SECRET,
);

const EXPORTER: Readonly<Record<string, parse.Parse<unknown>>> = {
  ENDPOINT: endpointUrl,
  PROTOCOL: parse.choice('http/protobuf'),
  HEADERS: headers,
};

/**
 * Whether traces are sent: where an endpoint or the exporter is set, and they are not disabled (OpenTelemetry
 * specification, environment variables; empty is unset). Only then the other variables are for this program.
 */
function wantsTraces(read: ReadSetting): boolean {
  // Variables for traces take precedence over those for every signal.
  const chosen = Object.entries(EXPORTER).map(([name, parser]) => {
    const names = [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`];
    return { name: names.filter((each) => read(each, '', String) !== '')[0], parser };
  });
  const isDisabled = read('OTEL_SDK_DISABLED', '', String).toLowerCase() === 'true';
  const exporter = read('OTEL_TRACES_EXPORTER', '', String);
  if (isDisabled || exporter === 'none' || (exporter === '' && chosen[0]?.name === undefined)) return false;
  read('OTEL_TRACES_EXPORTER', 'otlp', parse.choice('otlp', 'none'));
  for (const { name, parser } of chosen) if (name !== undefined) read(name, '', parser);
  return true;
}
