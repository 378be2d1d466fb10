import { getServers } from 'node:dns';
import type { Registry } from 'prom-client';
import { dnsServer } from './config/parse-addresses.js';
import type { Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { readClockLead } from './database/server-checks.js';
import { OperationError } from './model/errors.js';
import { alwaysIgnoring } from './model/ignored-headers.js';
import type { Instant } from './model/instant.js';
import type { Questions } from './notify/changes.js';
import { Sender } from './notify/sender.js';
import { createDnsClient } from './observer/dns/client.js';
import type { DnsServer } from './observer/dns/name-server.js';
import { ResolverChecks, type ResolverState } from './observer/dns/resolver-checks.js';
import { createHttpClient } from './observer/http/client.js';
import { createDomainObserver, type DomainObserver } from './observer/observe-domain.js';
import { createCheckReport } from './observer/record-checks.js';
import { Worker } from './observer/worker.js';
import { createRecorder, type Recorder } from './recorder/recorder.js';
import type { Logger } from './telemetry/logging.js';
import type { Tracing } from './telemetry/tracing.js';

/** How often the worker and the sender poll for what is due, in milliseconds. */
const IDLE = 1000;

/**
 * Creates what finds resolvers that invent addresses.
 *
 * @param report has a sentence about each that begins or ends it.
 * @throws OperationError where no resolver is known.
 */
export function createResolverChecks(
  { observe }: Settings,
  now: () => Instant,
  report: (sentence: string) => void = () => undefined,
): ResolverChecks {
  return new ResolverChecks({
    servers: resolversOf(observe),
    timeout: observe.dnsTimeout,
    now,
    report: (state) =>
      report(
        state.invented.length > 0
          ? explainInvention(state)
          : `The resolver ${state.server} gives no addresses for names that do not exist any more.`,
      ),
  });
}

/** What is wrong with a resolver that invents addresses, in sentences, with what to do. */
export function explainInvention({ server, invented }: ResolverState): string {
  const what = `The resolver ${server} gives ${invented.join(', ')} for names that do not exist`;
  return `${what}. Such answers are not recorded: name another resolver in DNS_SERVERS.`;
}

/**
 * Creates the observer of domains.
 *
 * @param checks of the same resolvers.
 * @throws OperationError where no resolver is known.
 */
export function createObserver(
  settings: Settings,
  now: () => Instant,
  checks = createResolverChecks(settings, now),
): DomainObserver {
  const { observe, limits } = settings;
  const dns = createDnsClient({
    servers: resolversOf(observe),
    checks,
    timeout: observe.dnsTimeout,
    tries: observe.dnsTries,
    queriesPerServer: observe.questionsPerResolver,
  });
  const ignoredHeaders = alwaysIgnoring(observe.ignoredHeaders);
  const http = createHttpClient({ ...observe, timeout: observe.httpTimeout, ignoredHeaders });
  const { dnsTypes: types, source } = observe;
  return createDomainObserver({ dns, http, types, ignoredHeaders, limits, source });
}

function resolversOf({ dnsServers }: Settings['observe']): readonly DnsServer[] {
  return dnsServers.length > 0 ? dnsServers : systemResolvers();
}

function systemResolvers(): { address: string; port: number }[] {
  const servers = getServers();
  if (servers.length > 0) return servers.map(dnsServer);
  throw new OperationError('This system names no DNS resolver: set DNS_SERVERS to one, such as 192.0.2.53.');
}

/** Stops the worker: running checks finish or their domains are handed back, and all is written. */
interface StopObserving {
  (): Promise<void>;
  readonly resolvers: () => readonly ResolverState[];
}

/**
 * Starts a worker that observes what is due, and sends what is to be told of it, until it is stopped.
 *
 * @param tracing Null: no traces are sent.
 * @throws OperationError where no resolver is known.
 */
export function startObserving(
  settings: Settings,
  database: Database,
  log: Logger,
  now: () => Instant,
  { registry, tracing }: { readonly registry: Registry; readonly tracing: Tracing | null },
): StopObserving {
  const checks = createResolverChecks(settings, now, (sentence) => log.warn(sentence));
  const observer = createObserver(settings, now, checks);
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
  let questions: Promise<Questions> | undefined;
  const sender = new Sender({
    prisma: database.writingPrisma,
    log,
    now,
    registry,
    readClockLead: () => readClockLead(database.pool, now),
    basePath: settings.basePath,
    idle: IDLE,
    ...settings.notify,
    // A worker without notifications loads none of it.
    openQuestions: () =>
      (questions ??= import('./asking.js').then(({ createAsking }) => createAsking(database))),
  });
  const stop = async () => {
    await Promise.all([worker, sender].map((each) => each.stop(settings.shutdownTimeout)));
  };
  return Object.assign(stop, { resolvers: () => checks.states });
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
