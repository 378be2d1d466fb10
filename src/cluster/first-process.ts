import cluster, { type Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CountsInMemory } from '../limits/counts.js';
import type { Logger } from '../telemetry/logging.js';
import { processMetrics } from '../telemetry/process-metrics.js';
import { type MetricValues, SummedMetrics } from '../telemetry/summed-metrics.js';
import type { FromFirst, FromMember } from './messages.js';

/** What a process runs: not bin/dms.js, which would install and build a checkout that has changed, under the others. */
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));

// All in milliseconds.

/** A process that lived for so long is replaced at once. */
const STEADY = 10_000;
/** Before one that lived shorter is replaced; twice as long each time that its successor does, too. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;
/** More than a process takes to stop besides, where neither the database nor the receiver of traces responds (docs/operating.md). */
const LONGEST_CLOSING = 20_000;
/** A scrape does not wait longer for a process: what it had at the scrape before counts then. */
const LONGEST_COLLECTION = 3_000;

/** How a process has ended: by a code of its own, or by a signal; both null: it could not be started. */
interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The error for a process that has ended instead of serving. It has printed why, unless a signal ended it. */
export class ProcessEndedError extends Error {
  readonly end: ProcessEnd;

  constructor(end: ProcessEnd) {
    super(`A process ended while it started (${end.signal ?? `code ${end.code}`}).`);
    this.end = end;
  }
}

/** A process, and after it those that replace it. */
interface Place {
  readonly isLeader: boolean;
  /** Null: it has ended. */
  worker: Worker | null;
  isServing: boolean;
  /** As they were last read. */
  metrics: MetricValues;
  readonly collecting: Map<number, (metrics: MetricValues) => void>;
}

interface Running {
  /** Its welcome, once it serves. */
  readonly serving: Promise<string>;
  readonly ended: Promise<ProcessEnd>;
}

/**
 * The process that starts those that serve, and replaces one that ends. Connections to their port come in here, and each of
 * them gets one in turn (node:cluster). What they have in common is here: the counts of clients, and the metrics.
 */
export class FirstProcess {
  readonly #log: Logger;
  readonly #counts = new CountsInMemory();
  readonly #metrics = new SummedMetrics();
  readonly #leader = newPlace(true);
  readonly #others: readonly Place[];
  readonly #running = new Set<Promise<ProcessEnd & { readonly wasServing: boolean }>>();
  readonly #stopping = new AbortController();
  #collections = 0;
  /** Whether a process did not stop. */
  #hasKilled = false;

  /** @param count How many processes serve. */
  constructor(count: number, log: Logger) {
    this.#log = log;
    cluster.setupPrimary({ exec: PROGRAM });
    this.#others = Array.from({ length: count - 1 }, () => newPlace(false));
  }

