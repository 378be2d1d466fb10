import { getServers } from 'node:dns';
import { dnsServer } from './config/parse-addresses.js';
import type { Settings } from './config/settings.js';
import type { Database } from './database/client.js';
import { readClockLead } from './database/server-checks.js';
import { OperationError } from './model/errors.js';
import { alwaysIgnoring } from './model/ignored-headers.js';
import type { Instant } from './model/instant.js';
import type { Monitoring } from './monitoring.js';
import type { Questions } from './notify/changes.js';
import { Sender } from './notify/sender.js';
import { createDnsClient } from './observer/dns/client.js';
import type { DnsServer } from './observer/dns/name-server.js';
import { ResolverChecks, type ResolverState } from './observer/dns/resolver-checks.js';
import { createHttpClient } from './observer/http/client.js';
import { createDomainObserver, type DomainObserver } from './observer/observe-domain.js';
import { createCheckReport } from './observer/record-checks.js';
import { endpointText } from './observer/verdict.js';
import { Worker } from './observer/worker.js';
import { createRecorder } from './recorder/recorder.js';
import type { Logger } from './telemetry/logging.js';

/** How often the worker and the sender poll for what is due, in milliseconds. */
const IDLE = 1000;

/** @param tell has a sentence about each resolver that begins to invent addresses, or ends it. */
export function createResolverChecks(
  { observe }: Settings,
  now: () => Instant,
  tell: (sentence: string) => void = () => undefined,
): ResolverChecks {
  const report = (state: ResolverState) => {
    const ended = `The resolver ${state.server} gives no addresses for names that do not exist any more.`;
    tell(state.invented.length > 0 ? explainInvention(state) : ended);
  };
  return new ResolverChecks({ servers: resolversIn(observe), timeout: observe.dnsTimeout, now, report });
}

export function explainInvention({ server, invented }: ResolverState): string {
  const what = `The resolver ${server} gives ${invented.join(', ')} for names that do not exist`;
  return `${what}. Such answers are not recorded: name another resolver in DNS_SERVERS.`;
}

/** @param checks of the same resolvers. */
export function createObserver(
  settings: Settings,
  now: () => Instant,
  checks = createResolverChecks(settings, now),
): DomainObserver {
  const { observe, limits } = settings;
  const dns = createDnsClient({
    servers: resolversIn(observe),
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

/** @throws OperationError where none is known. */
function resolversIn({ dnsServers }: Settings['observe']): readonly DnsServer[] {
  const named = dnsServers.length > 0 ? dnsServers : getServers().map(dnsServer);
  // One that is named twice has the limits of one.
  const servers = [...new Map(named.map((server) => [endpointText(server), server])).values()];
  if (servers.length > 0) return servers;
  throw new OperationError('This system names no DNS resolver: set DNS_SERVERS to one, such as 192.0.2.53.');
}

/**
 * Starts a worker that observes what is due, and sends what is to be told of it.
 *
 * @returns what stops it: running checks finish or their domains are handed back, and all is written.
 * @throws OperationError where no resolver is known.
 */
export function startObserving(
  settings: Settings,
  database: Database,
  log: Logger,
  now: () => Instant,
  { registry, trace, observing }: Pick<Monitoring, 'registry' | 'trace' | 'observing'>,
): () => Promise<void> {
  const checks = createResolverChecks(settings, now, (sentence) => log.warn(sentence));
  observing(() => checks.states);
  const observer = createObserver(settings, now, checks);
  const recorder = createRecorder(database.pool, { httpsGrace: settings.observe.httpsGrace });
  const worker = new Worker({
    prisma: database.writingPrisma,
    observer: {
      check: (domain, ...how) =>
        trace('observe', 'internal', { 'dms.domain': domain }, () => observer.check(domain, ...how)),
    },
    recorder: {
      ...recorder,
      record(observations) {
        const attributes = { 'db.system.name': 'postgresql', 'db.operation.batch.size': observations.length };
        return trace('record', 'client', attributes, () => recorder.record(observations));
      },
    },
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
  return async () => {
    await Promise.all([worker, sender].map((each) => each.stop(settings.shutdownTimeout)));
  };
}
