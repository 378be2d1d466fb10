import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Instant } from '../model/instant.js';
import type { Recorder } from '../recorder/recorder.js';
import type { Logger } from '../telemetry/logging.js';
import type { ObservationTelemetry } from '../telemetry/observations.js';
import { type FinishedLook, LooksInHand } from './looks-in-hand.js';
import type { DomainObserver } from './observe-domain.js';
import { hasFailed, outcomeOf } from './outcome.js';
import { eventOf, recordLooks } from './record-looks.js';
import { type Completion, completeLeases, handBack, leaseDue } from './schedule/leases.js';
import { nextTime } from './schedule/next-time.js';

/** What a worker works with. */
export interface WorkerOptions {
  readonly pool: Pool;
  readonly observer: DomainObserver;
  readonly recorder: Recorder;
  readonly telemetry: ObservationTelemetry;
  readonly log: Logger;
  /** The wall clock. Those of all workers' machines should agree to a few seconds. */
  readonly now: () => Instant;
  /** How many domains it looks at at once. */
  readonly concurrency: number;
  /** For how long it takes a domain from the others, in milliseconds. A look ends at half of that. */
  readonly lease: number;
  /** How long it waits, in milliseconds, before it asks again when nothing more was due. */
  readonly idle: number;
}

/** A running worker. */
export interface Worker {
  /**
   * Takes no more domains, gives those in hand the time to finish, hands back the others, and settles
   * when all is written. The observer stays open.
   *
   * @param grace in milliseconds.
   */
  stop(grace: number): Promise<void>;
}

/** Finished looks wait so long, in milliseconds, for others to be recorded with. */
const GATHERING = 50;
/** The pause, in milliseconds, after the database has failed. */
const AFTER_FAILURE = 1000;
/** How long, in milliseconds, a worker that stops waits for a database that does not answer. */
const WITHOUT_DATABASE = 5000;
/** So many times the domains that are looked at may be in hand, those included that are not written yet. */
const MOST_UNWRITTEN = 2;
/** So many looks are recorded in one transaction at most. */
const BATCH = 256;

/** Observes what is due, for as long as it runs. Any number of workers share the work. */
export function startWorker(options: WorkerOptions): Worker {
  const stopping = new AbortController();
  const looks = new LooksInHand(options.observer, options.lease / 2);
  const database = new DatabaseTurns(options.log);
  const taking = { over: false };
  const taken = takeDue(options, looks, database, stopping.signal).then(() => {
    taking.over = true;
    looks.wake();
  });
  const written = writeFinished(options, looks, database, taking);
  return {
    async stop(grace) {
      stopping.abort();
      const limits = new AbortController();
      const ending = pause(grace, undefined, limits).then(() => looks.end());
      const givingUp = pause(grace + WITHOUT_DATABASE, undefined, limits);
      await Promise.race([Promise.all([taken, written]), givingUp]);
      limits.abort();
      await Promise.allSettled([ending, givingUp]);
    },
  };
}

/** Takes what is due, whenever there is room for more. */
async function takeDue(
  options: WorkerOptions,
  looks: LooksInHand,
  database: DatabaseTurns,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const room = roomFor(options, looks);
    const taken = room > 0 ? await database.turn(() => take(options, looks, room)) : room;
    // Less than was asked for says that nothing more is due.
    await pauseUnless(stopping, taken === room ? GATHERING : options.idle);
  }
}

/** Writes what is finished, while the next domains are looked at. */
async function writeFinished(
  options: WorkerOptions,
  looks: LooksInHand,
  database: DatabaseTurns,
  taking: { readonly over: boolean },
): Promise<void> {
  while (!taking.over || looks.size > 0) {
    await looks.whenFinished();
    await pause(GATHERING);
    await database.turn(() => write(options, looks));
  }
}

/** How many domains may be taken: where the database is slow, what is finished does not pile up. */
function roomFor({ concurrency }: WorkerOptions, looks: LooksInHand): number {
  return Math.min(concurrency - looks.looking, MOST_UNWRITTEN * concurrency - looks.size);
}

async function take({ pool, now, lease }: WorkerOptions, looks: LooksInHand, most: number): Promise<number> {
  const time = now();
  const domains = await leaseDue(pool, time, time + BigInt(lease) * 1000n, most);
  for (const domain of domains) looks.begin(domain);
  return domains.length;
}

async function write(options: WorkerOptions, looks: LooksInHand): Promise<void> {
  // Whoever takes a domain after its lease looks anew.
  looks.releaseExpired(options.now());
  const ended = looks.endedEarly();
  if (ended.length > 0) {
    await handBack(options.pool, ended);
    looks.release(ended);
  }
  for (let batch = looks.finished(BATCH); batch.length > 0; batch = looks.finished(BATCH)) {
    await writeOrSetAside(options, batch);
    looks.release(batch.map(({ domain }) => domain));
  }
}

/** One look that the database refuses does not keep the others of its batch from being recorded. */
async function writeOrSetAside(options: WorkerOptions, batch: readonly FinishedLook[]): Promise<void> {
  try {
    await writeBatch(options, batch);
  } catch (err) {
    if (!isAboutData(err)) throw err;
    if (batch.length === 1) {
      options.log.error({ err, domain: batch[0]?.domain.name }, 'an observation could not be recorded');
    }
    for (const finished of batch.length === 1 ? [] : batch) await writeOrSetAside(options, [finished]);
  }
}

/** SQLSTATE classes 22 (data exception), 23 (integrity constraint violation), 54 (program limit exceeded). */
function isAboutData(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(22|23|54)/.test(String(error.code));
}

/**
 * Records looks and ends their leases. Killed between the two, it leaves a domain that is observed
 * again when its lease ends: an observation more, and none lost.
 */
async function writeBatch(options: WorkerOptions, batch: readonly FinishedLook[]): Promise<void> {
  const { recorder, pool, telemetry, now } = options;
  const recorded = await recordLooks(
    recorder,
    batch.map(({ look }) => look),
  );
  const time = now();
  await completeLeases(
    pool,
    batch.map((finished) => completionOf(finished, time)),
  );
  for (const look of recorded) telemetry.observed(eventOf(look));
}

function completionOf({ domain, look }: FinishedLook, now: Instant): Completion {
  const outcome = outcomeOf(look.dns, look.http);
  const failures = hasFailed(outcome) ? domain.failures + 1 : 0;
  const next = nextTime({ ...domain, now, failures, chance: Math.random() });
  return { domain, observedAt: look.observedAt, outcome, failures, next };
}

/** Goes on where the database fails: it is tried again, and the log tells when it went and came back. */
class DatabaseTurns {
  private readonly log: Logger;
  private failing = false;

  constructor(log: Logger) {
    this.log = log;
  }

  /** @returns undefined where it failed. */
  async turn<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      if (this.failing) this.log.info('the worker goes on: the database answers again');
      this.failing = false;
      return result;
    } catch (err) {
      if (!this.failing) this.log.error({ err }, 'the worker waits for the database');
      this.failing = true;
      await pause(AFTER_FAILURE);
      return undefined;
    }
  }
}

async function pauseUnless(stopping: AbortSignal, milliseconds: number): Promise<void> {
  // Aborted, it rejects: the loop goes on at once.
  await pause(milliseconds, undefined, { signal: stopping }).catch(() => {});
}
