import { Registry } from 'prom-client';
import type { ClusterMember } from './cluster/member.js';
import type { Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { createReadinessCheck, type DatabaseReadiness } from './database/migrate.js';
import { withinTime } from './database/query-limits.js';
import type { DatabaseState } from './database/replica.js';
import type { Replicas } from './database/replicas.js';
import { answerAt, type Endpoint, nothingHere } from './http/endpoint.js';
import { createHealth } from './http/health.js';
import { type Exposition, isFromThisMachine, metricsEndpoint } from './http/metrics.js';
import { type HttpServer, startHttpServer, urlOf } from './http/server.js';
import { readImportCounts } from './recorder/import-counts.js';
import type { Logger } from './telemetry/logging.js';
import {
  createImportMetrics,
  createPoolMetrics,
  createReplicaMetrics,
  processMetrics,
} from './telemetry/process-metrics.js';

/** Probes, metrics and traces of a running process. */
export type Monitoring = Awaited<ReturnType<typeof startMonitoring>>;

/** What is known of each resolver: the addresses that it gives for names that do not exist. */
type Resolvers = () => readonly { readonly invented: readonly string[] }[];

/** In milliseconds: a scrape does not wait longer for the database. */
const COUNTS_TIMEOUT = 1000;

const REASONS: Readonly<Record<DatabaseReadiness, string | null>> = {
  ready: null,
  silent: 'The database is unavailable.',
  'other-schema': "The database's schema is not that of this version of the program.",
};

/** How long, in milliseconds, a scrape may still take once everything else has stopped. */
const LAST_SCRAPE = 1000;

/**
 * Starts the probes and metrics of a process, and its traces if they are configured.
 *
 * @param work what the process does: the probes use the same pool of connections.
 * @param others What the process has besides, if anything: replicas to read from; other processes that serve with it, whose metrics
 *   are given together.
 * @throws OperationError if the port of the metrics is not available.
 */
export async function startMonitoring(
  settings: Settings,
  database: Database,
  work: 'serving' | 'observing',
  log: Logger,
  {
    replicas,
    cluster,
  }: { readonly replicas?: Replicas | undefined; readonly cluster?: ClusterMember | undefined } = {},
) {
  const isServing = work === 'serving';
  const check = await createReadinessCheck(isServing ? database.readPool : database.pool);
  let resolvers: Resolvers | undefined;
  const health = createHealth(
    async () => {
      const primary = await check();
      // Replicas are checked for their schema, too.
      const reason = REASONS[primary === 'silent' && replicas?.any() !== undefined ? 'ready' : primary];
      return reason === null ? null : { reason, cause: database.failure() ?? undefined };
    },
    log,
    () => ({ databases: replicas?.states().map(shownDatabase), resolvers: shownResolvers(resolvers?.()) }),
  );
  const registry = new Registry();
  createPoolMetrics(registry, () => ({
    ...{ reading: database.readPool, searching: database.searchPool, writing: database.pool },
    ...Object.fromEntries(replicas?.states().flatMap(poolsOf) ?? []),
  }));
  if (replicas !== undefined) {
    createReplicaMetrics(registry, () => replicas.states().filter(({ role }) => role === 'replica'));
  }
  const prisma = isServing ? database.prisma : database.writingPrisma;
  createImportMetrics(registry, () => withinTime(COUNTS_TIMEOUT, readImportCounts(prisma)));
  // The counters of the process start now; others may be registered later, so they are merged for each scrape.
  const own = [processMetrics(), registry];
  cluster?.shareMetrics(own);
  const exposition: Exposition = {
    contentType: registry.contentType,
    text: () => cluster?.metrics() ?? Registry.merge(own).metrics(),
  };
  const server = await serveMetrics(settings, log, either(health.endpoint, metricsEndpoint(exposition, log)));
  // OpenTelemetry is loaded only where traces are sent.
  const tracing = settings.telemetry.traces
    ? new (await import('./telemetry/tracing.js')).Tracing(log)
    : null;
  const local = metricsEndpoint(exposition, log, isFromThisMachine);
  // Behind a proxy that does not mark each request, every client looks like one on this machine.
  const withMetrics = server === null && settings.trustProxy === 0;
  return {
    /** Where the parts of the process register their metrics. */
    registry,
    tracing,
    /** The probes, and the metrics unless they have a port of their own. */
    endpoint: withMetrics ? either(health.endpoint, local) : health.endpoint,
    metricsUrl: server === null ? null : urlOf(settings.telemetry.metricsHost, server.port),
    /** The probes show from now on what is known of the resolvers that the process observes with. */
    observing(known: Resolvers) {
      resolvers = known;
    },
    /** Reports the process as not ready from now on. */
    stopping: () => health.stopping(),
    /** To be called after everything else has stopped. */
    async stop() {
      await Promise.all([server?.close(), tracing?.stop()]);
    },
  };
}

/** The pools of a replica by the names that their metrics have. */
function poolsOf({ place, pools }: DatabaseState) {
  if (pools === null) return [];
  return [
    [`reading from ${place}`, pools.readPool] as const,
    [`searching ${place}`, pools.searchPool] as const,
  ];
}

async function serveMetrics(
  { telemetry: { metricsHost, metricsPort } }: Settings,
  log: Logger,
  endpoint: Endpoint,
): Promise<HttpServer | null> {
  if (metricsPort === undefined) return null;
  const whole = either(endpoint, nothingHere);
  return startHttpServer((request, response) => answerAt(whole, request, response), {
    ...{ host: metricsHost, port: metricsPort, log, lastRequests: LAST_SCRAPE },
    settings: { host: 'METRICS_HOST', port: 'METRICS_PORT' },
  });
}

function either(first: Endpoint, second: Endpoint): Endpoint {
  return (request) => first(request) ?? second(request);
}

function shownDatabase({ role, reason, lag }: DatabaseState) {
  return { role, state: reason === null ? 'in use' : 'left out', reason, lag: lag && lag / 1000 };
}

const INVENTING =
  'It gives addresses for names that do not exist. They are not recorded: name another resolver in DNS_SERVERS.';

/** In the order of the settings; undefined: none of them invents addresses. */
function shownResolvers(resolvers: ReturnType<Resolvers> = []) {
  if (resolvers.every(({ invented }) => invented.length === 0)) return undefined;
  return resolvers.map(({ invented: [address] }) =>
    address === undefined
      ? { state: 'in use', reason: null }
      : { state: 'invents addresses', reason: INVENTING },
  );
}
