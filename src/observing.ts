import { getServers } from 'node:dns';
import type { Registry } from 'prom-client';
import { list } from './config/parse.js';
import { dnsServer } from './config/parse-addresses.js';
import type { Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { OperationError } from './model/errors.js';
import { alwaysIgnoring } from './model/ignored-headers.js';
import type { Instant } from './model/instant.js';
import { createDnsClient } from './observer/dns/client.js';
import { createHttpClient } from './observer/http/client.js';
import { createDomainObserver, type DomainObserver } from './observer/observe-domain.js';
import { createCheckReport } from './observer/record-checks.js';
import { Worker } from './observer/worker.js';
import { createRecorder, type Recorder } from './recorder/recorder.js';
import type { Logger } from './telemetry/logging.js';
import type { Tracing } from './telemetry/tracing.js';

/** How often the worker polls for due domains, in milliseconds. */
const IDLE = 1000;

/**
 * Creates the observer of domains.
 *
 * @throws OperationError where no resolver is known.
 */
export function createObserver({ observe, limits }: Settings, now: () => Instant): DomainObserver {
  const dns = createDnsClient({
    servers: observe.dnsServers.length > 0 ? observe.dnsServers : systemResolvers(),
    timeout: observe.dnsTimeout,
    tries: observe.dnsTries,
    queriesPerServer: observe.questionsPerResolver,
  });
  const ignoredHeaders = alwaysIgnoring(observe.ignoredHeaders);
  const http = createHttpClient({ ...observe, timeout: observe.httpTimeout, ignoredHeaders });
  const { dnsTypes: types, source } = observe;
  return createDomainObserver({ dns, http, types, ignoredHeaders, limits, now, source });
}

function systemResolvers(): { address: string; port: number }[] {
  const servers = getServers();
  if (servers.length > 0) return list(dnsServer)('DNS_SERVERS', servers.join(','));
  throw new OperationError('This system names no DNS resolver: set DNS_SERVERS to one, such as 192.0.2.53.');
}

/**
 * Starts a worker that observes what is due until it is stopped.
 *
 * @param tracing Null: no traces are sent.
 * @returns what stops it: running checks finish or their domains are handed back, and it settles when all is written.
 * @throws OperationError where no resolver is known.
 */
export function startObserving(
  settings: Settings,
  database: Database,
  log: Logger,
  now: () => Instant,
  { registry, tracing }: { readonly registry: Registry; readonly tracing: Tracing | null },
): () => Promise<void> {
  const observer = createObserver(settings, now);
  const recorder = createRecorder(database.pool, { httpsGrace: settings.observe.httpsGrace });
  const worker = new Worker({
    prisma: database.writingPrisma,
    observer: tracing === null ? observer : tracedObserver(observer, tracing),
    recorder: tracing === null ? recorder : tracedRecorder(recorder, tracing),
    report: createCheckReport(log, registry),
    log,
    now,
    concurrency: settings.observe.concurrency,
    lease: settings.observe.lease,
    idle: IDLE,
  });
  return () => worker.stop(settings.shutdownTimeout);
}

function tracedObserver(observer: DomainObserver, tracing: Tracing): DomainObserver {
  return {
    check: (domain, ...how) =>
      tracing.trace('observe', 'internal', { 'dms.domain': domain }, () => observer.check(domain, ...how)),
  };
}

function tracedRecorder(recorder: Recorder, tracing: Tracing): Recorder {
  return {
    ...recorder,
    record: (observations) => {
      const attributes = { 'db.system.name': 'postgresql', 'db.operation.batch.size': observations.length };
      return tracing.trace('record', 'client', attributes, () => recorder.record(observations));
    },
  };
}
