/** In milliseconds: how long all requests together keep the event loop in one turn, and the others wait. */
const WORK_OF_TURN = 5;

/**
 * In milliseconds: shorter work begins at once, until a turn has twice its work. To wait would take as long, and would
 * divide what is loaded in one batch.
 */
const SHORT = 0.5;

/**
 * How many turns in a row begin no work while there are connections to accept: Node.js accepts one in a turn (libuv
 * 1.45), so that others would wait behind those of a client that opens thousands.
 */
const TURNS_FOR_CONNECTIONS = 8;

interface Work {
  readonly milliseconds: number;
  begin(): void;
}

/** What waits for one client. */
interface Queue {
  readonly works: Work[];
  /** The work that may begin before that of the next client, in milliseconds. */
  credit: number;
}

/**
 * Divides work that takes long between the turns of the event loop, and its time equally between clients: what one of
 * them requests waits for as much of each other client, however much these have requested, and however long each piece
 * of it is (deficit round robin; M. Shreedhar and G. Varghese, 1995).
 */
export class FairTurns {
  /** By client, in the order of their turns. */
  readonly #waiting = new Map<string, Queue>();
  /** The work that has begun in this turn, in milliseconds. */
  #begun = 0;
  #isScheduled = false;
  #hasAccepted = false;
  #turnsForConnections = 0;

  /**
   * Takes a part of a turn.
   *
   * @param client Undefined: none; such work is that of one more client. A function is called only if the work waits.
   * @param milliseconds How long the work keeps the event loop, approximately.
   * @returns undefined where it may begin at once, otherwise a promise of its turn.
   */
  take(client: string | (() => string) | undefined, milliseconds: number): Promise<void> | undefined {
    const isShort = milliseconds < SHORT && this.#begun < 2 * WORK_OF_TURN;
    if (isShort || (this.#waiting.size === 0 && this.#hasRoom(milliseconds))) {
      this.#begun += milliseconds;
      this.#schedule();
      return undefined;
    }
    return new Promise((begin) => {
      const key = typeof client === 'function' ? client() : (client ?? '');
      const queue = this.#waiting.get(key) ?? { works: [], credit: WORK_OF_TURN };
      queue.works.push({ milliseconds, begin });
      this.#waiting.set(key, queue);
      this.#schedule();
    });
  }

  /** A connection was accepted in this turn: there may be more. */
  accepted(): void {
    this.#hasAccepted = true;
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
    if (this.#hasAccepted && this.#turnsForConnections < TURNS_FOR_CONNECTIONS) {
      this.#hasAccepted = false;
      this.#turnsForConnections += 1;
      this.#schedule();
      return;
    }
    this.#turnsForConnections = 0;
    this.#begun = 0;
    for (const [client, queue] of this.#waiting) {
      const { works } = queue;
      for (let [work] = works; work !== undefined && work.milliseconds <= queue.credit; [work] = works) {
        if (!this.#hasRoom(work.milliseconds)) {
          this.#schedule();
          return;
        }
        works.shift();
        queue.credit -= work.milliseconds;
        this.#begun += work.milliseconds;
        work.begin();
      }
      // Behind all others, where the iteration comes to it again.
      this.#waiting.delete(client);
      if (works.length > 0) this.#waiting.set(client, queue);
      queue.credit += WORK_OF_TURN;
    }
    // Once more after the last: what has begun in this turn is none of the next one.
    if (this.#begun > 0) this.#schedule();
  }
}

/** Of this process, which has one event loop. */
export const fairTurns = new FairTurns();
