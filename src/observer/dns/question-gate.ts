import type { Stop } from './stop.js';

/** Lets a number of questions through at once; the others wait, and go on in the order in which they came. */
export class QuestionGate {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param limit How many questions may be in flight at once. */
  constructor(limit: number) {
    this.#free = Math.max(limit, 1);
  }

  /** Whether the question may go on at once. If so, leave() must follow. */
  tryEnter(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Waits for a place. True: leave() must follow. False: it was stopped first. */
  enter(stop: Stop): Promise<boolean> {
    if (stop.isStopped) return Promise.resolve(false);
    if (this.tryEnter()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const giveUp = () => {
        this.#waiting.delete(proceed);
        resolve(false);
      };
      const proceed = () => {
        stop.forget(giveUp);
        resolve(true);
      };
      this.#waiting.add(proceed);
      stop.listen(giveUp);
    });
  }

  /** Gives the place to the question that has waited longest. */
  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
