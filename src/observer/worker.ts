import { setTimeout as pause } from 'node:timers/promises';
import { isDatabaseFailure } from '../database/database-failure.js';
import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { isContention } from '../recorder/contention.js';
import type { Recorder } from '../recorder/recorder.js';
import type { Logger } from '../telemetry/logging.js';
import { type Counts, hasRoom, type Priority, type Room } from './limiter.js';
import { LookClock } from './look-clock.js';
import { CHECK_TIMEOUT, type DomainCheck, type DomainObserver } from './observe-domain.js';
import { type CheckOutcome, hasFailed, isOutage, outcomeOf } from './outcome.js';
import { type ReportCheck, recordChecks } from './record-checks.js';
import {
  type Completion,
  completeLeases,
  handBack,
  type LeasedDomain,
  leaseDue,
  nextTime,
  priorityOf,
  stillHeld,
} from './schedule/leases.js';

interface WorkerOptions {
  readonly prisma: PrismaClient;
  readonly observer: DomainObserver;
  readonly recorder: Recorder;
  readonly report: ReportCheck;
  readonly log: Logger;
  /** The wall clock. Those of all workers' machines should agree to a few seconds. */
  readonly now: () => Instant;
  readonly concurrency: number;
  /** For how long it leases a domain, in milliseconds. A check times out at half of that. */
  readonly lease: number;
  /** How long it waits, in milliseconds, before it polls again when nothing more was due. */
  readonly idle: number;
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

interface RunningCheck {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** A leased domain and its check; null: it was aborted, or the clock is wrong, and it is checked again. */
interface FinishedCheck {
  readonly domain: LeasedDomain;
  readonly check: DomainCheck | null;
}

interface CheckedDomain extends FinishedCheck {
  readonly check: DomainCheck;
}

/** Observes what is due until it is stopped. Any number of workers share the work. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #stopping = new AbortController();
  readonly #clock = new LookClock();
  readonly #leasing: Promise<void>;
  readonly #running = new Map<LeasedDomain, RunningCheck>();
  #latest: Priority | undefined;
  #unwritten: FinishedCheck[] = [];
  #writing: Promise<void> | undefined;
  #isClockWrong = false;
  #isDatabaseFailing = false;
  #isAborting = false;
  #isAbandoned = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#leasing = this.#leaseDomains();
  }

  /**
   * Leases no more domains, lets running checks finish, hands back the others, and settles when all is written.
   *
   * @param grace for running checks, in milliseconds.
   */
  async stop(grace: number): Promise<void> {
    this.#stopping.abort();
    const abort = setTimeout(() => {
      this.#isAborting = true;
      for (const { controller } of this.#running.values()) controller.abort();
    }, grace);
    // Leases of what is not written by then end by themselves.
    await Promise.race([this.#finish(), pause(grace + WITHOUT_DATABASE, undefined, { ref: false })]);
    this.#isAbandoned = true;
    clearTimeout(abort);
  }

  async #finish(): Promise<void> {
    await this.#leasing;
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    await this.#writing;
  }

  async #leaseDomains(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const room = this.#room();
      let left: Counts | undefined = NOTHING;
      if (this.#isTimeRight()) {
        left = hasRoom(room, EITHER) ? await this.#attempt(() => this.#lease(room)) : EITHER;
      }
      await this.#pauseUntilRoom(left ?? NOTHING);
    }
  }

