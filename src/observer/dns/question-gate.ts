import { type Counts, type Priority, sharePlaces } from '../priority.js';
import type { Stop } from './stop.js';

/**
 * Lets a number of questions through at once; the others wait, and go on in the order in which they came
 * within their priority.
 */
export class QuestionGate {
  readonly #places: number;
  readonly #inFlight = { normal: 0, low: 0 };
  #latest: Priority | undefined;
  readonly #waiting = { normal: new Set<() => void>(), low: new Set<() => void>() };

  /** @param limit How many questions may be in flight at once. */
  constructor(limit: number) {
    this.#places = Math.max(limit, 1);
  }

  /** Whether the question may go on at once. If so, leave() must follow. */
  tryEnter(priority: Priority): boolean {
    const wanted = { normal: 0, low: 0, [priority]: 1 };
    if (this.#share(wanted)[priority] === 0) return false;
    this.#begin(priority);
    return true;
  }

  /** Waits for a place. True: leave() must follow. False: it was stopped first. */
  enter(priority: Priority, stop: Stop): Promise<boolean> {
    if (stop.isStopped) return Promise.resolve(false);
    if (this.tryEnter(priority)) return Promise.resolve(true);
    const waiting = this.#waiting[priority];
    return new Promise((resolve) => {
      const giveUp = () => {
        waiting.delete(proceed);
        resolve(false);
      };
      const proceed = () => {
        stop.forget(giveUp);
        resolve(true);
      };
      waiting.add(proceed);
      stop.listen(giveUp);
    });
  }

  /** Gives the place to the question that has waited longest of those whose turn it is. */
  leave(priority: Priority): void {
    this.#inFlight[priority] -= 1;
    const { normal, low } = this.#waiting;
    const turns = this.#share({ normal: normal.size, low: low.size });
    if (turns.normal > 0) this.#proceed('normal');
    else if (turns.low > 0) this.#proceed('low');
  }

  #share(wanted: Counts): Counts {
    const { normal, low } = this.#inFlight;
    const free = this.#places - normal - low;
    return sharePlaces({ places: this.#places, free, low, latest: this.#latest }, wanted);
  }

  #proceed(priority: Priority): void {
    const [next] = this.#waiting[priority];
    if (next === undefined) return;
    this.#waiting[priority].delete(next);
    this.#begin(priority);
    next();
  }

  #begin(priority: Priority): void {
    this.#inFlight[priority] += 1;
    this.#latest = priority;
  }
}
