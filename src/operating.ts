import { Registry } from 'prom-client';
import type { Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { createReadinessCheck, type DatabaseReadiness } from './database/readiness.js';
import { type Endpoint, nothingHere } from './http/endpoint.js';
import { createHealth, type Unreadiness } from './http/health.js';
import { type Exposition, isFromThisMachine, metricsEndpoint } from './http/metrics.js';
import { type HttpServer, startHttpServer, urlOf } from './http/server.js';
import { readImportCounts } from './recorder/import-counts.js';
import type { Logger } from './telemetry/logging.js';
import { createImportMetrics, createPoolMetrics, processMetrics } from './telemetry/process-metrics.js';
import type { Tracing } from './telemetry/tracing.js';

/** How a process tells of itself, while it works. */
export interface Operating {
  /** What its parts count. */
  readonly registry: Registry;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
  /** The probes, and the metrics where they have no port of their own. */
  readonly endpoint: Endpoint;
  /** Where the metrics are, if on a port of their own. */
  readonly metricsUrl: string | null;
  /** From now on the process is not ready. */
  stopping(): void;
  /** To be called when everything else has ended. */
  stop(): Promise<void>;
}

const REASONS: Readonly<Record<DatabaseReadiness, Unreadiness>> = {
  ready: null,
  silent: 'The database does not answer.',
  'other-schema': "The database's schema is not that of this version of the program.",
};

const METRICS_SETTINGS = { host: 'METRICS_HOST', port: 'METRICS_PORT' };
/** How long, in milliseconds, a scrape may still take when all else has ended. */
const LAST_SCRAPE = 1000;

/**
 * Starts to tell of a process: probes, metrics, and traces where they are wanted.
 *
 * @param work What the process is there for: whether the pool of answers or the other is to be asked.
 * @throws OperationError where the port of the metrics cannot be had.
 */
export async function startOperating(
  settings: Settings,
  database: Database,
  work: 'answering' | 'observing',
  log: Logger,
): Promise<Operating> {
  const pool = work === 'answering' ? database.answeringPool : database.pool;
  const check = await createReadinessCheck(pool);
  const health = createHealth(
    async () => REASONS[await check()],
    log,
    () => database.failure(),
  );
  const registry = new Registry();
  createPoolMetrics(registry, { answering: database.answeringPool, writing: database.pool });
  createImportMetrics(registry, () => readImportCounts(pool));
  const exposition = expositionOf(registry);
  const server = await serveMetrics(settings, log, either(health.endpoint, metricsEndpoint(exposition, log)));
  const tracing = settings.telemetry.traces ? await startTracing(log) : null;
  const local = metricsEndpoint(exposition, log, isFromThisMachine);
  // Behind a proxy, which may not say so of each request, every client looks like one on this machine.
  const withMetrics = server === null && settings.trustProxy === 0;
  return {
    registry,
    tracing,
    endpoint: withMetrics ? either(health.endpoint, local) : health.endpoint,
    metricsUrl: server === null ? null : urlOf(settings.telemetry.metricsHost, server.port),
    stopping: () => health.stopping(),
    async stop() {
      await Promise.all([server?.close(), tracing?.stop()]);
    },
  };
}

function expositionOf(registry: Registry): Exposition {
  // They count from now on.
  const ofProcess = processMetrics();
  // Metrics that are made later belong to it, too.
  return {
    contentType: registry.contentType,
    text: () => Registry.merge([ofProcess, registry]).metrics(),
  };
}

async function serveMetrics(
  { telemetry: { metricsHost, metricsPort } }: Settings,
  log: Logger,
  endpoint: Endpoint,
): Promise<HttpServer | null> {
  if (metricsPort === undefined) return null;
  return startHttpServer(
    (request, response) => {
      if (!endpoint(request, response)) nothingHere(request, response);
    },
    { host: metricsHost, port: metricsPort, log, lastRequests: LAST_SCRAPE, settings: METRICS_SETTINGS },
  );
}

function either(first: Endpoint, second: Endpoint): Endpoint {
  return (request, response) => first(request, response) || second(request, response);
}

/** OpenTelemetry is loaded only where traces are sent. */
async function startTracing(log: Logger): Promise<Tracing> {
  const { openTelemetry } = await import('./telemetry/open-telemetry.js');
  return openTelemetry(log);
}
