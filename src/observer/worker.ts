import { setTimeout as pause } from 'node:timers/promises';
import { isDatabaseFailure } from '../database/database-failure.js';
import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { isContention } from '../recorder/contention.js';
import type { Recorder } from '../recorder/recorder.js';
import type { Logger } from '../telemetry/logging.js';
import type { ObservationTelemetry } from '../telemetry/observations.js';
import { ActiveChecks, type FinishedCheck } from './active-checks.js';
import type { DomainObserver } from './observe-domain.js';
import { type CheckOutcome, hasFailed, isOutage, outcomeOf } from './outcome.js';
import { type Counts, hasRoom, type Room } from './priority.js';
import { eventOf, recordChecks } from './record-checks.js';
import { type Completion, completeLeases, handBack, leaseDue, stillHeld } from './schedule/leases.js';
import { nextTime } from './schedule/next-time.js';

/** What a worker works with. */
export interface WorkerOptions {
  readonly prisma: PrismaClient;
  readonly observer: DomainObserver;
  readonly recorder: Recorder;
  readonly telemetry: ObservationTelemetry;
  readonly log: Logger;
  /** The wall clock. Those of all workers' machines should agree to a few seconds. */
  readonly now: () => Instant;
  /** How many domains it checks at once. */
  readonly concurrency: number;
  /** For how long it leases a domain, in milliseconds. A check times out at half of that. */
  readonly lease: number;
  /** How long it waits, in milliseconds, before it polls again when nothing more was due. */
  readonly idle: number;
}

/** A running worker. */
export interface Worker {
  /**
   * Leases no more domains, lets running checks finish, hands back the others, and settles when all is written.
   *
   * @param grace for running checks, in milliseconds.
   */
  stop(grace: number): Promise<void>;
}

/** How long, in milliseconds, finished checks wait for others to be recorded with, and free places to be filled. */
const GATHERING = 50;
/** Before the first poll, one domain of either priority may be due. */
const EITHER: Counts = { normal: 1, low: 1 };
const NOTHING: Counts = { normal: 0, low: 0 };
/** The pause, in milliseconds, after the database has failed. */
const AFTER_FAILURE = 1000;
/** How long, in milliseconds, a worker that stops waits for a database that does not respond. */
const WITHOUT_DATABASE = 5000;
/** Running checks and those that are not written yet, together, as a multiple of the concurrency. */
const MOST_UNWRITTEN = 2;
/** How many checks are recorded in one transaction at most. */
const BATCH = 256;

