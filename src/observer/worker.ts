import { setTimeout as pause } from 'node:timers/promises';
import { isDatabaseFailure } from '../database/database-failure.js';
import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { isContention } from '../recorder/contention.js';
import type { Recorder } from '../recorder/recorder.js';
import type { Logger } from '../telemetry/logging.js';
import type { Room } from './limiter.js';
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
  /** In milliseconds. A check times out at half of that. */
  readonly lease: number;
  /** In milliseconds, before it polls again when nothing more was due. */
  readonly idle: number;
}

/** In milliseconds: finished checks wait for others to be recorded with, and free places to be filled. */
const GATHERING = 50;
/** In milliseconds: the pause after the database has failed. */
const AFTER_FAILURE = 1000;
/** In milliseconds: how long a worker that stops waits for a database that does not respond. */
const WITHOUT_DATABASE = 5000;
/** Running checks and those not written yet, together, as a multiple of the concurrency. */
const MAX_UNWRITTEN = 2;
/** Checks that are recorded in one transaction. */
const BATCH = 256;

interface FinishedCheck {
  readonly domain: LeasedDomain;
  readonly check: DomainCheck;
}

/** Observes what is due until it is stopped. Any number of workers share the work. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #stopping = new AbortController();
  readonly #clock = new LookClock();
  readonly #leasing: Promise<void>;
  readonly #running = new Map<LeasedDomain, { readonly controller: AbortController; ended: Promise<void> }>();
  readonly #aborted: LeasedDomain[] = [];
  #unwritten: FinishedCheck[] = [];
  #writing: Promise<void> | undefined;
  readonly #faulty = new Set<'clock' | 'database'>();
  #isAbandoned = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#leasing = this.#leaseDomains();
  }

  /** Settles when all is written or handed back. @param grace For running checks, in milliseconds. */
  async stop(grace: number): Promise<void> {
    this.#stopping.abort();
    const abort = setTimeout(() => {
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
    if (this.#aborted.length > 0) await this.#attempt(() => handBack(this.#options.prisma, this.#aborted));
  }

  async #leaseDomains(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#pauseUntilRoom(await this.#lease());
    }
  }

  /** @returns beyond how many free places more may be leased; undefined: nothing more is due. */
  async #lease(): Promise<number | undefined> {
    const { now, prisma, lease } = this.#options;
    const time = now();
    const fault = this.#clock.faultOf(time);
    this.#note('clock', fault);
    if (fault !== null) return undefined;
    const room = this.#room();
    if (room.free === 0) return 0;
    const until = time + BigInt(lease) * 1000n;
    const leased = await this.#attempt(() => leaseDue(prisma, time, until, room));
    const observedAt = now();
    for (const domain of leased?.domains ?? []) {
      // Not AbortSignal.any: it leaks where one of its signals lives long (nodejs/node#55351), and on Node.js
      // 20 one with an AbortSignal.timeout can be collected before it fires.
      const controller = new AbortController();
      if (this.#stopping.signal.aborted) this.#aborted.push(domain);
      else this.#running.set(domain, { controller, ended: this.#check(domain, observedAt, controller) });
    }
    if (leased?.mayBeMore !== true) return undefined;
    return leased.isOutrun ? -1 : this.#room().free;
  }

  async #check(domain: LeasedDomain, observedAt: Instant, controller: AbortController): Promise<void> {
    const { observer, lease } = this.#options;
    const timer = setTimeout(() => controller.abort(CHECK_TIMEOUT), lease / 2);
    const { signal } = controller;
    const check = await observer.check(domain.name, observedAt, signal, priorityOf(domain));
    clearTimeout(timer);
    this.#running.delete(domain);
    if (signal.aborted && signal.reason !== CHECK_TIMEOUT) {
      this.#aborted.push(domain);
      return;
    }
    this.#unwritten.push({ domain, check });
    this.#writing ??= this.#writeFinished();
  }

  /** How many domains may be leased: where the database is slow, finished checks do not pile up. */
  #room(): Room {
    const { concurrency } = this.#options;
    const low = [...this.#running.keys()].filter((domain) => priorityOf(domain) === 'low').length;
    const most = Math.min(concurrency, MAX_UNWRITTEN * concurrency - this.#unwritten.length);
    return { places: concurrency, free: Math.max(most - this.#running.size, 0), low };
  }

  /** Waits until more places than these are free, or for the idle time. */
  async #pauseUntilRoom(places: number | undefined): Promise<void> {
    const { signal } = this.#stopping;
    const { idle } = this.#options;
    const end = performance.now() + idle;
    const step = places === undefined ? idle : GATHERING;
    do {
      // Aborted, it rejects: the loop ends at once.
      await pause(step, undefined, { signal }).catch(() => undefined);
    } while (!signal.aborted && performance.now() < end && this.#room().free <= (places ?? 0));
  }

  async #writeFinished(): Promise<void> {
    while (this.#unwritten.length > 0 && !this.#isAbandoned) {
      await pause(GATHERING);
      await this.#attempt(() => this.#write());
    }
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    while (this.#unwritten.length > 0) {
      const batch = this.#unwritten.slice(0, BATCH);
      const leased = batch.map(({ domain }) => domain);
      const held = await stillHeld(this.#options.prisma, leased);
      // A domain that is unwatched by now, or that another worker has leased since, is not recorded.
      await this.#writeBatch(batch.filter(({ domain }) => held.has(domain.name)));
      this.#unwritten.splice(0, batch.length);
    }
  }

  /**
   * Records checks and ends their leases. A worker that is killed between the two leaves domains that are
   * observed again when their leases end: an observation more, and none lost. A check that cannot be recorded
   * does not keep the others of its batch from it.
   */
  async #writeBatch(batch: readonly FinishedCheck[]): Promise<void> {
    if (batch.length === 0) return;
    const { recorder, prisma, report, now, log } = this.#options;
    const checks = batch.map(({ check }) => check);
    try {
      const recorded = await recordChecks(recorder.record, checks);
      const time = now();
      const completions = batch.map((each, at) => completionOf(each, time, recorded[at]?.outcome));
      await completeLeases(prisma, completions);
      for (const each of recorded) report(each);
    } catch (err) {
      if (isDatabaseFailure(err) || isContention(err)) throw err;
      for (const each of batch) {
        if (batch.length > 1) await this.#writeBatch([each]);
        else {
          log.error({ err, domain: each.domain.name }, 'an observation could not be recorded');
          await completeLeases(prisma, [completionOf(each, now())]);
        }
      }
    }
  }

  /** Survives failures of the database. */
  async #attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      this.#note('database', null);
      return result;
    } catch (err) {
      this.#note('database', 'the worker waits for the database', err);
      await pause(AFTER_FAILURE);
      return undefined;
    }
  }

  /** Logs the first of several faults in a row, and the recovery. */
  #note(part: 'clock' | 'database', fault: string | null, err?: unknown): void {
    const { log } = this.#options;
    if (this.#faulty.has(part) === (fault !== null)) return;
    if (fault === null) {
      this.#faulty.delete(part);
      log.info(`the worker continues: the ${part} is right again`);
    } else {
      this.#faulty.add(part);
      log.error({ err }, fault);
    }
  }
}

/** @param recorded Undefined: it could not be recorded, which counts as a failure, whatever was observed. */
function completionOf({ domain, check }: FinishedCheck, now: Instant, recorded?: CheckOutcome): Completion {
  const outcome = recorded ?? outcomeOf(check.dns, check.http);
  // An outage of our own resolvers must not put off every domain for a day.
  const inRow = domain.failures + (isOutage(outcome) ? 0 : 1);
  const failures = recorded === undefined || hasFailed(outcome) ? inRow : 0;
  const next = nextTime(domain, failures, now, Math.random());
  return { domain, observedAt: check.observedAt, outcome, failures, next };
}
