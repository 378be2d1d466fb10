import { createAuthentication } from './auth/authenticate.js';
import { createTokenVerifier } from './auth/token-verifier.js';
import { type KnownOperations, readPersistedOnly } from './config/known-operations.js';
import type { Settings } from './config/settings.js';
import { type Database, openDatabase } from './database/client.js';
import { migrate } from './database/migrate.js';
import { createGraphqlDoor } from './graphql/execute.js';
import { graphqlMiddleware } from './graphql/middleware.js';
import { createGraphqlServer } from './graphql/server.js';
import { createApp } from './http/app.js';
import { type HttpServer, startHttpServer } from './http/server.js';
import { recordSamples } from './importers/samples.js';
import { createLoaders } from './loaders/create-loaders.js';
import type { Instant } from './model/instant.js';
import { startObserving } from './observing.js';
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
    const log = parts.log ?? createLogger({ level: settings.logLevel });
    const server = await serve(settings, database, log, knownOperations);
    const observing = settings.role === 'all' ? startObserving(settings, database, log, now) : null;
    return {
      url: urlOf(settings, server.port),
      port: server.port,
      databasePlace: database.place,
      sandbox: knownOperations === undefined,
      sampleDomains,
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

/** The parts that answer, from the database up. */
async function serve(
  settings: Settings,
  database: Database,
  log: Logger,
  knownOperations: KnownOperations | undefined,
): Promise<HttpServer> {
  const { basePath, trustProxy, anonymousScopes, rateLimits, host, port } = settings;
  const onInternalError = (error: unknown) =>
    log.error({ requestId: currentRequestId(), err: error }, 'request failed');
  const door = createGraphqlDoor({ loaders: createLoaders(database.prisma), rateLimits });
  const graphql = await createGraphqlServer(door, {
    onInternalError,
    sandbox: knownOperations === undefined,
    introspection: settings.graphql.introspection,
    maxCost: settings.graphql.maxCost,
    knownOperations,
  });
  const tokens = createTokenVerifier(database.prisma, now);
  const app = createApp({
    basePath,
    trustProxy,
    log,
    authenticate: createAuthentication({ tokens, anonymousScopes }),
    rest: createRestV1(door),
    graphql: graphqlMiddleware(graphql, (request) => request.viewer),
  });
  const server = await startHttpServer(app, { host, port, log });
  return {
    ...server,
    async close() {
      await server.close();
      await graphql.apollo.stop();
    },
  };
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
