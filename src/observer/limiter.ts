/**
 * The priority of a domain that waits for a place: normal if its latest observation had an answer, low if that
 * failed or there is none. Dead domains keep their places long: without a limit they would take all.
 */
export type Priority = 'normal' | 'low';

export type Counts = Readonly<Record<Priority, number>>;

/** The places that both priorities share. */
export interface Room {
  readonly places: number;
  readonly free: number;
  /** How many of those in use are of the low priority. */
  readonly low: number;
  /** The priority that got a place last; absent before the first. */
  readonly latest?: Priority | undefined;
}

/**
 * Shares free places between the priorities. A quarter of all places goes to the low priority first; the rest
 * goes to the normal one first, and the last quarter to it alone. They take turns at a single place.
 *
 * @param wanted how many wait for a place.
 * @returns how many of them get one.
 */
export function sharePlaces({ places, free, low, latest }: Room, wanted: Counts): Counts {
  const quarter = Math.max(Math.floor(places / 4), 1);
  const first = places === 1 && latest !== 'normal' ? 0 : quarter;
  const most = places === 1 ? 1 : places - quarter;
  const lowFirst = Math.min(wanted.low, free, Math.max(first - low, 0));
  const normal = Math.min(wanted.normal, free - lowFirst);
  return { normal, low: Math.min(wanted.low, free - normal, Math.max(most - low, 0)) };
}

export function hasRoom(room: Room, wanted: Counts): boolean {
  const { normal, low } = sharePlaces(room, wanted);
  return normal + low > 0;
}

/** Limits how many run at once. The others wait, in the order in which they came within their priority. */
export class Limiter {
  readonly #places: number;
  readonly #running = { normal: 0, low: 0 };
  readonly #waiting = { normal: new Set<() => void>(), low: new Set<() => void>() };
  #latest: Priority | undefined;

  /** @param places How many may run at once, at least one. */
  constructor(places: number) {
    this.#places = places;
  }

  /** Whether none is running, and so none waiting. */
  get isIdle(): boolean {
    return this.#running.normal + this.#running.low === 0;
  }

  /** Takes a place if there is one now. True: leave() must follow. */
  tryEnter(priority: Priority): boolean {
    const isFree = this.#share({ normal: 0, low: 0, [priority]: 1 })[priority] > 0;
    if (isFree) this.#begin(priority);
    return isFree;
  }

  /** Waits for a place. True: leave() must follow. False: the signal was aborted first. */
  async enter(signal: AbortSignal, priority: Priority = 'normal'): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.tryEnter(priority)) return true;
    const waiting = this.#waiting[priority];
    return new Promise((resolve) => {
      const onAbort = () => {
        waiting.delete(proceed);
        resolve(false);
      };
      const proceed = () => {
        waiting.delete(proceed);
        signal.removeEventListener('abort', onAbort);
        this.#begin(priority);
        resolve(true);
      };
      waiting.add(proceed);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Releases the place: the next in line takes it. */
  leave(priority: Priority = 'normal'): void {
    this.#running[priority] -= 1;
    const { normal, low } = this.#waiting;
    const turns = this.#share({ normal: normal.size, low: low.size });
    const turn = turns.normal > 0 ? normal : low;
    const [next] = turns.normal + turns.low > 0 ? turn : [];
    next?.();
  }

  #share(wanted: Counts): Counts {
    const { normal, low } = this.#running;
    const free = this.#places - normal - low;
    return sharePlaces({ places: this.#places, free, low, latest: this.#latest }, wanted);
  }

  #begin(priority: Priority): void {
    this.#running[priority] += 1;
    this.#latest = priority;
  }
}
