import { setTimeout as pause } from 'node:timers/promises';
import { isDatabaseFailure } from '../database/database-failure.js';
import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { isContention } from '../recorder/contention.js';
import type { Recorder } from '../recorder/recorder.js';
import type { Logger } from '../telemetry/logging.js';
import type { ObservationTelemetry } from '../telemetry/observations.js';
import { type FinishedLook, LooksInHand } from './looks-in-hand.js';
import type { DomainObserver } from './observe-domain.js';
import { hasFailed, isOutage, type LookOutcome, outcomeOf } from './outcome.js';
import { type Counts, hasRoom, type Room } from './priority.js';
import { eventOf, recordLooks } from './record-looks.js';
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

/** So long, in milliseconds, finished looks wait for others to be recorded with, and free places to be filled. */
const GATHERING = 50;
/** Before anything was asked, one domain of either priority may be due. */
const EITHER: Counts = { normal: 1, low: 1 };
const NOTHING: Counts = { normal: 0, low: 0 };
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
  const progress: Progress = { takingIsOver: false, givenUp: false };
  const taken = takeDue(options, looks, stopping.signal).then(() => {
    progress.takingIsOver = true;
    looks.wake();
  });
  const written = writeFinished(options, looks, progress);
  return {
    async stop(grace) {
      stopping.abort();
      const limits = new AbortController();
      const ending = pause(grace, undefined, limits).then(() => looks.end());
      const givingUp = pause(grace + WITHOUT_DATABASE, undefined, limits);
      await Promise.race([Promise.all([taken, written]), givingUp]);
      progress.givenUp = true;
      looks.wake();
      limits.abort();
      await Promise.allSettled([ending, givingUp]);
    },
  };
}

/** How far a worker that stops has come. */
interface Progress {
  takingIsOver: boolean;
  /** The database does not answer: what is not written stays so, and its leases end by themselves. */
  givenUp: boolean;
}

/** Takes what is due, whenever there is room for more. */
async function takeDue(options: WorkerOptions, looks: LooksInHand, stopping: AbortSignal): Promise<void> {
  const database = new DatabaseTurns(options.log);
  while (!stopping.aborted) {
    const room = roomFor(options, looks);
    const left = hasRoom(room, EITHER) ? await database.turn(() => take(options, looks, room)) : EITHER;
    await pauseUntilRoom(options, looks, left ?? NOTHING, stopping);
  }
}

/** Waits until there is room for what was left; others may be due after the idle time. */
async function pauseUntilRoom(
  options: WorkerOptions,
  looks: LooksInHand,
  left: Counts,
  stopping: AbortSignal,
): Promise<void> {
  const end = performance.now() + options.idle;
  const step = left.normal + left.low > 0 ? GATHERING : options.idle;
  do await pauseUnless(stopping, step);
  while (!stopping.aborted && performance.now() < end && !hasRoom(roomFor(options, looks), left));
}

/** Writes what is finished, while the next domains are looked at. */
async function writeFinished(options: WorkerOptions, looks: LooksInHand, progress: Progress): Promise<void> {
  const database = new DatabaseTurns(options.log);
  while (!progress.givenUp && (!progress.takingIsOver || looks.size > 0)) {
    await looks.whenFinished();
    await pause(GATHERING);
    // Whoever takes a domain after its lease looks anew.
    looks.releaseExpired(options.now());
    if (looks.hasFinished) await database.turn(() => write(options, looks));
  }
}

/** How many domains may be taken: where the database is slow, what is finished does not pile up. */
function roomFor({ concurrency }: WorkerOptions, looks: LooksInHand): Room {
  const free = Math.min(concurrency - looks.looking, MOST_UNWRITTEN * concurrency - looks.size);
  return { places: concurrency, free: Math.max(free, 0), low: looks.lookingLow, latest: looks.latest };
}

/** @returns how many more may be due. */
async function take({ prisma, now, lease }: WorkerOptions, looks: LooksInHand, room: Room): Promise<Counts> {
  const time = now();
  const { domains, left } = await leaseDue(prisma, time, time + BigInt(lease) * 1000n, room);
  for (const domain of domains) looks.begin(domain);
  return left;
}

async function write(options: WorkerOptions, looks: LooksInHand): Promise<void> {
  const ended = looks.endedEarly();
  if (ended.length > 0) {
    await handBack(options.prisma, ended);
    looks.release(ended);
  }
  for (let batch = looks.finished(BATCH); batch.length > 0; batch = looks.finished(BATCH)) {
    await writeHeld(options, batch);
    looks.release(batch.map(({ domain }) => domain));
  }
}

/** A domain that is watched no longer, or whose lease has ended, is nothing of ours any more. */
async function writeHeld(options: WorkerOptions, batch: readonly FinishedLook[]): Promise<void> {
  const domains = batch.map(({ domain }) => domain);
  const held = await stillHeld(options.prisma, domains);
  await writeOrSetAside(
    options,
    batch.filter(({ domain }) => held.has(domain.name)),
  );
}

/** One look that cannot be recorded does not keep the others of its batch from it. */
async function writeOrSetAside(options: WorkerOptions, batch: readonly FinishedLook[]): Promise<void> {
  try {
    await writeBatch(options, batch);
  } catch (err) {
    if (isDatabaseFailure(err) || isContention(err)) throw err;
    const [first] = batch;
    if (first !== undefined && batch.length === 1) await setAside(options, first, err);
    else for (const finished of batch) await writeOrSetAside(options, [finished]);
  }
}

/** The domain is observed again as one that fails is: less and less often. */
async function setAside(options: WorkerOptions, finished: FinishedLook, err: unknown): Promise<void> {
  options.log.error({ err, domain: finished.domain.name }, 'an observation could not be recorded');
  await completeLeases(options.prisma, [completionOf(finished, options.now(), undefined, true)]);
}

/**
 * Records looks and ends their leases. Killed between the two, it leaves a domain that is observed
 * again when its lease ends: an observation more, and none lost.
 */
async function writeBatch(options: WorkerOptions, batch: readonly FinishedLook[]): Promise<void> {
  const { recorder, prisma, telemetry, now } = options;
  const recorded = await recordLooks(
    recorder.record,
    batch.map(({ look }) => look),
  );
  const time = now();
  const outcomes = new Map(recorded.map(({ look, outcome }) => [look, outcome]));
  await completeLeases(
    prisma,
    batch.map((finished) => completionOf(finished, time, outcomes.get(finished.look))),
  );
  for (const look of recorded) telemetry.observed(eventOf(look));
}

function completionOf(
  { domain, look }: FinishedLook,
  now: Instant,
  outcome = outcomeOf(look.dns, look.http),
  refused = false,
): Completion {
  const failures = failuresAfter(domain.failures, outcome, refused);
  const next = nextTime({ ...domain, now, failures, chance: Math.random() });
  return { domain, observedAt: look.observedAt, outcome, failures, next };
}

/** An outage of our own resolvers must not put off every domain for a day. */
function failuresAfter(before: number, outcome: LookOutcome, refused: boolean): number {
  if (!refused && !hasFailed(outcome)) return 0;
  return isOutage(outcome) ? before : before + 1;
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
