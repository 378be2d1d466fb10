import type { RequestListener } from 'node:http';
import { Registry } from 'prom-client';
import type { ClusterMember } from './cluster/member.js';
import type { Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { createSchemaCheck } from './database/migrate.js';
import { withinTime } from './database/query-limits.js';
import type { DatabaseState, Replicas } from './database/replicas.js';
import {
  answerAt,
  createHealth,
  type Endpoint,
  type Exposition,
  isFromThisMachine,
  metricsEndpoint,
  nothingHere,
} from './http/endpoint.js';
import { startHttpServer, urlOf } from './http/server.js';
import { readImportCounts } from './recorder/import-counts.js';
import type { Logger } from './telemetry/logging.js';
import {
  createImportMetrics,
  createPoolMetrics,
  createReplicaMetrics,
  processMetrics,
} from './telemetry/process-metrics.js';
import type { Tracing } from './telemetry/tracing.js';

export type Monitoring = Awaited<ReturnType<typeof startMonitoring>>;

/** The addresses that each resolver gives for names that do not exist, in the order of the settings. */
type Resolvers = () => readonly { readonly invented: readonly string[] }[];

/** In milliseconds: a scrape does not wait longer for the database. */
const COUNTS_TIMEOUT = 1000;

/** In milliseconds: a scrape may still take that long once everything else has stopped. */
const LAST_SCRAPE = 1000;

/** Of a process that serves. The metrics are then those of all processes of its cluster. */
interface ServingParts {
  readonly replicas: Replicas | undefined;
  readonly cluster: ClusterMember | undefined;
}

/**
 * Starts the probes and metrics of a process, and its traces if they are configured.
 *
 * @param serving Absent for a worker. The probes use the pool of connections that its work uses.
 * @throws OperationError if the port of the metrics is not available.
 */
export async function startMonitoring(
  { telemetry, trustProxy }: Settings,
  database: Database,
  log: Logger,
  serving?: ServingParts,
) {
  const { replicas, cluster } = serving ?? {};
  const hasOurSchema = await createSchemaCheck(serving ? database.readPool : database.pool);
  let resolvers: Resolvers = () => [];
  const health = createHealth(
    async () => {
      try {
        if (await hasOurSchema()) return null;
        return { reason: "The database's schema is not that of this version of the program." };
      } catch {
        // Replicas are checked for their schema, too.
        if (replicas?.any() !== undefined) return null;
        return { reason: 'The database is unavailable.', cause: database.failure() ?? undefined };
      }
    },
    log,
    () => ({ databases: replicas && toDatabases(replicas), resolvers: toResolvers(resolvers()) }),
  );
  const registry = new Registry();
  createPoolMetrics(registry, () => ({
    reading: database.readPool,
    searching: database.searchPool,
    writing: database.pool,
    ...Object.assign({}, ...(replicas?.states().map(namedPools) ?? [])),
  }));
  if (replicas !== undefined) {
    createReplicaMetrics(registry, () => replicas.states().filter(({ role }) => role === 'replica'));
  }
  const prisma = serving ? database.prisma : database.writingPrisma;
  createImportMetrics(registry, () => withinTime(COUNTS_TIMEOUT, readImportCounts(prisma)));
  // The counters of the process start now; others may be registered later, so they are merged for each scrape.
  const own = [processMetrics(), registry];
  cluster?.shareMetrics(own);
  const exposition: Exposition = {
    contentType: registry.contentType,
    text: () => cluster?.metrics() ?? Registry.merge(own).metrics(),
  };
  const { metricsHost: host, metricsPort: port } = telemetry;
  const whole = either(either(health.endpoint, metricsEndpoint(exposition, log)), nothingHere);
  const listener: RequestListener = (request, response) => answerAt(whole, request, response);
  const names = { host: 'METRICS_HOST', port: 'METRICS_PORT' };
  const options = { host, log, lastRequests: LAST_SCRAPE, settings: names };
  const server = port === undefined ? null : await startHttpServer(listener, { ...options, port });
  // OpenTelemetry is loaded only where traces are sent.
  const tracing = telemetry.traces ? new (await import('./telemetry/tracing.js')).Tracing(log) : null;
  const trace: Tracing['trace'] = (name, kind, attributes, work) =>
    tracing === null ? work() : tracing.trace(name, kind, attributes, work);
  const local = metricsEndpoint(exposition, log, isFromThisMachine);
  // Behind a proxy that does not mark each request, every client looks like one on this machine.
  const withMetrics = server === null && trustProxy === 0;
  return {
    registry,
    tracing,
    /** Does work, in a span of its own where traces are sent. */
    trace,
    endpoint: withMetrics ? either(health.endpoint, local) : health.endpoint,
    metricsUrl: server === null ? null : urlOf(host, server.port),
    /** The probes show what is known of the resolvers that the process observes with. */
    observing(known: Resolvers) {
      resolvers = known;
    },
    stopping: health.stopping,
    /** To be called after everything else has stopped. */
    stop: () => Promise.all([server?.close(), tracing?.stop()]),
  };
}

function either(first: Endpoint, second: Endpoint): Endpoint {
  return (request) => first(request) ?? second(request);
}

function namedPools({ place, pools }: DatabaseState) {
  return pools && { [`reading from ${place}`]: pools.readPool, [`searching ${place}`]: pools.searchPool };
}

function toDatabases(replicas: Replicas) {
  return replicas.states().map(({ role, reason, lag }) => {
    const state = reason === null ? 'in use' : 'left out';
    return { role, state, reason, lag: lag && lag / 1000 };
  });
}

const INVENTING =
  'It gives addresses for names that do not exist. They are not recorded: name another resolver in DNS_SERVERS.';

/** Undefined: none of them invents addresses. */
function toResolvers(resolvers: ReturnType<Resolvers>) {
  const inventing = { state: 'invents addresses', reason: INVENTING };
  const states = resolvers.map(({ invented }) =>
    invented.length > 0 ? inventing : { state: 'in use', reason: null },
  );
  return states.includes(inventing) ? states : undefined;
}