  /** Logs the first fault of the clock, and that it is right again. */
  #isTimeRight(): boolean {
    const { log, now } = this.#options;
    const fault = this.#clock.faultOf(now());
    if (fault !== null && !this.#isClockWrong) log.error(fault);
    if (fault === null && this.#isClockWrong) log.info('the worker continues: the clock is right again');
    this.#isClockWrong = fault !== null;
    return fault === null;
  }

  /** @returns how many more may be due. */
  async #lease(room: Room): Promise<Counts> {
    const now = this.#options.now();
    const until = now + BigInt(this.#options.lease) * 1000n;
    const { domains, left } = await leaseDue(this.#options.prisma, now, until, room);
    for (const domain of domains) this.#start(domain);
    return left;
  }

  #start(domain: LeasedDomain): void {
    // Not AbortSignal.any: it leaks where one of its signals lives long (nodejs/node#55351), and on Node.js 20 one
    // with an AbortSignal.timeout can be collected before it fires.
    const controller = new AbortController();
    if (this.#isAborting) controller.abort();
    this.#latest = priorityOf(domain);
    this.#running.set(domain, { controller, ended: this.#check(domain, controller) });
  }

  async #check(domain: LeasedDomain, controller: AbortController): Promise<void> {
    const { observer, lease } = this.#options;
    const timer = setTimeout(() => controller.abort(CHECK_TIMEOUT), lease / 2);
    const check = await observer.check(domain.name, controller.signal, priorityOf(domain));
    clearTimeout(timer);
    this.#running.delete(domain);
    const isVoid = this.#isAborting || check.clockFault !== undefined;
    this.#unwritten.push({ domain, check: isVoid ? null : check });
    this.#writing ??= this.#writeFinished();
  }

  /** How many domains may be leased: where the database is slow, finished checks do not pile up. */
  #room(): Room {
    const { concurrency } = this.#options;
    const low = [...this.#running.keys()].filter((domain) => priorityOf(domain) === 'low').length;
    const most = Math.min(concurrency, MOST_UNWRITTEN * concurrency - this.#unwritten.length);
    const free = Math.max(most - this.#running.size, 0);
    return { places: concurrency, free, low, latest: this.#latest };
  }

  /** Waits until there is room for what was left; others may be due after the idle time. */
  async #pauseUntilRoom(left: Counts): Promise<void> {
    const { signal } = this.#stopping;
    const end = performance.now() + this.#options.idle;
    const step = left.normal + left.low > 0 ? GATHERING : this.#options.idle;
    do {
      // Aborted, it rejects: the loop ends at once.
      await pause(step, undefined, { signal }).catch(() => undefined);
    } while (!signal.aborted && performance.now() < end && !hasRoom(this.#room(), left));
  }

  async #writeFinished(): Promise<void> {
    while (this.#unwritten.length > 0 && !this.#isAbandoned) {
      await pause(GATHERING);
      // A domain whose lease has ended before its check could be written is leased and checked by another worker.
      const now = this.#options.now();
      this.#unwritten = this.#unwritten.filter(({ domain }) => domain.until > now);
      await this.#attempt(() => this.#write());
    }
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    const { prisma } = this.#options;
    while (this.#unwritten.length > 0) {
      const batch = this.#unwritten.slice(0, BATCH);
      const aborted = batch.flatMap(({ domain, check }) => (check === null ? domain : []));
      if (aborted.length > 0) await handBack(prisma, aborted);
      const leased = batch.map(({ domain }) => domain);
      const held = await stillHeld(prisma, leased);
      // A domain that is unwatched by now, or whose lease has ended, is not recorded.
      const isHeld = (each: FinishedCheck): each is CheckedDomain =>
        each.check !== null && held.has(each.domain.name);
      await this.#writeOrPostpone(batch.filter(isHeld));
      this.#unwritten.splice(0, batch.length);
    }
  }

  /** A check that cannot be recorded does not prevent recording the others of its batch. */
  async #writeOrPostpone(batch: readonly CheckedDomain[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      await this.#writeBatch(batch);
    } catch (err) {
      if (isDatabaseFailure(err) || isContention(err)) throw err;
      for (const checked of batch) {
        if (batch.length > 1) await this.#writeOrPostpone([checked]);
        else await this.#postpone(checked, err);
      }
    }
  }

  /** The domain is observed less and less often, as one that fails. */
  async #postpone(checked: CheckedDomain, err: unknown): Promise<void> {
    const { log, now, prisma } = this.#options;
    log.error({ err, domain: checked.domain.name }, 'an observation could not be recorded');
    await completeLeases(prisma, [completionOf(checked, now(), undefined, true)]);
  }

  /**
   * Records checks and ends their leases. A worker that is killed between the two leaves domains that are observed
   * again when their leases end: an observation more, and none lost.
   */
  async #writeBatch(batch: readonly CheckedDomain[]): Promise<void> {
    const { recorder, prisma, report, now } = this.#options;
    const recorded = await recordChecks(
      recorder.record,
      batch.map(({ check }) => check),
    );
    const time = now();
    const outcomes = new Map(recorded.map(({ check, outcome }) => [check, outcome]));
    const completions = batch.map((checked) => completionOf(checked, time, outcomes.get(checked.check)));
    await completeLeases(prisma, completions);
    for (const each of recorded) report(each);
  }

  /** Survives failures of the database, and logs the first of several in a row, and the recovery. */
  async #attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    const { log } = this.#options;
    try {
      const result = await work();
      if (this.#isDatabaseFailing) log.info('the worker continues: the database is available again');
      this.#isDatabaseFailing = false;
      return result;
    } catch (err) {
      if (!this.#isDatabaseFailing) log.error({ err }, 'the worker waits for the database');
      this.#isDatabaseFailing = true;
      await pause(AFTER_FAILURE);
      return undefined;
    }
  }
}

/** @param isRejected The check could not be recorded: it counts as a failure, whatever it observed. */
function completionOf(
  { domain, check }: CheckedDomain,
  now: Instant,
  outcome: CheckOutcome = outcomeOf(check.dns, check.http),
  isRejected = false,
): Completion {
  // An outage of our own resolvers must not put off every domain for a day.
  const inRow = domain.failures + (isOutage(outcome) ? 0 : 1);
  const failures = isRejected || hasFailed(outcome) ? inRow : 0;
  const next = nextTime({ ...domain, now, failures, chance: Math.random() });
  return { domain, observedAt: check.observedAt, outcome, failures, next };
}
