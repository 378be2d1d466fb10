import type { RequestListener } from 'node:http';
import { createAuthentication } from './auth/authenticate.js';
import { createJwtVerifier } from './auth/jwt-verifier.js';
import { createKeySet } from './auth/key-set.js';
import { createTokenVerifier } from './auth/token-verifier.js';
import type { ClusterMember } from './cluster/member.js';
import type { KnownOperations } from './config/known-operations.js';
import type { Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { isDatabaseFailure } from './database/database-failure.js';
import type { ReplicaHandle, Replicas } from './database/replicas.js';
import { tablesOf } from './database/tables.js';
import { Feed } from './feed/feed.js';
import { GraphqlExecutor } from './graphql/execute.js';
import { createGraphqlOverHttp } from './graphql/over-http.js';
import { type AppOptions, createApp } from './http/app.js';
import { answerAt } from './http/endpoint.js';
import { webOperations } from './http/pages/html-pages.js';
import { NOWHERE } from './http/request-kind.js';
import { type HttpServer, startHttpServer, type TimeLimits } from './http/server.js';
import { GATE, Gate } from './limits/gate.js';
import { createLimiters } from './limits/rates.js';
import { openRedisStore } from './limits/redis-store.js';
import { type AroundBatch, createLoaders, type Loaders } from './loaders/create-loaders.js';
import type { Instant } from './model/instant.js';
import type { Monitoring } from './monitoring.js';
import { createRestV1 } from './rest/v1/handler.js';
import type { Logger } from './telemetry/logging.js';
import { createLoaderMetrics } from './telemetry/process-metrics.js';
import { redactorOf } from './telemetry/redact.js';
import { createRejectionMetrics, createRequestMetrics } from './telemetry/request-metrics.js';

interface ServingParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly replicas: Replicas | undefined;
  readonly log: Logger;
  readonly monitoring: Monitoring;
  /** The only operations that are allowed; undefined: any is. */
  readonly knownOperations: KnownOperations | undefined;
  readonly timeLimits?: TimeLimits;
  readonly cluster?: ClusterMember;
  readonly now: () => Instant;
  /** Takes what closes the parts besides the server; the first one is closed last. */
  readonly closing: (() => Promise<unknown>)[];
}

/** @throws OperationError if it cannot listen there. */
export async function startServing(parts: ServingParts): Promise<HttpServer> {
  const { settings, knownOperations, log, monitoring, timeLimits, closing } = parts;
  const { basePath, trustProxy, anonymousScopes, redisUrl, rateLimits, host, port } = settings;
  const redis = redisUrl === undefined ? undefined : await openRedisStore(redisUrl, log);
  closing.push(async () => redis?.close());
  const rejections = createRejectionMetrics(monitoring.registry);
  const reading = createReading(parts);
  const { places, searchPlaces: searches } = settings.gate;
  const executor = new GraphqlExecutor({
    ...reading,
    gate: new Gate({ ...GATE, all: { ...GATE.all, places, searches } }),
    rateLimits,
    limiters: createLimiters(redis, parts.cluster !== undefined),
    onRateLimited: rejections.rateLimited,
  });
  const onInternalError = logFailures(log);
  const graphql = await createGraphqlOverHttp(executor, {
    onInternalError(error, request) {
      rejections.graphqlFailed(isDatabaseFailure(error) ? 'UNAVAILABLE' : 'INTERNAL');
      onInternalError(error, request);
    },
    sandbox: knownOperations === undefined,
    introspection: settings.graphql.introspection,
    maxFields: settings.graphql.maxFields,
    listed: knownOperations,
  });
  closing.push(() => graphql.stop());
  const metrics = createRequestMetrics(monitoring.registry);
  const app = createApp({
    basePath,
    trustProxy,
    log,
    metrics,
    onInternalError,
    access: { tokenRequired: settings.auth.required === 'all', anonymousScopes },
    anyQuery: knownOperations === undefined,
    webPage: allowsWebPage(knownOperations, log),
    corsOrigins: settings.http.corsOrigins,
    tracing: monitoring.tracing,
    redact: redactorOf(settings.secrets),
    authenticate: createAuthenticate(parts),
    chargeFailure: (viewer) => executor.charge({ viewer }, 1),
    gate: executor.gate,
    rest: createRestV1(executor, { ...settings.http, basePath, onInternalError }),
    graphql: graphql.handle,
  });
  const listener: RequestListener = (request, response) => {
    if (!answerAt(monitoring.endpoint, request, response)) app(request, response);
  };
  const server = await startHttpServer(listener, {
    host,
    port,
    log,
    timeLimits,
    lastRequests: settings.shutdownTimeout,
    onRejected: (status) => metrics.rejected(NOWHERE, status),
    // Behind a proxy, all clients may have its address.
    ...(trustProxy !== 0 && { connectionsPerClient: Number.POSITIVE_INFINITY }),
  });
  return {
    ...server,
    async close() {
      // Streams never end on their own.
      await Promise.all([reading.feed.close(), server.close()]);
    },
  };
}

