import type { Instant } from '../model/instant.js';
import { type DomainObserver, LOOK_LIMIT, type Look } from './observe-domain.js';
import type { Priority } from './priority.js';
import { type LeasedDomain, priorityOf } from './schedule/leases.js';

/** A leased domain, and what the look at it has shown. */
export interface FinishedLook {
  readonly domain: LeasedDomain;
  readonly look: Look;
}

/** The domains that a worker has in hand: looked at now, or finished and not yet written. */
export class LooksInHand {
  private readonly observer: DomainObserver;
  private readonly longest: number;
  private readonly inHand = new Set<LeasedDomain>();
  private readonly controllers = new Map<LeasedDomain, AbortController>();
  private readonly done: FinishedLook[] = [];
  private readonly ended: LeasedDomain[] = [];
  private ending = false;
  private begun: Priority | undefined;
  private waiter: (() => void) | null = null;

  /** @param longest how long a look may take, in milliseconds. */
  constructor(observer: DomainObserver, longest: number) {
    this.observer = observer;
    this.longest = longest;
  }

  /** How many domains are in hand. */
  get size(): number {
    return this.inHand.size;
  }

  /** How many of them are being looked at. */
  get looking(): number {
    return this.controllers.size;
  }

  /** How many of these have the low priority. */
  get lookingLow(): number {
    return [...this.controllers.keys()].filter((domain) => priorityOf(domain) === 'low').length;
  }

  /** The priority of the look that was begun last; undefined before the first. */
  get latest(): Priority | undefined {
    return this.begun;
  }

  /** Begins to look at a domain. */
  begin(domain: LeasedDomain): void {
    this.inHand.add(domain);
    if (this.ending) {
      this.ended.push(domain);
      this.wake();
      return;
    }
    const controller = new AbortController();
    this.controllers.set(domain, controller);
    this.begun = priorityOf(domain);
    const timer = setTimeout(() => controller.abort(LOOK_LIMIT), this.longest);
    void this.observer.look(domain.name, controller.signal, priorityOf(domain)).then((look) => {
      clearTimeout(timer);
      this.controllers.delete(domain);
      // What it saw is cut short: somebody else is to look anew.
      if (this.ending) this.ended.push(domain);
      else this.done.push({ domain, look });
      this.wake();
    });
  }

  /** Whether there is something to write. */
  get hasFinished(): boolean {
    return this.done.length > 0 || this.ended.length > 0;
  }

  /** Settles when there is something to write, or when it is woken. */
  whenFinished(): Promise<void> {
    if (this.hasFinished) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiter = resolve;
    });
  }

  /** Ends a wait for something to write. */
  wake(): void {
    this.waiter?.();
    this.waiter = null;
  }

  /** Ends all looks at once: their domains are to be handed back. */
  end(): void {
    this.ending = true;
    for (const controller of this.controllers.values()) controller.abort();
  }

  /** The first looks that are finished. They stay in hand until they are released. */
  finished(most: number): readonly FinishedLook[] {
    return this.done.slice(0, most);
  }

  /** The domains whose looks were ended. They stay in hand until they are released. */
  endedEarly(): readonly LeasedDomain[] {
    return [...this.ended];
  }

  /** Lets go of what is finished and could not be written before its lease ended. */
  releaseExpired(now: Instant): void {
    const unwritten = [...this.done.map(({ domain }) => domain), ...this.ended];
    this.release(unwritten.filter(({ until }) => until <= now));
  }

  /** Lets go of domains, once what became of them is written. */
  release(domains: readonly LeasedDomain[]): void {
    const gone = new Set(domains);
    for (const domain of gone) this.inHand.delete(domain);
    keep(this.done, ({ domain }) => !gone.has(domain));
    keep(this.ended, (domain) => !gone.has(domain));
  }
}

function keep<Element>(list: Element[], wanted: (element: Element) => boolean): void {
  list.splice(0, list.length, ...list.filter(wanted));
}
