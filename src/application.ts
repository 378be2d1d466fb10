import type { JWTVerifyGetKey } from 'jose';
import { type AuthenticationOptions, createAuthentication } from './auth/authenticate.js';
import { createJwtVerifier } from './auth/jwt-verifier.js';
import { createKeySet } from './auth/key-set.js';
import { createTokenVerifier } from './auth/token-verifier.js';
import { type KnownOperations, readPersistedOnly } from './config/known-operations.js';
import type { IdentityProviderSettings, Settings } from './config/settings.js';
import { type Database, openDatabase } from './database/client.js';
import { migrate } from './database/migrate.js';
import { createGraphqlDoor } from './graphql/execute.js';
import { graphqlMiddleware } from './graphql/middleware.js';
import { createGraphqlServer } from './graphql/server.js';
import { createApp } from './http/app.js';
import { type HttpServer, startHttpServer } from './http/server.js';
import type { TimeLimits } from './http/time-limits.js';
import { recordSamples } from './importers/samples.js';
import { createLoaders } from './loaders/create-loaders.js';
import type { Instant } from './model/instant.js';
import { countWatched } from './observer/schedule/watch-list.js';
import { startObserving } from './observing.js';
import { createLimiters } from './rates/limiters.js';
import { openRedisStore } from './rates/redis-store.js';
import { createRecorder } from './recorder/recorder.js';
import { createRestV1 } from './rest/v1/handler.js';
import { createLogger, type Logger } from './telemetry/logging.js';
import { currentRequestId } from './telemetry/request-id.js';

/** The running service. */
export interface Application {
  /** Of the root, with the base path, and without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Where the database is, for people: one phrase, without user and password. */
  readonly databasePlace: string;
  /** Whether `/graphql` opens Apollo Sandbox in a browser. */
  readonly sandbox: boolean;
  /** How many sample domains were recorded, into a new embedded database; 0: none. */
  readonly sampleDomains: number;
  /** How many domains are watched; null: this process does not observe them. */
  readonly watchedDomains: number | null;
  /** A domain that something is recorded of; null: there is none. */
  readonly exampleDomain: string | null;
  /** Answers the requests under way, for ten seconds at most, and gives everything back. */
  stop(): Promise<void>;
}

/** What may come from outside in the place of what the settings say. */
export interface ApplicationParts {
  /** It stays open when the application stops. */
  readonly database?: Database;
  readonly log?: Logger;
  /** How long clients may take. */
  readonly timeLimits?: TimeLimits;
}

/**
 * Builds the parts of the service, joins them, and listens.
 *
 * @throws OperationError, one line, where the database cannot be opened, the address not be taken, or a
 * known operation not be answered; UsageError where the file of known operations is not in order.
 */
export async function startApplication(
  settings: Settings,
  parts: ApplicationParts = {},
): Promise<Application> {
  const knownOperations = readPersistedOnly(settings.graphql.persistedOnly);
  const making = settings.samples ? 'unfilled' : 'empty';
  const database = parts.database ?? (await openDatabase({ ...settings, making }));
  const giveBack = async () => (database === parts.database ? undefined : database.close());
  try {
    await migrate(database.pool);
    const sampleDomains = database.unfilled && settings.samples ? await recordInto(database) : 0;
    // Also where they are not wanted: what is recorded later is not to be mixed with them.
    await database.markFilled();
    const exampleDomain = await findExample(database);
    const watchedDomains = settings.role === 'all' ? await countWatched(database.pool) : null;
    const log = parts.log ?? createLogger({ level: settings.logLevel });
    const server = await serve({ settings, database, log, knownOperations, timeLimits: parts.timeLimits });
    const observing = settings.role === 'all' ? startObserving(settings, database, log, now) : null;
    return {
      url: urlOf(settings, server.port),
      port: server.port,
      databasePlace: database.place,
      sandbox: knownOperations === undefined,
      sampleDomains,
      watchedDomains,
      exampleDomain,
      async stop() {
        await Promise.all([server.close(), observing?.stop()]);
        await giveBack();
      },
    };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

interface ServingParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly log: Logger;
  readonly knownOperations: KnownOperations | undefined;
  readonly timeLimits: TimeLimits | undefined;
}

/** The parts that answer, from the database up. */
async function serve(parts: ServingParts): Promise<HttpServer> {
  const { settings, database, log, knownOperations, timeLimits } = parts;
  const { basePath, trustProxy, rateLimits, penaltyLimits, host, port } = settings;
  const redis = settings.redisUrl === undefined ? undefined : await openRedisStore(settings.redisUrl, log);
  const limiters = createLimiters(redis);
  const failures = limiters.penalties('failures', penaltyLimits.failures);
  const onInternalError = (error: unknown) =>
    log.error({ requestId: currentRequestId(), err: error }, 'request failed');
  const door = createGraphqlDoor({ loaders: createLoaders(database.prisma), rateLimits, limiters });
  const graphql = await createGraphqlServer(door, {
    onInternalError,
    sandbox: knownOperations === undefined,
    introspection: settings.graphql.introspection,
    maxCost: settings.graphql.maxCost,
    knownOperations,
    documents: limiters.penalties('documents', penaltyLimits.documents),
  });
  const app = createApp({
    basePath,
    trustProxy,
    corsOrigins: settings.http.corsOrigins,
    log,
    authenticate: createAuthentication({ ...authenticationOf(settings, database, log), failures }),
    failures,
    rest: createRestV1(door, settings.http),
    graphql: graphqlMiddleware(graphql, (request) => request.viewer),
  });
  const giveBack = async () => {
    await graphql.apollo.stop();
    redis?.close();
  };
  const listening = startHttpServer(app, { host, port, log, timeLimits });
  const server = await listening.catch(async (error: unknown) => {
    await giveBack();
    throw error;
  });
  return {
    ...server,
    async close() {
      await server.close();
      await giveBack();
    },
  };
}

/** Who is let in: with the service's own tokens, and with those of an identity provider. */
function authenticationOf(settings: Settings, { prisma }: Database, log: Logger): AuthenticationOptions {
  const { provider, required } = settings.auth;
  return {
    tokens: createTokenVerifier(prisma, now),
    jwts: provider && createJwtVerifier({ ...provider, keys: keysOf(provider, log), now }),
    anonymousScopes: settings.anonymousScopes,
    tokenRequired: required === 'all',
  };
}

function keysOf({ jwksUrl }: IdentityProviderSettings, log: Logger): JWTVerifyGetKey {
  return createKeySet(jwksUrl, {
    away: (reason) => log.warn({ reason }, "the identity provider's keys cannot be fetched"),
    back: () => log.info("the identity provider's keys are fetched again"),
  });
}

function now(): Instant {
  return BigInt(Date.now()) * 1000n;
}

function recordInto(database: Database): Promise<number> {
  return recordSamples(createRecorder(database.pool, { now }), now());
}

/** The samples' best-known domain, if it is there, or any. */
async function findExample({ prisma }: Database): Promise<string | null> {
  const sample = await prisma.domain.findUnique({ where: { name: 'example.com' }, select: { name: true } });
  const found = sample ?? (await prisma.domain.findFirst({ select: { name: true } }));
  return found?.name ?? null;
}

/** An address that a client on this machine can open. */
function urlOf({ host, basePath }: Settings, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}${basePath}`;
}