function allowsWebPage(knownOperations: KnownOperations | undefined, log: Logger): boolean {
  if (knownOperations === undefined) return true;
  const documents = new Set(knownOperations.values());
  if (webOperations().every((document) => documents.has(document))) return true;
  const reason = 'PERSISTED_ONLY does not have its operations (dist/web/operations.json)';
  log.info(`the page at / is not served: ${reason}`);
  return false;
}

function logFailures(log: Logger): AppOptions['onInternalError'] {
  const withoutDatabase = new WeakSet<object>();
  return (error, request) => {
    if (isDatabaseFailure(error)) {
      // All domains of a request fail in the same way, and a disconnected client needs no database.
      if (withoutDatabase.has(request) || request.socket.destroyed) return;
      withoutDatabase.add(request);
    }
    log.error({ requestId: request.requestId, err: error }, 'request failed');
  };
}

function createReading({ database, replicas, monitoring }: ServingParts) {
  const tables = tablesOf(database.distribution);
  const options = { tables, aroundBatch: aroundBatches(monitoring) };
  const loaders = createLoaders(database, options);
  const feed = new Feed(database.prisma, { tables });
  if (replicas === undefined) return { loaders, readFrom: undefined, feed };
  const known = new WeakMap<ReplicaHandle, Loaders>();
  const readFrom = () => {
    const replica = replicas.any();
    if (replica === undefined) return loaders;
    const found = known.get(replica) ?? createLoaders(replica, options);
    known.set(replica, found);
    return found;
  };
  return { loaders, readFrom, feed };
}

function createAuthenticate({ settings, database, replicas, log, now }: ServingParts) {
  const { provider, required } = settings.auth;
  // The address's query may hold a secret.
  const address = provider && provider.jwksUrl.origin + provider.jwksUrl.pathname;
  const keys =
    provider &&
    createKeySet(provider.jwksUrl, {
      away: (reason) => log.warn({ address, reason }, "the identity provider's keys cannot be fetched"),
      back: () => log.info({ address }, "the identity provider's keys are fetched again"),
    });
  return createAuthentication({
    tokens: createTokenVerifier(database.prisma, now, () => replicas?.any()?.prisma),
    jwts: keys && createJwtVerifier({ ...provider, keys, now }),
    anonymousScopes: settings.anonymousScopes,
    tokenRequired: required === 'all',
  });
}

/** Measures and traces each batch. Neither has the names of domains. */
function aroundBatches({ registry, trace }: Monitoring): AroundBatch {
  const measure = createLoaderMetrics(registry);
  return async (loader, size, load) => {
    const began = performance.now();
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.batch.size': size };
    try {
      return await trace(`load ${loader}`, 'client', attributes, load);
    } finally {
      measure(loader, size, (performance.now() - began) / 1000);
    }
  };
}
