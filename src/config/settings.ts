import { resolve } from 'node:path';
import { SCOPES } from '../auth/viewer.js';
import { UsageError } from '../model/errors.js';
import {
  choice,
  duration,
  integer,
  list,
  onOff,
  optional,
  printableAscii,
  type ReadSetting,
  size,
  sourceName,
  text,
  unlessOff,
} from './parse.js';
import {
  basePath,
  corsOrigins,
  dnsServer,
  jwksUrl,
  postgresUrl,
  redisUrl,
  smtpUrl,
  tokenClaim,
  trustProxy,
} from './parse-addresses.js';
import { gracePeriod, ignoredHeaders, observedDnsTypes } from './parse-observe.js';
import { wantsTraces } from './parse-telemetry.js';

/** The program's settings, checked. Durations are milliseconds unless said otherwise. */
export interface Settings extends Readonly<ReturnType<typeof settingsFrom>> {
  /** What must not be logged: the passwords in other settings. */
  readonly secrets: readonly string[];
}

/** An identity provider whose access tokens are accepted beside the service's own. */
export type IdentityProviderSettings = NonNullable<Settings['auth']['provider']>;

const port = integer(1, 65_535);
const freePort = integer(0, 65_535);
const perMinute = integer(1, 1_000_000_000);
const atOnce = integer(1, 100_000);
const kept = (least: string, most: string, example: string) =>
  unlessOff(duration(least, most, `${example}, or off`));
const DAY_SECONDS = 86_400;
const YEAR_SECONDS = 31_536_000;
const KB = 1024;
const MB = 1024 * KB;

/** Names the program, so that a reader of a log can find out what sent the request. */
const USER_AGENT = 'domain-metadata-service (self-hosted; reads only the response headers of /)';

