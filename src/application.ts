import type { RequestListener } from 'node:http';
import { createAuthentication } from './auth/authenticate.js';
import { createTokenVerifier } from './auth/token-verifier.js';
import type { Settings } from './config/settings.js';
import { type Database, openDatabase } from './database/client.js';
import { isDatabaseFailure } from './database/database-failure.js';
import { migrate } from './database/migrate.js';
import { createGraphqlDoor } from './graphql/execute.js';
import { graphqlMiddleware } from './graphql/middleware.js';
import { createGraphqlServer } from './graphql/server.js';
import { createApp } from './http/app.js';
import { type HttpServer, startHttpServer, urlOf } from './http/server.js';
import { recordSamples } from './importers/samples.js';
import { type AroundBatch, createLoaders } from './loaders/create-loaders.js';
import type { Instant } from './model/instant.js';
import { startObserving } from './observing.js';
import { type Operating, startOperating } from './operating.js';
import { createRecorder } from './recorder/recorder.js';
import { createRestV1 } from './rest/v1/handler.js';
import { createLoaderMetrics, type LoaderMetrics } from './telemetry/loader-metrics.js';
import { createLogger, type Logger } from './telemetry/logging.js';
import { createRefusalMetrics } from './telemetry/refusal-metrics.js';
import { currentRequestId } from './telemetry/request-id.js';
import { createRequestMetrics } from './telemetry/request-metrics.js';
import type { Tracing } from './telemetry/tracing.js';

/** The running service. */
export interface Application {
  /** Of the root, with the base path, and without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Of the port of the metrics, without a slash at the end; null: they have none of their own. */
  readonly metricsUrl: string | null;
  /** Where the database is, for people: one phrase, without user and password. */
  readonly databasePlace: string;
  /** How many sample domains were recorded, into a new embedded database; 0: none. */
  readonly sampleDomains: number;
  /** A domain that something is recorded of; null: there is none. */
  readonly exampleDomain: string | null;
  /** Answers the requests under way, for as long as the settings say, and gives everything back. */
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
 * @throws OperationError, one line, where the database cannot be opened or the address not be taken.
 */
export async function startApplication(
  settings: Settings,
  parts: ApplicationParts = {},
): Promise<Application> {
  const making = settings.samples ? 'unfilled' : 'empty';
  const database = parts.database ?? (await openDatabase({ ...settings, making }));
  const giveBack = async () => (database === parts.database ? undefined : database.close());
  try {
    await migrate(database.pool);
    const sampleDomains = database.unfilled && settings.samples ? await recordInto(database) : 0;
    // Also where they are not wanted: what is recorded later is not to be mixed with them.
    await database.markFilled();
    const exampleDomain = await findExample(database);
    const log = parts.log ?? createLogger({ level: settings.logLevel, secrets: settings.secrets });
    const running = await run(settings, database, log);
    return {
      ...running,
      databasePlace: database.place,
      sampleDomains,
      exampleDomain,
      async stop() {
        await running.stop();
        await giveBack();
      },
    };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/** What runs on an open database. */
type Running = Pick<Application, 'url' | 'port' | 'metricsUrl' | 'stop'>;

async function run(settings: Settings, database: Database, log: Logger): Promise<Running> {
  const operating = await startOperating(settings, database, 'answering', log);
  try {
    const server = await serve(settings, database, log, operating);
    const observes = settings.role === 'all';
    const observing = observes ? startObserving(settings, database, log, now, operating) : null;
    return {
      url: urlOf(settings.host, server.port) + settings.basePath,
      port: server.port,
      metricsUrl: operating.metricsUrl,
      async stop() {
        operating.stopping();
        await Promise.all([server.close(), observing?.stop()]);
        await operating.stop();
      },
    };
  } catch (error) {
    await operating.stop();
    throw error;
  }
}

/** The parts that answer, from the database up. */
async function serve(
  settings: Settings,
  database: Database,
  log: Logger,
  { registry, tracing, endpoint }: Operating,
): Promise<HttpServer> {
  const { basePath, trustProxy, anonymousScopes, rateLimits, host, port } = settings;
  const refusals = createRefusalMetrics(registry);
  const onInternalError = (error: unknown) => {
    refusals.graphqlFailed(isDatabaseFailure(error) ? 'UNAVAILABLE' : 'INTERNAL');
    log.error({ requestId: currentRequestId(), err: error }, 'request failed');
  };
  const loaders = createLoaders(database.prisma, aroundBatches(createLoaderMetrics(registry), tracing));
  const door = createGraphqlDoor({ loaders, rateLimits, onRateLimited: refusals.rateLimited });
  const graphql = await createGraphqlServer(door, { onInternalError, sandbox: true, introspection: true });
  const tokens = createTokenVerifier(database.prisma, now);
  const app = createApp({
    basePath,
    trustProxy,
    log,
    metrics: createRequestMetrics(registry),
    tracing,
    authenticate: createAuthentication({ tokens, anonymousScopes }),
    rest: createRestV1(door),
    graphql: graphqlMiddleware(graphql, (request) => request.viewer),
  });
  const listener: RequestListener = (request, response) => {
    if (!endpoint(request, response)) app(request, response);
  };
  const server = await startHttpServer(listener, { host, port, log, lastRequests: settings.shutdownTimeout });
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

/** Measures each batch, and traces it where traces are sent: what is asked for is in neither. */
function aroundBatches(metrics: LoaderMetrics, tracing: Tracing | null): AroundBatch {
  const measured: AroundBatch = async (loader, size, load) => {
    const began = performance.now();
    try {
      return await load();
    } finally {
      metrics.loaded(loader, size, (performance.now() - began) / 1000);
    }
  };
  if (tracing === null) return measured;
  return (loader, size, load) => {
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.batch.size': size };
    return tracing.trace(`load ${loader}`, 'client', attributes, () => measured(loader, size, load));
  };
}
