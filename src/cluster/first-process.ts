import cluster, { type Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AggregatorRegistry } from 'prom-client';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import type { Logger } from '../telemetry/logging.js';
import { processMetrics } from '../telemetry/process-metrics.js';
import { type FromMember, LEADS, type MetricsOfAll } from './member.js';

/** Not bin/dms.js, which would build a checkout that has changed, under the others. */
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));

/** In milliseconds: a process that replaces another is itself replaced no earlier. */
const SHORTEST_LIFE = 5_000;
/** In milliseconds: more than a process takes to stop where neither database nor traces' receiver responds. */
const MAX_CLOSING = 20_000;

/** A process has ended instead of serving. It has printed why, unless a signal ended it. */
export class ProcessEndedError extends Error {
  /** Null: a signal ended it, or it could not be started. */
  readonly code: number | null;

  constructor(code: number | null, signal: string | null) {
    super(`A process ended while it started (${signal ?? `code ${code}`}).`);
    this.code = code;
  }
}

/**
 * Starts the processes that serve, and replaces one that ends. Connections to their port come in here, and each
 * of them gets one in turn (node:cluster). Clients are counted here.
 */
export class FirstProcess {
  readonly #log: Logger;
  readonly #metrics = new AggregatorRegistry();
  readonly #running = new Map<Worker, Promise<unknown>>();
  readonly #stopping = new AbortController();
  /** A process that served did not stop by itself, with code 0. */
  #hasFailed = false;

  constructor(log: Logger) {
    this.#log = log;
    cluster.setupPrimary({ exec: PROGRAM });
    new RateLimiterClusterMaster();
  }

  /**
   * Starts the first process that serves, and the others when it does: it migrates the database.
   *
   * @returns its welcome, when all serve.
   * @throws ProcessEndedError if one ends instead. The others are to be stopped then.
   */
  async start(count: number): Promise<string> {
    const welcome = await this.#run(true);
    const others = this.#stopping.signal.aborted ? 0 : count - 1;
    await Promise.all(Array.from({ length: others }, () => this.#run(false)));
    return welcome;
  }

  /**
   * @param timeout How long, in milliseconds, a process may take to complete what is in progress.
   * @returns whether all that served did so, and ended with code 0.
   */
  async stop(timeout: number): Promise<boolean> {
    this.#stopping.abort();
    for (const { process } of this.#running.keys()) process.kill('SIGTERM');
    const killing = setTimeout(() => {
      for (const { process } of this.#running.keys()) {
        this.#log.error({ pid: process.pid }, 'a process does not stop: it is killed');
        process.kill('SIGKILL');
      }
    }, timeout + MAX_CLOSING);
    await Promise.all(this.#running.values());
    clearTimeout(killing);
    return !this.#hasFailed;
  }

  /** Runs a process, and another one each time that it ends. @returns its welcome, once it serves. */
  #run(isLeader: boolean, isReplacement = false): Promise<string> {
    const began = performance.now();
    const worker = cluster.fork({ [LEADS]: isLeader ? '1' : '0' });
    return new Promise((resolve, reject) => {
      let isServing = false;
      const ended = (code: number | null, signal: string | null) => {
        this.#running.delete(worker);
        if (this.#stopping.signal.aborted) this.#hasFailed ||= isServing && code !== 0;
        else if (isServing || isReplacement) {
          const wait = isReplacement ? Math.max(0, began + SHORTEST_LIFE - performance.now()) : 0;
          this.#log.error({ code, signal, pause: wait }, 'a process has ended: another one replaces it');
          const replace = () => this.#run(isLeader, true);
          pause(wait, undefined, this.#stopping).then(replace, () => {});
        }
        // Of one that served, or replaced another one, nobody waits for it.
        if (!isReplacement) reject(new ProcessEndedError(code, signal));
      };
      const end = new Promise<void>((gone) => {
        worker.once('exit', (code: number | null, signal: string | null) => gone(ended(code, signal)));
        // Without a process it could not be started; otherwise a message came too late for one that ends.
        worker.on('error', () => worker.process.pid === undefined && gone(ended(null, null)));
      });
      this.#running.set(worker, end);
      worker.on('message', (message: FromMember) => {
        if ('wants' in message) void this.#tellMetrics(worker);
        if (!('welcome' in message)) return;
        isServing = true;
        resolve(message.welcome);
      });
    });
  }

  async #tellMetrics(worker: Worker): Promise<void> {
    // What cannot be summed is of this process.
    const own = processMetrics().getSingleMetricAsString('process_start_time_seconds');
    const texts = await Promise.all([this.#metrics.clusterMetrics(), own]).catch((err: unknown) => {
      this.#log.error({ err }, 'metrics failed');
    });
    worker.send({ metricsOfAll: texts ? `${texts.join('\n')}\n` : null } satisfies MetricsOfAll, () => {});
  }
}
