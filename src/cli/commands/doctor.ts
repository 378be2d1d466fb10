import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { requireOwnMetricsPort, type Settings } from '../../config/settings.js';
import { openConnections } from '../../database/client.js';
import { explainFailure } from '../../database/database-failure.js';
import { freeRoom, unusable } from '../../database/embedded/data-folder.js';
import { findPending } from '../../database/migrate.js';
import { withinTime } from '../../database/query-limits.js';
import { readClockLead, requireWritable } from '../../database/server-checks.js';
import { startHttpServer, urlOf } from '../../http/server.js';
import { openRedisStore } from '../../limits/redis-store.js';
import { errorCode, messageOf, NoDatabaseError, UnavailableError } from '../../model/errors.js';
import { formatInstant } from '../../model/instant.js';
import { isLoopback } from '../../model/ip-address.js';
import { LookClock } from '../../observer/look-clock.js';
import { createResolverChecks, explainInvention } from '../../observing.js';
import { createLogger } from '../../telemetry/logging.js';
import { redactorOf } from '../../telemetry/redact.js';
import { type CommandContext, now } from '../command-context.js';
import { counted, numberText, writeList } from '../output.js';
import { opennessOf } from './serve.js';

/** In milliseconds: longer than a connection to the database may take (10 s), which says more. */
const LIMIT = 12_000;
const PROBE_LIMIT = 2000;
/** In microseconds, as far as the clock of observations may step back. */
const MAX_LEAD = 5_000_000n;
/** In bytes. PostgreSQL lets its log grow by so much between two checkpoints (`max_wal_size`). */
const SPARE_ROOM = 1024 ** 3;

interface Finding {
  /** Absent: that of the check. */
  readonly check?: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
}

const ok = (message: string): Finding => ({ status: 'ok', message });
const warning = (message: string): Finding => ({ status: 'warning', message });
const failed = (message: string): Finding => ({ status: 'failed', message });

export async function runDoctor(context: CommandContext, { json }: { json: boolean }): Promise<void> {
  const settings = context.settings();
  const redact = redactorOf(settings.secrets);
  const examined = Object.entries(CHECKS).map(async ([check, examine]) => {
    const found = await withinTime(LIMIT, examine(settings)).catch(failure);
    return [found].flat().map((finding) => ({ check, ...finding, message: redact(finding.message) }));
  });
  const findings = (await Promise.all(examined)).flat();
  await writeList(context, [findings], json, { row: (each) => [each.status, each.check, each.message] });
  const count = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length;
  if (count('failed') > 0) context.setExitCode(1);
  const failures = counted(count('failed'), 'check');
  context.note(`${failures} failed, ${counted(count('warning'), 'warning')}.\n`);
}

const CHECKS: Readonly<Record<string, (settings: Settings) => Promise<Finding | Finding[]>>> = {
  async clock() {
    const time = now();
    const fault = new LookClock().faultOf(time);
    return fault === null ? ok(`It is ${formatInstant(time)}.`) : failed(fault);
  },
  resolvers: examineResolvers,
  database: examineDatabase,
  async redis({ redisUrl }) {
    if (redisUrl === undefined) return ok('REDIS_URL is not set: each dms serve counts rate limits alone.');
    const store = await openRedisStore(redisUrl, createLogger({ level: 'silent' }));
    await store.attempt(() => store.client.set('dms:doctor', '', 'PX', 1));
    const fault = store.fault();
    store.close();
    return fault === undefined ? ok('It takes the counts of rate limits.') : failed(`${fault}.`);
  },
  async proxy(settings) {
    const openness = opennessOf(settings);
    return [...(openness === null ? [] : [warning(`Note that ${openness}`)]), examineTrust(settings)];
  },
  ports: examinePorts,
  disk: examineDisk,
};

async function examineResolvers({ observe, ...settings }: Settings) {
  if (settings.role === 'api') return ok('ROLE is api: this process does not observe.');
  const dnsTimeout = Math.min(observe.dnsTimeout, PROBE_LIMIT);
  const checks = createResolverChecks({ ...settings, observe: { ...observe, dnsTimeout } }, now);
  const states = await checks.checkAll();
  const silent = states.some(({ checkedAt }) => checkedAt !== null) ? warning : failed;
  return states.map((state) => {
    const { server, checkedAt, invented } = state;
    if (checkedAt === null)
      return silent(
        `The resolver ${server} is silent, or refuses: name one in DNS_SERVERS that answers this machine.`,
      );
    if (invented.length > 0) return warning(explainInvention(state));
    return ok(`The resolver ${server} answers, and invents no addresses.`);
  });
}