/** Every setting: its name in the environment, its default, and its parser. docs/ describes them for users. */
export function settingsFrom(read: ReadSetting) {
  return {
    /** Where to listen; port 0 takes a free one. */
    host: read('HOST', '127.0.0.1', text),
    port: read('PORT', '4000', freePort),
    /** The prefix of all paths: empty, or like `/dms` or `/a/b`. */
    basePath: read('BASE_PATH', '', basePath),
    /** URL of a PostgreSQL database; absent: the embedded database. It may contain a password. */
    databaseUrl: read('DATABASE_URL', '', optional(postgresUrl)),
    /** Replicas of that database that responses are read from; absent: none. */
    readReplicas: readReplicas(
      read('DATABASE_URL', '', optional(postgresUrl)),
      read('DATABASE_READ_URLS', '', list(postgresUrl)),
      read('READ_MAX_LAG', '10s', duration('1s', '30m', '10s')),
    ),
    /** Whether statements there are prepared under names: `auto` is where no pooler is between. */
    databasePrepared: read('DATABASE_PREPARED', 'auto', choice('auto', 'on', 'off')),
    dataDirectory: read('DATA_DIR', './data', path),
    logLevel: read('LOG_LEVEL', 'info', choice('debug', 'info', 'warn', 'error', 'silent')),
    /** What a serving process does: everything, or the API only. */
    role: read('ROLE', 'all', choice('all', 'api')),
    /** Units per minute, by a client's address and by a token. */
    rateLimits: {
      anonymous: read('RATE_LIMIT_ANONYMOUS', '600', perMinute),
      token: read('RATE_LIMIT_TOKEN', '6000', perMinute),
    },
    /** URL of a Redis in which processes count together; absent: each counts alone. It may contain a password. */
    redisUrl: read('REDIS_URL', '', optional(redisUrl)),
    auth: {
      /** Absent: only the service's own tokens are accepted. */
      provider: identityProvider(
        read('AUTH_JWKS_URL', '', optional(jwksUrl)),
        read('AUTH_ISSUER', '', optional(tokenClaim)),
        read('AUTH_AUDIENCE', '', optional(tokenClaim)),
      ),
      /** What needs a token: operations with a scope, or everything. */
      required: read('AUTH_REQUIRED', 'scopes', choice('scopes', 'all')),
    },
    /** The scopes of a client without a token, and so of every client; without effect where all need one. */
    anonymousScopes: new Set(read('ANONYMOUS_SCOPES', 'search:read,watch:read', list(choice(...SCOPES)))),
    samples: read('SAMPLES', 'on', onOff),
    /** How far back the feed of changes goes, in milliseconds; absent: to its beginning. */
    changesKept: read('CHANGES_KEPT', '365d', kept('1h', '3650d', '30d')),
    /** How long a domain is kept after its latest recording, in milliseconds; absent: for good. */
    domainsKept: read('DOMAINS_KEPT', 'off', kept('1d', '36500d', '730d')),
    /** Which proxies may name a client's address in X-Forwarded-For: the nearest hops, or these addresses. */
    trustProxy: read('TRUST_PROXY', '0', trustProxy),
    /** How long requests and observations in progress may take once the service stops. */
    shutdownTimeout: read('SHUTDOWN_TIMEOUT', '10s', duration(undefined, '10m', '10s')),
    observe: {
      /** The resolvers to query, in order of preference; none: those of the system. */
      dnsServers: read('DNS_SERVERS', '', list(dnsServer)),
      dnsTypes: read('OBSERVE_DNS_TYPES', '', observedDnsTypes),
      /** How long one try of a query may take, and how many tries it has. */
      dnsTimeout: read('OBSERVE_DNS_TIMEOUT', '2s', duration(undefined, '1m', '500ms or 10s')),
      dnsTries: read('OBSERVE_DNS_TRIES', '3', integer(1, 10)),
      httpsPort: read('OBSERVE_HTTPS_PORT', '443', port),
      httpPort: read('OBSERVE_HTTP_PORT', '80', port),
      /** How long the observation of a site may take in all. */
      httpTimeout: read('OBSERVE_HTTP_TIMEOUT', '10s', duration(undefined, '1m', '500ms or 10s')),
      /** In microseconds: how long HTTPS must be declined before responses over HTTP count; 0: they always do. */
      httpsGrace: read('OBSERVE_HTTPS_GRACE', '1d', gracePeriod),
      userAgent: read('OBSERVE_USER_AGENT', USER_AGENT, printableAscii),
      source: read('OBSERVE_SOURCE', 'dms', sourceName),
      /** The response headers that are not recorded: field names in lower case. */
      ignoredHeaders: read('OBSERVE_IGNORED_HEADERS', '', ignoredHeaders),
      /** Whether connections to addresses that are not public are allowed. */
      allowPrivate: read('OBSERVE_PRIVATE', 'deny', choice('deny', 'allow')) === 'allow',
      /** How many domains, queries to one resolver, and connections to one address are in progress at once. */
      concurrency: read('OBSERVE_CONCURRENCY', '200', atOnce),
      questionsPerResolver: read('OBSERVE_QUESTIONS_PER_RESOLVER', '100', atOnce),
      connectionsPerAddress: read('OBSERVE_CONNECTIONS_PER_ADDRESS', '4', atOnce),
      /** For how long a worker has a domain to itself. An observation ends at half of that. */
      lease: read('OBSERVE_LEASE', '2m', duration('5s', '1h', '2m')),
    },
    notify: {
      /** Whether messages are sent to receivers at addresses that are not public. */
      allowPrivate: read('NOTIFY_PRIVATE', 'deny', choice('deny', 'allow')) === 'allow',
      /** Where mail is sent by; absent: none is sent. */
      smtp: read('SMTP_URL', '', optional(smtpUrl)),
    },
    /** How many requests a process executes at once, and how many searches of these. */
    gate: {
      places: read('REQUESTS_AT_ONCE', '64', integer(1, 10_000)),
      searchPlaces: read('SEARCHES_AT_ONCE', '16', integer(1, 10_000)),
    },
    /** What one observation may hold, and how many bytes a line of an import may have. */
    limits: {
      recordsPerType: read('LIMIT_RECORDS_PER_TYPE', '1000', integer(1, 1_000_000)),
      records: read('LIMIT_RECORDS', '10000', integer(1, 1_000_000)),
      headers: read('LIMIT_HEADERS', '500', integer(1, 10_000)),
      headerValue: read('LIMIT_HEADER_VALUE', '32kB', size(KB, 16 * MB)),
      // JavaScript's strings end at half a gigabyte.
      line: read('LIMIT_LINE', '4MB', size(KB, 256 * MB)),
    },
    http: {
      /** For how many seconds a response of REST may be used before it is revalidated. */
      maxAge: read('HTTP_MAX_AGE', '0', integer(0, YEAR_SECONDS)),
      /** The origins whose pages may read responses in a browser: all, or these. */
      corsOrigins: read('CORS_ORIGINS', '', corsOrigins),
      /** How many megabytes of REST's bodies are kept, and for how many seconds one is sent again without a look at the database. */
      cache: {
        megabytes: read('CACHE_MB', '24', integer(0, 1_000_000)),
        seconds: read('CACHE_SECONDS', '0', integer(0, DAY_SECONDS)),
      },
    },
    graphql: {
      /** How many fields a request may ask for, by its estimate. */
      maxFields: read('GRAPHQL_MAX_COST', '250000', integer(1, 1_000_000_000)),
      introspection: read('GRAPHQL_INTROSPECTION', 'on', onOff),
      /** A file with the only operations that are executed; absent: any operation is. */
      persistedOnly: read('PERSISTED_ONLY', '', optional(path)),
    },
    telemetry: {
      /** Where metrics have an address of their own; 0 takes a free port; absent: they have none. */
      metricsPort: read('METRICS_PORT', '', optional(freePort)),
      metricsHost: read('METRICS_HOST', '127.0.0.1', text),
      /** Whether traces are sent; OpenTelemetry's own variables say where to and how. */
      traces: wantsTraces(read),
    },
  };
}

/** What HOST is where it listens everywhere. */
export const ALL_ADDRESSES = ['0.0.0.0', '::'];

/** @throws UsageError where the service and its metrics are to listen on one port of one address. */
export function requireOwnMetricsPort({
  host,
  port,
  telemetry: { metricsHost, metricsPort },
}: Settings): void {
  if (port === 0 || port !== metricsPort) return;
  if (host !== metricsHost && ![host, metricsHost].some((one) => ALL_ADDRESSES.includes(one))) return;
  throw new UsageError(`PORT and METRICS_PORT are both ${port}: set one of them to another port.`);
}

function path(value: string): string {
  return resolve(value);
}

/**
 * Replicas; undefined where none is set.
 *
 * @param mostBehind In milliseconds.
 */
function readReplicas(databaseUrl: string | undefined, urls: readonly string[], mostBehind: number) {
  if (urls.length === 0) return undefined;
  if (databaseUrl !== undefined) return { databaseUrl, urls, mostBehind };
  throw new UsageError(
    'DATABASE_READ_URLS is set, and DATABASE_URL is not: set it to the primary of these replicas.',
  );
}

/** An identity provider; undefined where none of its settings is set. */
function identityProvider(
  jwksUrl: URL | undefined,
  issuer: string | undefined,
  audience: string | undefined,
) {
  if (jwksUrl !== undefined && issuer !== undefined && audience !== undefined) {
    return { jwksUrl, issuer, audience };
  }
  if ((jwksUrl ?? issuer ?? audience) === undefined) return undefined;
  throw new UsageError(
    'AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong together: set all three or none.',
  );
}