/** Observes what is due until it is stopped. Any number of workers share the work. */
export function startWorker(options: WorkerOptions): Worker {
  const stopping = new AbortController();
  const checks = new ActiveChecks(options.observer, options.lease / 2);
  const leasing = leaseDomains(options, checks, stopping.signal).then(() => checks.close());
  const done = Promise.all([leasing, writeFinished(options, checks)]);
  return {
    async stop(grace) {
      stopping.abort();
      const timers = [setTimeout(() => checks.abort(), grace)];
      // Leases of what is not written by then end by themselves.
      const givenUp = new Promise<void>((resolve) => {
        timers.push(setTimeout(resolve, grace + WITHOUT_DATABASE));
      });
      await Promise.race([done, givenUp]);
      checks.abandon();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Leases what is due, whenever there is room for more. */
async function leaseDomains(
  options: WorkerOptions,
  checks: ActiveChecks,
  stopping: AbortSignal,
): Promise<void> {
  const database = new DatabaseRetry(options.log);
  while (!stopping.aborted) {
    const room = roomFor(options, checks);
    const left = hasRoom(room, EITHER) ? await database.attempt(() => lease(options, checks, room)) : EITHER;
    await pauseUntilRoom(options, checks, left ?? NOTHING, stopping);
  }
}

/** Waits until there is room for what was left; others may be due after the idle time. */
async function pauseUntilRoom(
  options: WorkerOptions,
  checks: ActiveChecks,
  left: Counts,
  stopping: AbortSignal,
): Promise<void> {
  const end = performance.now() + options.idle;
  const step = left.normal + left.low > 0 ? GATHERING : options.idle;
  do {
    // Aborted, it rejects: the loop ends at once.
    await pause(step, undefined, { signal: stopping }).catch(() => undefined);
  } while (!stopping.aborted && performance.now() < end && !hasRoom(roomFor(options, checks), left));
}

/** How many domains may be leased: where the database is slow, finished checks do not pile up. */
function roomFor({ concurrency }: WorkerOptions, checks: ActiveChecks): Room {
  const { all, low } = checks.running;
  const free = Math.min(concurrency - all, MOST_UNWRITTEN * concurrency - checks.size);
  return { places: concurrency, free: Math.max(free, 0), low, latest: checks.latest };
}

/** @returns how many more may be due. */
async function lease(options: WorkerOptions, checks: ActiveChecks, room: Room): Promise<Counts> {
  const now = options.now();
  const { domains, left } = await leaseDue(options.prisma, now, now + BigInt(options.lease) * 1000n, room);
  for (const domain of domains) checks.begin(domain);
  return left;
}

/** Writes what is finished, while the next domains are checked. */
async function writeFinished(options: WorkerOptions, checks: ActiveChecks): Promise<void> {
  const database = new DatabaseRetry(options.log);
  while (await checks.waitForFinished()) {
    await pause(GATHERING);
    checks.releaseExpired(options.now());
    if (checks.hasFinished) await database.attempt(() => write(options, checks));
  }
}

async function write(options: WorkerOptions, checks: ActiveChecks): Promise<void> {
  const aborted = checks.aborted();
  if (aborted.length > 0) {
    await handBack(options.prisma, aborted);
    checks.release(aborted);
  }
  for (let batch = checks.finished(BATCH); batch.length > 0; batch = checks.finished(BATCH)) {
    const domains = batch.map(({ domain }) => domain);
    // A domain that is unwatched by now, or whose lease has ended, is not recorded.
    const held = await stillHeld(options.prisma, domains);
    await writeOrPostpone(
      options,
      batch.filter(({ domain }) => held.has(domain.name)),
    );
    checks.release(domains);
  }
}

/** A check that cannot be recorded does not keep the others of its batch from it. */
async function writeOrPostpone(options: WorkerOptions, batch: readonly FinishedCheck[]): Promise<void> {
  try {
    await writeBatch(options, batch);
  } catch (err) {
    if (isDatabaseFailure(err) || isContention(err)) throw err;
    const [first] = batch;
    if (first !== undefined && batch.length === 1) await postpone(options, first, err);
    else for (const finished of batch) await writeOrPostpone(options, [finished]);
  }
}

/** The domain is observed less and less often, as one that fails. */
async function postpone(options: WorkerOptions, finished: FinishedCheck, err: unknown): Promise<void> {
  options.log.error({ err, domain: finished.domain.name }, 'an observation could not be recorded');
  await completeLeases(options.prisma, [completionOf(finished, options.now(), undefined, true)]);
}

/**
 * Records checks and ends their leases. A worker that is killed between the two leaves domains that are observed
 * again when their leases end: an observation more, and none lost.
 */
async function writeBatch(options: WorkerOptions, batch: readonly FinishedCheck[]): Promise<void> {
  const { recorder, prisma, telemetry, now } = options;
  const recorded = await recordChecks(
    recorder.record,
    batch.map(({ check }) => check),
  );
  const time = now();
  const outcomes = new Map(recorded.map(({ check, outcome }) => [check, outcome]));
  await completeLeases(
    prisma,
    batch.map((finished) => completionOf(finished, time, outcomes.get(finished.check))),
  );
  for (const each of recorded) telemetry.observed(eventOf(each));
}

function completionOf(
  { domain, check }: FinishedCheck,
  now: Instant,
  outcome = outcomeOf(check.dns, check.http),
  isRejected = false,
): Completion {
  const failures = failuresAfter(domain.failures, outcome, isRejected);
  const next = nextTime({ ...domain, now, failures, chance: Math.random() });
  return { domain, observedAt: check.observedAt, outcome, failures, next };
}

/** An outage of our own resolvers must not put off every domain for a day. */
function failuresAfter(before: number, outcome: CheckOutcome, isRejected: boolean): number {
  if (!isRejected && !hasFailed(outcome)) return 0;
  return isOutage(outcome) ? before : before + 1;
}

/** Survives failures of the database, and logs the first of several in a row, and the recovery. */
class DatabaseRetry {
  readonly #log: Logger;
  #isFailing = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @returns undefined where it failed. */
  async attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      if (this.#isFailing) this.#log.info('the worker goes on: the database answers again');
      this.#isFailing = false;
      return result;
    } catch (err) {
      if (!this.#isFailing) this.#log.error({ err }, 'the worker waits for the database');
      this.#isFailing = true;
      await pause(AFTER_FAILURE);
      return undefined;
    }
  }
}
