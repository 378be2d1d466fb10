import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../model/errors.js';
import { parseEnvironmentFile } from './environment-file.js';
import {
  parseBasePath,
  parseChoice,
  parseDatabaseUrl,
  parseInteger,
  parseScopes,
  parseSize,
  parseTrustProxy,
} from './parse.js';
import { parseIdentityProvider, parseRedisUrl } from './parse-auth.js';
import { parseCorsOrigins } from './parse-http.js';
import {
  parseDnsServers,
  parseFieldValue,
  parseFurtherDnsTypes,
  parseGrace,
  parseIgnoredHeaders,
  parseLease,
  parseSource,
  parseTimeout,
} from './parse-observe.js';
import { parseOptionalPort, parseShutdownTimeout, wantsTraces } from './parse-telemetry.js';
import { secretsIn } from './secrets.js';
import {
  AUTH_REQUIREMENTS,
  type AuthSettings,
  type GraphqlSettings,
  LOG_LEVELS,
  type ObserveSettings,
  ROLES,
  type Settings,
  type TelemetrySettings,
} from './settings.js';

/** What settings are read from: process.env, or an object of the same shape. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whoever finds it in a log can find out what asks. */
const USER_AGENT =
  'domain-metadata-service (self-hosted; looks at the response headers of / and reads no page)';

/** A year, in seconds: longer than any cache keeps an answer. */
const LONGEST_MAX_AGE = 31_536_000;
const HIGHEST_RATE_LIMIT = 1_000_000_000;

/**
 * Reads the settings and checks them. An empty value counts as unset, but for ANONYMOUS_SCOPES, where it
 * means that a client without a token may do nothing that needs a scope.
 *
 * @throws UsageError, one line that names the setting, what it is and what to write instead.
 */
export function readSettings(environment: Environment = process.env): Settings {
  /** The setting's value, parsed, or what it is without one. */
  const read: Read = (name, fallback, parse) => parse(name, environment[name]?.trim() || fallback);
  const limit = (name: string, value: string) => parseInteger(name, value, 1, HIGHEST_RATE_LIMIT);
  return {
    host: read('HOST', '127.0.0.1', (_name, value) => value),
    port: read('PORT', '4000', (name, value) => parseInteger(name, value, 0, 65_535)),
    basePath: read('BASE_PATH', '', parseBasePath),
    databaseUrl: environment['DATABASE_URL'] ? read('DATABASE_URL', '', parseDatabaseUrl) : undefined,
    dataDirectory: read('DATA_DIR', './data', (_name, value) => resolve(value)),
    logLevel: read('LOG_LEVEL', 'info', (name, value) => parseChoice(name, value, LOG_LEVELS)),
    role: read('ROLE', 'all', (name, value) => parseChoice(name, value, ROLES)),
    rateLimits: {
      anonymous: read('RATE_LIMIT_ANONYMOUS', '600', limit),
      token: read('RATE_LIMIT_TOKEN', '6000', limit),
    },
    penaltyLimits: {
      failures: read('RATE_LIMIT_FAILURES', '60', limit),
      documents: read('RATE_LIMIT_DOCUMENTS', '300', limit),
    },
    redisUrl: environment['REDIS_URL'] ? read('REDIS_URL', '', parseRedisUrl) : undefined,
    auth: readAuthSettings(environment, read),
    anonymousScopes: parseScopes('ANONYMOUS_SCOPES', environment['ANONYMOUS_SCOPES'] ?? 'search:read'),
    samples: read('SAMPLES', 'on', (name, value) => parseChoice(name, value, ['on', 'off'])) === 'on',
    trustProxy: read('TRUST_PROXY', '0', parseTrustProxy),
    shutdownTimeout: read('SHUTDOWN_TIMEOUT', '10s', parseShutdownTimeout),
    observe: readObserveSettings(read),
    limits: readLimits(read),
    answerMemory: read('ANSWER_MEMORY', '64MB', (name, value) =>
      parseSize(name, value, LEAST_ANSWER_MEMORY, MOST_ANSWER_MEMORY),
    ),
    http: {
      maxAge: read('HTTP_MAX_AGE', '0', (name, value) => parseInteger(name, value, 0, LONGEST_MAX_AGE)),
      corsOrigins: read('CORS_ORIGINS', '', parseCorsOrigins),
    },
    graphql: readGraphqlSettings(read),
    telemetry: readTelemetrySettings(read),
    secrets: secretsIn(environment),
  };
}

/** Reads one setting. */
type Read = <Value>(name: string, fallback: string, parse: (name: string, value: string) => Value) => Value;

function readAuthSettings(environment: Environment, read: Read): AuthSettings {
  const text = (name: string) => environment[name]?.trim() || undefined;
  return {
    provider: parseIdentityProvider({
      AUTH_JWKS_URL: text('AUTH_JWKS_URL'),
      AUTH_ISSUER: text('AUTH_ISSUER'),
      AUTH_AUDIENCE: text('AUTH_AUDIENCE'),
    }),
    required: read('AUTH_REQUIRED', 'scopes', (name, value) => parseChoice(name, value, AUTH_REQUIREMENTS)),
  };
}

