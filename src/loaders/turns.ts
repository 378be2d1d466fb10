import { withinTime } from '../database/query-limits.js';
import { UnavailableError } from '../model/errors.js';
import { abandoned, isWanted, type Requested } from './recipient.js';

/** Loads a value or an error for each key, in the keys' order. */
type LoadBatch<Key, Value> = (keys: readonly Key[]) => Promise<readonly (Value | Error)[]>;

interface TurnsOptions {
  /** How many batches are loaded at once. */
  readonly atOnce: number;
  /** How many more may wait. */
  readonly mostWaiting: number;
  /** How long, in milliseconds, a batch may wait and be loaded in all. */
  readonly milliseconds: number;
}

/**
 * Limits how many batches are loaded at once, of all loaders together. Keys whose recipient is destroyed when their
 * turn comes are dropped: nothing is sent to the database for a disconnected client.
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
      this.#leave();
    }
  }

  /** The next takes over the place. Not in the asynchronous function, which would keep a reference to it: each to the one after it. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
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

/** What is done for a client, and what waits. */
interface Share {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits how much of some work is done for one client at once, so that others do not wait for all of it. Apart from
 * Turns, which limits the statements of all clients together: what waits here has no statement.
 */
export class ClientShares {
  readonly #atOnce: number;
  /** What waits, by client; a client without an entry has nothing in progress. */
  readonly #clients = new Map<string, Share>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** @param client Undefined: no client, and no limit. */
  async run<Result>(client: string | undefined, work: () => Promise<Result>): Promise<Result> {
    if (client === undefined) return work();
    const share: Share = this.#clients.get(client) ?? { running: 0, waiting: [] };
    this.#clients.set(client, share);
    if (share.running < this.#atOnce) share.running += 1;
    else await new Promise<void>((resolve) => share.waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#leave(client, share);
    }
  }

  /** As in Turns. */
  #leave(client: string, share: Share): void {
    const next = share.waiting.shift();
    if (next !== undefined) next();
    else share.running -= 1;
    if (share.running === 0) this.#clients.delete(client);
  }
}
