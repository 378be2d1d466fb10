import { withinTime } from '../database/answer-limits.js';
import { UnavailableError } from '../model/errors.js';
import { abandoned, isWanted, type Requested } from './recipient.js';

/** Loads a value or an error for each key, in the keys' order. */
export type LoadBatch<Key, Value> = (keys: readonly Key[]) => Promise<readonly (Value | Error)[]>;

export interface TurnsOptions {
  /** How many batches are loaded at once. */
  readonly atOnce: number;
  /** How many more may wait. */
  readonly mostWaiting: number;
  /** How long, in milliseconds, a batch may wait and be loaded in all. */
  readonly milliseconds: number;
}

/**
 * Limits how many batches are loaded at once, of all loaders together. Keys whose recipient is destroyed when their
 * turn comes are dropped: nothing is sent to the database for a client that has gone.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /**
   * Makes a batch function wait for its turn.
   *
   * The result throws UnavailableError when too many batches wait already, or when the batch takes too long.
   */
  inTurn<Key extends Requested, Value>(load: LoadBatch<Key, Value>): LoadBatch<Key, Value> {
    const { atOnce, mostWaiting, milliseconds } = this.#options;
    const loadInTurn: LoadBatch<Key, Value> = async (keys) => {
      if (this.#running < atOnce) {
        this.#running += 1;
        return withinTime(milliseconds, this.#run(load, keys));
      }
      if (this.#waiting.length >= mostWaiting) throw new UnavailableError();
      const turn = new Promise<void>((resolve) => this.#waiting.push(resolve));
      let late = false;
      const loaded = turn.then(() => this.#run(load, late ? [] : keys));
      return withinTime(milliseconds, loaded).catch((error: unknown) => {
        late = true;
        throw error;
      });
    };
    return (keys) => loadInTurn(keys).catch((error: unknown) => failedFor(keys, error));
  }

  /** Loads a single value in the same way. */
  async single<Value>(requested: Requested, load: () => Promise<Value>): Promise<Value> {
    const [value] = await this.inTurn(async () => [await load()])([requested]);
    if (value === undefined || value instanceof Error) throw value ?? abandoned();
    return value;
  }

  async #run<Key extends Requested, Value>(
    load: LoadBatch<Key, Value>,
    keys: readonly Key[],
  ): Promise<readonly (Value | Error)[]> {
    try {
      return await loadWanted(load, keys);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

async function loadWanted<Key extends Requested, Value>(
  load: LoadBatch<Key, Value>,
  keys: readonly Key[],
): Promise<readonly (Value | Error)[]> {
  if (keys.every(isWanted)) return keys.length === 0 ? [] : load(keys);
  const wanted = keys.filter(isWanted);
  const found = wanted.length === 0 ? [] : await load(wanted);
  const values = new Map<Key, Value | Error | undefined>(wanted.map((key, place) => [key, found[place]]));
  return keys.map((key) => {
    const value = values.get(key);
    return value === undefined ? abandoned() : value;
  });
}

/** Keys without a recipient any more do not fail with the batch. @throws the error when all keys are wanted. */
function failedFor(keys: readonly Requested[], error: unknown): Error[] {
  if (keys.every(isWanted)) throw error;
  const failure = error instanceof Error ? error : new Error(String(error));
  return keys.map((key) => (isWanted(key) ? failure : abandoned()));
}

/** Limits how much of some work is done for one client at once, so that what others need is not behind all of it. */
export class ClientShares {
  readonly #atOnce: number;
  /** What waits, by client; a client without an entry has nothing under way. */
  readonly #clients = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** @param client Undefined: no client, and no limit. */
  async run<Result>(client: string | undefined, work: () => Promise<Result>): Promise<Result> {
    if (client === undefined) return work();
    const share = this.#clients.get(client) ?? { running: 0, waiting: [] };
    this.#clients.set(client, share);
    if (share.running < this.#atOnce) share.running += 1;
    else await new Promise<void>((resolve) => share.waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The next takes over the place.
      const next = share.waiting.shift();
      if (next !== undefined) next();
      else share.running -= 1;
      if (share.running === 0) this.#clients.delete(client);
    }
  }
}

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
