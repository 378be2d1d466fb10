import { CHECK_TIMEOUT, type DomainCheck, type DomainObserver } from './observe-domain.js';
import type { Counts, Priority } from './priority.js';
import { type LeasedDomain, priorityOf } from './schedule/leases.js';

/** A leased domain and its check; null: it was aborted, or the clock is wrong, and it is checked again. */
export interface FinishedCheck {
  readonly domain: LeasedDomain;
  readonly check: DomainCheck | null;
}

interface RunningCheck {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** The running checks of a worker's leased domains. */
export class ActiveChecks {
  readonly #observer: DomainObserver;
  readonly #timeout: number;
  readonly #onFinished: (finished: FinishedCheck) => void;
  readonly #running = new Map<LeasedDomain, RunningCheck>();
  #isAborting = false;
  /** The priority of the check that was started last. */
  latest: Priority | undefined;

  /** @param timeout for one check, in milliseconds. */
  constructor(observer: DomainObserver, timeout: number, onFinished: (finished: FinishedCheck) => void) {
    this.#observer = observer;
    this.#timeout = timeout;
    this.#onFinished = onFinished;
  }

  get counts(): Counts {
    const low = [...this.#running.keys()].filter((domain) => priorityOf(domain) === 'low').length;
    return { normal: this.#running.size - low, low };
  }

  start(domain: LeasedDomain): void {
    // Not AbortSignal.any: it leaks where one of its signals lives long (nodejs/node#55351), and on Node.js 20 one
    // with an AbortSignal.timeout can be collected before it fires.
    const controller = new AbortController();
    if (this.#isAborting) controller.abort();
    this.latest = priorityOf(domain);
    this.#running.set(domain, { controller, ended: this.#check(domain, controller) });
  }

  async #check(domain: LeasedDomain, controller: AbortController): Promise<void> {
    const timer = setTimeout(() => controller.abort(CHECK_TIMEOUT), this.#timeout);
    const check = await this.#observer.check(domain.name, controller.signal, priorityOf(domain));
    clearTimeout(timer);
    this.#running.delete(domain);
    this.#onFinished({ domain, check: this.#isAborting || check.clockFault !== undefined ? null : check });
  }

  /** Settles when those that run now have finished. */
  async finish(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Aborts all that run, and all that are started from now on. */
  abort(): void {
    this.#isAborting = true;
    for (const { controller } of this.#running.values()) controller.abort();
  }
}
