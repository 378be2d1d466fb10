/**
 * The priority of a domain that waits for a place: normal if its latest observation had an answer, low if that
 * failed or there is none. Dead domains keep their places long: without a limit they would take all.
 */
export type Priority = 'normal' | 'low';

export type Counts = Readonly<Record<Priority, number>>;

/** The places that both priorities share: all, those that are free, and those that the low one has. */
export interface Room {
  readonly places: number;
  readonly free: number;
  readonly low: number;
}

/**
 * Shares free places between the priorities. A quarter of all places goes to the low priority first; the rest
 * goes to the normal one first, and the last quarter to it alone. A single place goes to the low one first a
 * quarter of the times.
 *
 * @param wanted how many wait for a place.
 * @returns how many of them get one.
 */
export function sharePlaces({ places, free, low }: Room, wanted: Counts): Counts {
  const quarter = places === 1 ? Number(Math.random() < 0.25) : Math.max(Math.floor(places / 4), 1);
  const most = Math.max(places - quarter, 1);
  const lowFirst = Math.min(wanted.low, free, Math.max(quarter - low, 0));
  const normal = Math.min(wanted.normal, free - lowFirst);
  return { normal, low: Math.min(wanted.low, free - normal, Math.max(most - low, 0)) };
}

/** Limits how many run at once. The others wait, in the order in which they came within their priority. */
export class Limiter {
  readonly #places: number;
  readonly #running = { normal: 0, low: 0 };
  readonly #waiting = { normal: new Set<() => void>(), low: new Set<() => void>() };

  constructor(places: number) {
    this.#places = places;
  }

  /** Waits for a place. True: leave() must follow. False: the signal was aborted first. */
  async enter(signal: AbortSignal, priority: Priority = 'normal'): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#share({ normal: 0, low: 0, [priority]: 1 })[priority] > 0) {
      this.#running[priority] += 1;
      return true;
    }
    const waiting = this.#waiting[priority];
    return new Promise((resolve) => {
      const proceed = () => {
        waiting.delete(proceed);
        signal.removeEventListener('abort', proceed);
        if (!signal.aborted) this.#running[priority] += 1;
        resolve(!signal.aborted);
      };
      waiting.add(proceed);
      signal.addEventListener('abort', proceed);
    });
  }

  /** Releases the place: the next in line takes it. */
  leave(priority: Priority = 'normal'): void {
    this.#running[priority] -= 1;
    const { normal, low } = this.#waiting;
    const turns = this.#share({ normal: normal.size, low: low.size });
    const [next] = turns.normal > 0 ? normal : turns.low > 0 ? low : [];
    next?.();
  }

  #share(wanted: Counts): Counts {
    const { normal, low } = this.#running;
    return sharePlaces({ places: this.#places, free: this.#places - normal - low, low }, wanted);
  }
}
