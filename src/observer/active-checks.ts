import type { Instant } from '../model/instant.js';
import { CHECK_TIMEOUT, type DomainCheck, type DomainObserver } from './observe-domain.js';
import type { Priority } from './priority.js';
import { type LeasedDomain, priorityOf } from './schedule/leases.js';

/** A leased domain and its check. */
export interface FinishedCheck {
  readonly domain: LeasedDomain;
  readonly check: DomainCheck;
}

/** A check is running until it is finished or, where all are aborted, has nothing to record. */
type State = { readonly running: AbortController } | { readonly finished: DomainCheck } | 'aborted';

/** The checks of a worker's leased domains: those that run, and those that are not written yet. */
export class ActiveChecks {
  readonly #observer: DomainObserver;
  readonly #timeout: number;
  readonly #states = new Map<LeasedDomain, State>();
  #latest: Priority | undefined;
  #isAborting = false;
  #isClosed = false;
  #isAbandoned = false;
  #wake: () => void = () => undefined;

  /** @param timeout for one check, in milliseconds. */
  constructor(observer: DomainObserver, timeout: number) {
    this.#observer = observer;
    this.#timeout = timeout;
  }

  /** How many there are. */
  get size(): number {
    return this.#states.size;
  }

  /** How many are running, of all priorities and of the low one. */
  get running(): { readonly all: number; readonly low: number } {
    const running = [...this.#states].filter(([, state]) => isRunning(state));
    return { all: running.length, low: running.filter(([domain]) => priorityOf(domain) === 'low').length };
  }

  /** The priority of the check that was begun last; undefined before the first. */
  get latest(): Priority | undefined {
    return this.#latest;
  }

  /** Begins to check a domain. */
  begin(domain: LeasedDomain): void {
    if (this.#isAborting) {
      this.#states.set(domain, 'aborted');
      this.#wake();
      return;
    }
    // Not AbortSignal.any: it leaks where one of its signals lives long (nodejs/node#55351), and on Node.js 20 one
    // with an AbortSignal.timeout can be collected before it fires.
    const controller = new AbortController();
    this.#states.set(domain, { running: controller });
    this.#latest = priorityOf(domain);
    const timer = setTimeout(() => controller.abort(CHECK_TIMEOUT), this.#timeout);
    void this.#observer.check(domain.name, controller.signal, priorityOf(domain)).then((check) => {
      clearTimeout(timer);
      // An aborted check is incomplete: another worker checks anew.
      this.#states.set(domain, this.#isAborting ? 'aborted' : { finished: check });
      this.#wake();
    });
  }

  /** The first that are finished. They count until they are released. */
  finished(most: number): readonly FinishedCheck[] {
    return [...this.#states]
      .flatMap(([domain, state]) => (isFinished(state) ? [{ domain, check: state.finished }] : []))
      .slice(0, most);
  }

  /** The domains whose checks were aborted. They count until they are released. */
  aborted(): readonly LeasedDomain[] {
    return [...this.#states].filter(([, state]) => state === 'aborted').map(([domain]) => domain);
  }

  /** Whether there is something to write. */
  get hasFinished(): boolean {
    return [...this.#states.values()].some((state) => !isRunning(state));
  }

  /** Waits for something to write. False: there is none to come. */
  async waitForFinished(): Promise<boolean> {
    while (!this.#isAbandoned) {
      if (this.hasFinished) return true;
      if (this.#isClosed && this.size === 0) return false;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return false;
  }

  /** No more are begun. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /** Aborts all that run, and all that are begun from now on. */
  abort(): void {
    this.#isAborting = true;
    for (const state of this.#states.values()) if (isRunning(state)) state.running.abort();
  }

  /** What is not written yet never will be. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#wake();
  }

  /** Forgets those that could not be written before their leases ended: whoever leases them next checks anew. */
  releaseExpired(now: Instant): void {
    const unwritten = [...this.#states].filter(([, state]) => !isRunning(state)).map(([domain]) => domain);
    this.release(unwritten.filter(({ until }) => until <= now));
  }

  /** Forgets those that are written. */
  release(domains: readonly LeasedDomain[]): void {
    for (const domain of domains) this.#states.delete(domain);
  }
}

function isRunning(state: State): state is Extract<State, { running: unknown }> {
  return state !== 'aborted' && 'running' in state;
}

function isFinished(state: State): state is Extract<State, { finished: unknown }> {
  return state !== 'aborted' && 'finished' in state;
}