const LEAST_ANSWER_MEMORY = 1024 ** 2;
const MOST_ANSWER_MEMORY = 1024 ** 4;

const MOST_AT_ONCE = 100_000;

function readObserveSettings(read: Read): ObserveSettings {
  const atOnce = (name: string, value: string) => parseInteger(name, value, 1, MOST_AT_ONCE);
  const port = (name: string, value: string) => parseInteger(name, value, 1, 65_535);
  return {
    dnsServers: read('DNS_SERVERS', '', parseDnsServers),
    dnsTypes: read('OBSERVE_DNS_TYPES', '', parseFurtherDnsTypes),
    dnsTimeout: read('OBSERVE_DNS_TIMEOUT', '2s', parseTimeout),
    dnsTries: read('OBSERVE_DNS_TRIES', '3', (name, value) => parseInteger(name, value, 1, 10)),
    httpsPort: read('OBSERVE_HTTPS_PORT', '443', port),
    httpPort: read('OBSERVE_HTTP_PORT', '80', port),
    httpTimeout: read('OBSERVE_HTTP_TIMEOUT', '10s', parseTimeout),
    httpsGrace: read('OBSERVE_HTTPS_GRACE', '1d', parseGrace),
    userAgent: read('OBSERVE_USER_AGENT', USER_AGENT, parseFieldValue),
    source: read('OBSERVE_SOURCE', 'dms', parseSource),
    ignoredHeaders: read('OBSERVE_IGNORED_HEADERS', '', parseIgnoredHeaders),
    allowPrivate:
      read('OBSERVE_PRIVATE', 'refuse', (name, value) => parseChoice(name, value, ['refuse', 'allow'])) ===
      'allow',
    concurrency: read('OBSERVE_CONCURRENCY', '200', atOnce),
    questionsPerResolver: read('OBSERVE_QUESTIONS_PER_RESOLVER', '100', atOnce),
    connectionsPerAddress: read('OBSERVE_CONNECTIONS_PER_ADDRESS', '4', atOnce),
    lease: read('OBSERVE_LEASE', '2m', parseLease),
  };
}

const MOST_RECORDS = 1_000_000;
const MOST_HEADERS = 10_000;
const LARGEST_VALUE = 16 * 1024 ** 2;
/** JavaScript's strings end at half a gigabyte. */
const LONGEST_LINE = 256 * 1024 ** 2;

function readLimits(read: Read): Settings['limits'] {
  const upTo = (most: number) => (name: string, value: string) => parseInteger(name, value, 1, most);
  const octetsUpTo = (most: number) => (name: string, value: string) => parseSize(name, value, 1024, most);
  return {
    recordsPerType: read('LIMIT_RECORDS_PER_TYPE', '1000', upTo(MOST_RECORDS)),
    records: read('LIMIT_RECORDS', '10000', upTo(MOST_RECORDS)),
    headers: read('LIMIT_HEADERS', '500', upTo(MOST_HEADERS)),
    headerValue: read('LIMIT_HEADER_VALUE', '32kB', octetsUpTo(LARGEST_VALUE)),
    line: read('LIMIT_LINE', '4MB', octetsUpTo(LONGEST_LINE)),
  };
}

const HIGHEST_COST = 1_000_000_000;

function readGraphqlSettings(read: Read): GraphqlSettings {
  return {
    maxCost: read('GRAPHQL_MAX_COST', '100000', (name, value) => parseInteger(name, value, 1, HIGHEST_COST)),
    introspection:
      read('GRAPHQL_INTROSPECTION', 'on', (name, value) => parseChoice(name, value, ['on', 'off'])) === 'on',
    persistedOnly: read('PERSISTED_ONLY', '', (_name, value) => (value === '' ? undefined : resolve(value))),
  };
}

function readTelemetrySettings(read: Read): TelemetrySettings {
  const text = (name: string) => read(name, '', (_name, value) => value);
  return {
    metricsPort: read('METRICS_PORT', '', parseOptionalPort),
    metricsHost: read('METRICS_HOST', '127.0.0.1', (_name, value) => value),
    traces: wantsTraces({
      disabled: text('OTEL_SDK_DISABLED'),
      exporter: text('OTEL_TRACES_EXPORTER'),
      protocol: text('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || text('OTEL_EXPORTER_OTLP_PROTOCOL'),
      endpoint: text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') || text('OTEL_EXPORTER_OTLP_ENDPOINT'),
      headers: text('OTEL_EXPORTER_OTLP_TRACES_HEADERS') || text('OTEL_EXPORTER_OTLP_HEADERS'),
    }),
  };
}

/**
 * Adds the settings of a file `.env` to the environment, where there is one in the working directory. What
 * the environment has already stays.
 *
 * @throws UsageError where the file cannot be read, or a line of it is no setting.
 */
export function loadEnvironmentFile(): void {
  if (!existsSync('.env')) return;
  for (const [name, value] of parseEnvironmentFile(readText('.env'))) process.env[name] ??= value;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The file ${file} cannot be read (${reason}): make it readable, or remove it.`);
  }
}
