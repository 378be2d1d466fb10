import type { RequestListener } from 'node:http';
import type { JWTVerifyGetKey } from 'jose';
import { type Authenticate, createAuthentication } from './auth/authenticate.js';
import { createJwtVerifier } from './auth/jwt-verifier.js';
import { createKeySet } from './auth/key-set.js';
import { createTokenVerifier } from './auth/token-verifier.js';
import type { ClusterMember } from './cluster/member.js';
import type { KnownOperations } from './config/known-operations.js';
import type { IdentityProviderSettings, Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { isDatabaseFailure } from './database/database-failure.js';
import type { ReplicaHandle } from './database/replica.js';
import type { Replicas } from './database/replicas.js';
import { Feed } from './feed/feed.js';
import { GraphqlExecutor } from './graphql/execute.js';
import { createGraphqlOverHttp, type GraphqlOverHttp } from './graphql/over-http.js';
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
import { createLoaderMetrics, type LoaderMetrics } from './telemetry/process-metrics.js';
import { redactorOf } from './telemetry/redact.js';
import {
  createRejectionMetrics,
  createRequestMetrics,
  type RejectionMetrics,
  type RequestMetrics,
} from './telemetry/request-metrics.js';
import type { Tracing } from './telemetry/tracing.js';

export interface ServingParts {
  readonly settings: Settings;
  readonly database: Database;
  /** Undefined: there are none. */
  readonly replicas: Replicas | undefined;
  readonly log: Logger;
  readonly monitoring: Monitoring;
  /** The only operations that are allowed; undefined: any is. */
  readonly knownOperations: KnownOperations | undefined;
  readonly timeLimits: TimeLimits | undefined;
  /** Undefined: no other process shares the port. */
  readonly cluster: ClusterMember | undefined;
  readonly now: () => Instant;
  /** Takes what closes the parts that are opened besides the server: all of them are closed, the first one last. */
  readonly closing: (() => Promise<unknown>)[];
}

/**
 * Connects the serving parts, from the database up, and listens.
 *
 * @throws OperationError if it cannot listen there.
 */
export async function startServing(parts: ServingParts): Promise<HttpServer> {
  const { settings, log, monitoring, timeLimits, closing } = parts;
  const { redisUrl, rateLimits, shutdownTimeout, host, port } = settings;
  const redis = redisUrl === undefined ? undefined : await openRedisStore(redisUrl, log);
  closing.push(async () => redis?.close());
  const limiters = createLimiters(redis, parts.cluster !== undefined);
  const rejections = createRejectionMetrics(monitoring.registry);
  const onRateLimited = rejections.rateLimited;
  const { loaders, readFrom, feed } = reading(parts);
  const { places, searchPlaces: searches } = settings.gate;
  const gate = new Gate({ ...GATE, all: { ...GATE.all, places, searches } });
  const executor = new GraphqlExecutor({
    ...{ loaders, readFrom, feed, gate },
    ...{ rateLimits, limiters, onRateLimited },
  });
  const graphql = await graphqlOf(parts, executor, rejections);
  closing.push(() => graphql.stop());
  const metrics = createRequestMetrics(monitoring.registry);
  const app = appOf(parts, executor, graphql, metrics);
  const listener: RequestListener = (request, response) => {
    if (!answerAt(monitoring.endpoint, request, response)) app(request, response);
  };
  const server = await startHttpServer(listener, {
    ...{ host, port, log, timeLimits, lastRequests: shutdownTimeout },
    onRejected: (status) => metrics.rejected(NOWHERE, status),
    // Behind a proxy, all clients may have its address.
    ...(settings.trustProxy !== 0 && { connectionsPerClient: Number.POSITIVE_INFINITY }),
  });
  return {
    ...server,
    async close() {
      // Streams never end on their own.
      await Promise.all([feed.close(), server.close()]);
    },
  };
}

function appOf(
  parts: ServingParts,
  executor: GraphqlExecutor,
  graphql: GraphqlOverHttp,
  metrics: RequestMetrics,
): RequestListener {
  const { settings, knownOperations, log, monitoring } = parts;
  const { basePath, trustProxy, anonymousScopes } = settings;
  const onInternalError = logFailures(log);
  return createApp({
    ...{ basePath, trustProxy, log, metrics, onInternalError },
    access: { tokenRequired: settings.auth.required === 'all', anonymousScopes },
    anyQuery: knownOperations === undefined,
    webPage: allowsWebPage(knownOperations, log),
    corsOrigins: settings.http.corsOrigins,
    tracing: monitoring.tracing,
    redact: redactorOf(settings.secrets),
    authenticate: authenticationOf(parts),
    chargeFailure: (viewer) => executor.charge({ viewer }, 1),
    gate: executor.gate,
    rest: createRestV1(executor, { ...settings.http, basePath, onInternalError }),
    graphql: graphql.handle,
  });
}

function allowsWebPage(knownOperations: KnownOperations | undefined, log: Logger): boolean {
  if (knownOperations === undefined) return true;
  const documents = new Set(knownOperations.values());
  const isAllowed = webOperations().every((document) => documents.has(document));
  if (!isAllowed) {
    log.info(
      'the page at / is not served: PERSISTED_ONLY does not have its operations (dist/web/operations.json)',
    );
  }
  return isAllowed;
}

function graphqlOf(
  parts: ServingParts,
  executor: GraphqlExecutor,
  rejections: RejectionMetrics,
): Promise<GraphqlOverHttp> {
  const { settings, knownOperations, log } = parts;
  const logFailure = logFailures(log);
  return createGraphqlOverHttp(executor, {
    viewerOf: (request) => request.viewer,
    onInternalError(error, request) {
      rejections.graphqlFailed(isDatabaseFailure(error) ? 'UNAVAILABLE' : 'INTERNAL');
      logFailure(error, request);
    },
    sandbox: knownOperations === undefined,
    introspection: settings.graphql.introspection,
    maxFields: settings.graphql.maxFields,
    listed: knownOperations,
  });
}

/** Logs the errors that clients are not shown. */
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

/** What is read from: the primary, replicas as they come and go, and the feed. */
function reading({ database, replicas, monitoring: { registry, tracing } }: ServingParts): {
  loaders: Loaders;
  readFrom: (() => Loaders) | undefined;
  feed: Feed;
} {
  const acrossShards = database.distribution.kind === 'shards';
  const options = { acrossShards, aroundBatch: aroundBatches(createLoaderMetrics(registry), tracing) };
  const loaders = createLoaders(database, options);
  const feed = new Feed(database.prisma, { acrossShards });
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

/** Accepts the service's own tokens, and those of an identity provider. */
function authenticationOf({ settings, database, replicas, log, now }: ServingParts): Authenticate {
  const { provider, required } = settings.auth;
  return createAuthentication({
    tokens: createTokenVerifier(database.prisma, now, () => replicas?.any()?.prisma),
    jwts: provider && createJwtVerifier({ ...provider, keys: keysOf(provider, log), now }),
    anonymousScopes: settings.anonymousScopes,
    tokenRequired: required === 'all',
  });
}

function keysOf({ jwksUrl }: IdentityProviderSettings, log: Logger): JWTVerifyGetKey {
  // Its query may hold a secret.
  const address = jwksUrl.origin + jwksUrl.pathname;
  return createKeySet(jwksUrl, {
    away: (reason) => log.warn({ address, reason }, "the identity provider's keys cannot be fetched"),
    back: () => log.info({ address }, "the identity provider's keys are fetched again"),
    empty: () => log.warn({ address }, 'the identity provider has no keys: every JWT is rejected'),
  });
}

/** Measures each batch, and traces it where traces are sent. Neither has the names of domains. */
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