async function examineDatabase(settings: Settings) {
  const { pool, place, close } = await openConnections({ ...settings, ifMissing: 'fail', poolSize: 1 });
  try {
    const lead = await readClockLead(pool, now);
    const pending = await findPending(pool);
    // What the migrations make is not there yet.
    if (pending.length === 0) await requireWritable(pool);
    const lacking = `${place} lacks ${counted(pending.length, 'migration')}`;
    const schema =
      pending.length === 0
        ? ok(`${place} can be written to, and is up to date.`)
        : warning(`${lacking}: run dms migrate; each start of dms serve does it, too.`);
    const [distance, direction] = lead < 0n ? [-lead, 'behind'] : [lead, 'ahead of'];
    if (distance <= MAX_LEAD) return schema;
    const seconds = counted(Number(distance / 1_000_000n), 'second');
    const message = `The database's clock is ${seconds} ${direction} this machine's: set both, by NTP say.`;
    return [schema, { check: 'clock', ...warning(message) }];
  } finally {
    await close();
  }
}

function examineTrust({ host, trustProxy }: Settings): Finding {
  const behind = 'Behind one, all clients would share a rate limit: set it.';
  if (trustProxy === 0) return ok(`TRUST_PROXY is not set, which is right without a proxy. ${behind}`);
  const set = `TRUST_PROXY is ${trustProxy}`;
  // A list names who is trusted, and a number trusts whoever connects.
  if (typeof trustProxy !== 'number' || isLoopback(host))
    return ok(`${set}: as many proxies, or these, name the address of a client.`);
  const claim = `${set} and HOST is ${host}: who reaches this port past the proxy can claim any address`;
  return warning(`${claim}. Let only the proxy reach it, or set TRUST_PROXY to its address.`);
}

async function examinePorts(settings: Settings) {
  requireOwnMetricsPort(settings);
  const { metricsHost, metricsPort } = settings.telemetry;
  const found = [await examinePort(settings.host, settings.port, '')];
  if (metricsPort !== undefined) found.push(await examinePort(metricsHost, metricsPort, 'METRICS_'));
  return found;
}

async function examinePort(host: string, port: number, prefix: string): Promise<Finding> {
  const log = createLogger({ level: 'silent' });
  const names = { host: `${prefix}HOST`, port: `${prefix}PORT` };
  try {
    const server = await startHttpServer(() => undefined, { host, port, log, settings: names });
    await server.close();
    return ok(port === 0 ? `${names.port}=0 takes a free one.` : `Port ${port} of ${host} is free.`);
  } catch (error) {
    const probe = { signal: AbortSignal.timeout(PROBE_LIMIT), redirect: 'error' } as const;
    const response = await fetch(`${urlOf(host, port)}/livez`, probe).catch(() => null);
    const isAlive = (await response?.text().catch(() => '')) === '{"status":"ok"}\n';
    return isAlive ? ok(`This service is at port ${port} of ${host}.`) : failure(error);
  }
}

async function examineDisk({ databaseUrl, dataDirectory }: Settings) {
  if (databaseUrl !== undefined)
    return ok('DATA_DIR is not used: what is recorded is on the disk of the server at DATABASE_URL.');
  const room = await roomFor(dataDirectory);
  const free = `${numberText(Math.floor(room / 1024 ** 2))} MB are free for ${dataDirectory}`;
  if (room >= SPARE_ROOM) return ok(`${free}.`);
  return warning(`${free}: make room, or set DATA_DIR to a folder on another disk.`);
}

/** In bytes, on the disk of a folder, or of the one to make it in. @throws OperationError */
async function roomFor(folder: string): Promise<number> {
  try {
    await access(folder, constants.W_OK);
    return await freeRoom(folder);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && dirname(folder) !== folder) return roomFor(dirname(folder));
    throw unusable(folder, error);
  }
}

function failure(error: unknown): Finding {
  if (error instanceof NoDatabaseError) return warning(`${error.message} dms serve makes a new one.`);
  if (error instanceof UnavailableError)
    return failed(`Nothing within ${LIMIT / 1000} seconds: see that what the settings name responds.`);
  return failed(explainFailure(error) ?? messageOf(error));
}
