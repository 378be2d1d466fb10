/** In milliseconds: how long all requests together keep the event loop in one turn, and the others wait. */
const WORK_OF_TURN = 5;

interface Work {
  readonly milliseconds: number;
  begin(): void;
}

/**
 * Divides work that takes long between the turns of the event loop, and each turn between clients: what one of them
 * requests waits for one piece of each other client, however much these have requested.
 */
export class FairTurns {
  /** By client, in the order of their turns. */
  readonly #waiting = new Map<string, Work[]>();
  /** The work that has begun in this turn, in milliseconds. */
  #begun = 0;
  #isScheduled = false;

  /**
   * Takes a part of a turn.
   *
   * @param client Undefined: none; such work is that of one more client.
   * @param milliseconds How long the work keeps the event loop, approximately.
   * @returns undefined where it may begin at once, otherwise a promise of its turn.
   */
  take(client: string | undefined, milliseconds: number): Promise<void> | undefined {
    if (this.#waiting.size === 0 && this.#hasRoom(milliseconds)) {
      this.#begun += milliseconds;
      this.#schedule();
      return undefined;
    }
    return new Promise((begin) => {
      const key = client ?? '';
      const works = this.#waiting.get(key) ?? [];
      works.push({ milliseconds, begin });
      this.#waiting.set(key, works);
      this.#schedule();
    });
  }

  /** Work that is longer than a turn has one of its own. */
  #hasRoom(milliseconds: number): boolean {
    return this.#begun === 0 || this.#begun + milliseconds <= WORK_OF_TURN;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isScheduled = false;
    this.#begun = 0;
    for (const [client, works] of this.#waiting) {
      const [work] = works;
      if (work === undefined || !this.#hasRoom(work.milliseconds)) break;
      works.shift();
      // A client whose work has begun is behind all others; iteration comes to it again.
      this.#waiting.delete(client);
      if (works.length > 0) this.#waiting.set(client, works);
      this.#begun += work.milliseconds;
      work.begin();
    }
    // Once more after the last: what has begun in this turn is none of the next one.
    if (this.#begun > 0) this.#schedule();
  }
}

/** Of this process, which has one event loop. */
export const fairTurns = new FairTurns();