  /**
   * Starts the first process that serves, and the others when it does: it migrates the database.
   *
   * @returns its welcome, when all serve.
   * @throws ProcessEndedError if one ends instead. The others are to be stopped then.
   */
  async start(): Promise<string> {
    const leader = this.#fork(this.#leader);
    const welcome = await served(leader);
    if (this.#stopping.signal.aborted) return welcome;
    const others = this.#others.map((place) => ({ place, running: this.#fork(place) }));
    await Promise.all(others.map(({ running }) => served(running)));
    for (const { place, running } of [{ place: this.#leader, running: leader }, ...others]) {
      void this.#keep(place, running);
    }
    return welcome;
  }

  /**
   * Has all complete what is in progress.
   *
   * @param timeout How long, in milliseconds, that may take in a process.
   * @returns whether all did so, and ended with code 0.
   */
  async stop(timeout: number): Promise<boolean> {
    this.#stopping.abort();
    for (const { worker } of this.#places()) tell(worker, { kind: 'stop' });
    const killing = setTimeout(() => this.#killHanging(), timeout + LONGEST_CLOSING);
    const ends = await Promise.all(this.#running);
    clearTimeout(killing);
    // One that ended by itself before it served had nothing to complete.
    return !this.#hasKilled && ends.every(({ code, wasServing }) => code === 0 || !wasServing);
  }

  #killHanging(): void {
    for (const { worker, isServing, isLeader } of this.#places()) {
      // The leader may be migrating the database while it starts: it stops when it has done that.
      if (worker === null || (isLeader && !isServing)) continue;
      this.#hasKilled = true;
      this.#log.error({ pid: worker.process.pid }, 'a process does not stop: it is killed');
      worker.process.kill('SIGKILL');
    }
  }

  /** Ends those that do not serve yet. */
  abandonStart(): void {
    for (const { worker, isServing } of this.#places()) if (!isServing) worker?.process.kill('SIGKILL');
  }

  #places(): readonly Place[] {
    return [this.#leader, ...this.#others];
  }

  #fork(place: Place): Running {
    const worker = cluster.fork();
    place.worker = worker;
    const ended = new Promise<ProcessEnd>((resolve) => {
      worker.once('exit', (code: number | null, signal: string | null) => resolve({ code, signal }));
      worker.on('error', () => resolve({ code: null, signal: null }));
    });
    const gone = ended.then((end) => {
      this.#running.delete(gone);
      const { isServing: wasServing } = place;
      this.#metrics.keep(place.metrics);
      Object.assign(place, newPlace(place.isLeader));
      return { ...end, wasServing };
    });
    this.#running.add(gone);
    const serving = new Promise<string>((resolve) => {
      worker.on('message', (message: FromMember) => {
        if (message.kind === 'serving') {
          place.isServing = true;
          resolve(message.welcome);
        } else this.#receive(place, worker, message);
      });
    });
    return { serving, ended: gone };
  }

  /** Replaces the process of a place each time that it ends, until all are stopped. */
  async #keep(place: Place, first: Running): Promise<void> {
    const { signal } = this.#stopping;
    let began = Number.NEGATIVE_INFINITY;
    let wait = 0;
    for (let running = first; ; running = this.#fork(place)) {
      const end = await running.ended;
      if (signal.aborted) return;
      const isSteady = performance.now() - began > STEADY;
      wait = isSteady ? 0 : Math.min(Math.max(FIRST_PAUSE, 2 * wait), LONGEST_PAUSE);
      this.#log.error({ ...end, pause: wait }, 'a process has ended: another one replaces it');
      await pause(wait, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      began = performance.now();
    }
  }

  #receive(place: Place, worker: Worker, message: Exclude<FromMember, { kind: 'serving' }>): void {
    switch (message.kind) {
      case 'joined':
        tell(worker, { kind: 'begin', isLeader: place.isLeader });
        if (this.#stopping.signal.aborted) tell(worker, { kind: 'stop' });
        break;
      case 'count':
        tell(worker, {
          kind: 'counted',
          counted: message.consumptions.map((consumption) => this.#counts.count(consumption)),
        });
        break;
      case 'scrape':
        void this.#scrape().then((text) => tell(worker, { kind: 'scraped', scrape: message.scrape, text }));
        break;
      case 'metrics':
        place.metrics = message.metrics;
        place.collecting.get(message.collection)?.(message.metrics);
        break;
    }
  }

  /** The metrics of all; null if they could not be read. */
  async #scrape(): Promise<string | null> {
    try {
      const ofFirst = await processMetrics().getMetricsAsJSON();
      const collected = await Promise.all(
        this.#places().map(async (place) => {
          const { worker } = place;
          return { place, worker, metrics: await this.#collect(place) };
        }),
      );
      // Those of a process that has ended meanwhile are in the sum already.
      const ofServing = collected.filter(({ place, worker }) => place.worker === worker);
      return await this.#metrics.text(
        ofFirst,
        ofServing.map(({ metrics }) => metrics),
      );
    } catch (err) {
      this.#log.error({ err }, 'metrics failed');
      return null;
    }
  }

  async #collect(place: Place): Promise<MetricValues> {
    if (!place.isServing) return [];
    this.#collections += 1;
    const collection = this.#collections;
    const collected = new Promise<MetricValues>((resolve) => {
      place.collecting.set(collection, resolve);
      tell(place.worker, { kind: 'collect', collection });
    });
    const { collecting } = place;
    const inTime = await Promise.race([collected, pause(LONGEST_COLLECTION, undefined, { ref: false })]);
    collecting.delete(collection);
    return inTime ?? place.metrics;
  }
}

function newPlace(isLeader: boolean): Place {
  return { isLeader, worker: null, isServing: false, metrics: [], collecting: new Map() };
}

/** Settles with its welcome. @throws ProcessEndedError if it ends instead. */
function served({ serving, ended }: Running): Promise<string> {
  const failed = ended.then((end): never => {
    throw new ProcessEndedError(end);
  });
  return Promise.race([serving, failed]);
}

/** Sends a message, unless the process is about to end. */
function tell(worker: Worker | null, message: FromFirst): void {
  worker?.send(message, () => {});
}
