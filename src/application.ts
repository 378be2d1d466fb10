import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Counter } from 'prom-client';
import type { ClusterMember } from './cluster/member.js';
import { readPersistedOnly } from './config/known-operations.js';
import { requireOwnMetricsPort, type Settings } from './config/settings.js';
import { type Database, openDatabase } from './database/client.js';
import { FIRST_MIGRATION, migrate } from './database/migrate.js';
import { Replicas } from './database/replicas.js';
import { type TimeLimits, urlOf } from './http/server.js';
import { recordSamples } from './importers/samples.js';
import { OperationError } from './model/errors.js';
import type { Instant } from './model/instant.js';
import { type Monitoring, startMonitoring } from './monitoring.js';
import { countWatched } from './observer/schedule/watch-list.js';
import { startObserving } from './observing.js';
import { startForgetting } from './recorder/forget-unobserved.js';
import { judgeAnew } from './recorder/judge-anew.js';
import { startPruning } from './recorder/prune-feed.js';
import { createRecorder } from './recorder/recorder.js';
import { startServing } from './serving.js';
import { createLogger, type Logger } from './telemetry/logging.js';

export type Application = Awaited<ReturnType<typeof startApplication>>;

interface ApplicationParts {
  /** It stays open when the application stops. */
  readonly database?: Database;
  readonly log?: Logger;
  readonly timeLimits?: TimeLimits;
  /** Of the processes that share the port; absent: this one has it alone. */
  readonly cluster?: ClusterMember;
}

/**
 * Creates the parts of the service, connects them, and listens.
 *
 * @throws OperationError, one line, if the database cannot be opened, the address is not available, or a known
 *   operation is not allowed; UsageError if the file of known operations is invalid, or two settings conflict.
 */
export async function startApplication(settings: Settings, parts: ApplicationParts = {}) {
  requireOwnMetricsPort(settings);
  const knownOperations = readPersistedOnly(settings.graphql.persistedOnly);
  const database = parts.database ?? (await openDatabase(settings));
  /** The first one is called last. */
  const closing: (() => Promise<unknown>)[] = parts.database === undefined ? [() => database.close()] : [];
  const close = async () => {
    for (const end of closing.toReversed()) await end();
  };
  try {
    const { cluster, log = createLogger({ level: settings.logLevel, secrets: settings.secrets }) } = parts;
    const sampleDomains = await fillNew(settings, database);
    const judging = () => log.info('the changes are judged anew, by the rules of this version');
    await judgeAnew(database.pool, judging);
    const exampleDomain = await findExample(database);
    // Null: this process does not observe them.
    const watchedDomains = settings.role === 'all' ? await countWatched(database.writingPrisma) : null;
    const replicas = await openReplicas(settings, database, log);
    closing.push(async () => replicas?.close());
    const monitoring = await startMonitoring(settings, database, log, { replicas, cluster });
    closing.push(() => monitoring.stop());
    const common = { ...parts, settings, database, log, knownOperations, now, closing };
    const server = await startServing({ ...common, replicas, monitoring });
    // What is in progress is completed at the same time.
    const running: typeof closing = [() => server.close()];
    closing.push(() => Promise.all(running.map((stop) => stop())));
    if (cluster?.isLeader !== false) running.push(...startAlone(settings, database, log, monitoring));
    return {
      /** With the base path, without a trailing slash. */
      url: urlOf(settings.host, server.port) + settings.basePath,
      port: server.port,
      metricsUrl: monitoring.metricsUrl,
      databasePlace: database.place,
      sandbox: knownOperations === undefined,
      sampleDomains,
      watchedDomains,
      exampleDomain,
      /** Completes the requests in progress, for as long as the settings say. */
      stop() {
        monitoring.stopping();
        return close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openReplicas({ readReplicas }: Settings, database: Database, log: Logger) {
  if (readReplicas === undefined) return undefined;
  if (database.distribution.kind === 'shards') {
    throw new OperationError(
      'DATABASE_READ_URLS: a replica of the coordinator of a Citus cluster cannot answer. Unset it, and give each node a standby.',
    );
  }
  const replicas = await Replicas.open(database, {
    ...readReplicas,
    onChange({ place: replica, reason }, cause) {
      if (reason === null) log.info({ replica }, 'the replica is read from again');
      else log.warn({ replica, reason, cause }, 'the replica is left out');
    },
  });
  for (const replica of replicas.aheadOfPrimary()) {
    log.warn(
      { replica },
      'synchronous_standby_names does not have the cluster_name of this replica: it may show a commit before the primary does; list synchronous standbys only in DATABASE_READ_URLS',
    );
  }
  return replicas;
}

/** What only one of several processes has to do. @returns what stops each part. */
function startAlone(settings: Settings, database: Database, log: Logger, monitoring: Monitoring) {
  const { changesKept, domainsKept: kept, role } = settings;
  const unpruned = (err: unknown) => log.warn({ err }, 'the feed of changes was not pruned');
  const stops = [startPruning(database.writingPrisma, changesKept, unpruned)];
  const forgotten = new Counter({
    name: 'dms_domains_forgotten_total',
    help: 'Domains that were erased because they were not observed for DOMAINS_KEPT.',
    registers: [monitoring.registry],
  });
  const erased = ({ length: domains }: readonly string[]) => {
    forgotten.inc(domains);
    log.info({ domains }, 'erased domains that were not observed for DOMAINS_KEPT');
  };
  const failed = (err: unknown) => log.warn({ err }, 'domains were not examined for DOMAINS_KEPT');
  if (kept !== undefined) stops.push(startForgetting(database, { kept, erased, failed }));
  if (role === 'all') stops.push(startObserving(settings, database, log, now, monitoring));
  return stops;
}

function now(): Instant {
  return BigInt(Date.now()) * 1000n;
}

/**
 * Records the samples into an embedded database that a start has created. A file says so until they are there:
 * a start that was killed is completed by the next, and a command in another terminal may have migrated it.
 */
async function fillNew({ databaseUrl, dataDirectory, samples }: Settings, database: Database) {
  if (databaseUrl !== undefined) return migrate(database.pool).then(() => 0);
  const mark = join(dataDirectory, 'unfilled');
  if (database.createdNow) await writeFile(mark, '');
  const isNew = (await migrate(database.pool)).includes(FIRST_MIGRATION) || existsSync(mark);
  const isToFill = isNew && samples && (await findExample(database)) === null;
  const recorded = isToFill ? await recordSamples(createRecorder(database.pool), now()) : 0;
  await rm(mark, { force: true });
  return recorded;
}

async function findExample({ prisma }: Database): Promise<string | null> {
  const sample = await prisma.domain.findUnique({ where: { name: 'example.com' }, select: { name: true } });
  const found = sample ?? (await prisma.domain.findFirst({ select: { name: true } }));
  return found?.name ?? null;
}
