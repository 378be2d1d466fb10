import type { ServerResponse } from 'node:http';
import { BusyError, ClientGoneError } from '../model/errors.js';
import type { Caller, ClientSignal } from './caller.js';

/** Places, those of them with searches, and octets that were written and are not read yet. */
const NOTHING = { places: 0, searches: 0, unread: 0 };
type Use = typeof NOTHING;

/** docs/limits.md has these numbers, and docs/decisions/0014-cost-by-arguments.md why they are so. */
export const GATE = {
  /** What all clients may have together, and each. Searches read many domains, and keep places for longer. */
  all: { places: 64, searches: 16, unread: 128 * 1024 ** 2 },
  client: { places: 8, searches: 2, unread: 8 * 1024 ** 2 },
  /** Requests of a client. */
  waiting: 100,
  /** In milliseconds: who waits longer gets BusyError. */
  wait: 10_000,
};

export type GateOptions = Readonly<typeof GATE>;

/** For histories that are read page by page, besides the places of their requests: each may take 128 MB. */
export const LARGE_HISTORIES: GateOptions = { ...GATE, all: { ...GATE.all, places: 2 } };

interface Waiting {
  readonly needed: Use;
  end(error?: Error): void;
}

interface Client {
  readonly key: string;
  readonly use: Use;
  readonly waiting: Set<Waiting>;
}

/** A response whose octets count until they are read: `writableLength` is what Node.js still holds of them. */
type Unread = ClientSignal &
  Pick<ServerResponse, 'writableEnded' | 'writableLength'> & { setTimeout(milliseconds: number): unknown };

/** In milliseconds: a client that reads nothing for so long is disconnected. */
export const MAX_UNREAD = 20_000;

/**
 * The one gate between what a request costs and its execution. Each request takes a place until its body is
 * ready; clients that wait take turns, so that one with many requests does not keep others from their first.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #use = { ...NOTHING };
  /** In the order of their turns. */
  readonly #clients = new Map<string, Client>();

  constructor(options: GateOptions = GATE) {
    this.#options = options;
  }

  get taken(): number {
    return this.#use.places;
  }

  /**
   * @returns what gives the place back, to be called once.
   * @throws BusyError where too many of the client wait, or this one waited too long; ClientGoneError.
   */
  async enter(caller: Caller, isSearch = false): Promise<() => void> {
    const client = this.#clientOf(caller.viewer.rateLimitKey);
    const needed = { ...NOTHING, places: 1, searches: isSearch ? 1 : 0 };
    return this.#hasPlace(client, needed) ? this.#take(client, needed) : this.#wait(client, needed, caller);
  }

  /** Counts the octets of a response that was written, until they are read or the client is gone. */
  written({ viewer }: Pick<Caller, 'viewer'>, octets: number, response: Unread): void {
    if (response.destroyed || (response.writableEnded && response.writableLength === 0)) return;
    const client = this.#clientOf(viewer.rateLimitKey);
    response.setTimeout(MAX_UNREAD);
    response.once('close', this.#take(client, { ...NOTHING, unread: octets }));
  }

  #clientOf(key: string): Client {
    const client = this.#clients.get(key) ?? { key, use: { ...NOTHING }, waiting: new Set<Waiting>() };
    this.#clients.set(key, client);
    return client;
  }

  #hasPlace({ use }: Client, needed: Use): boolean {
    const { all, client } = this.#options;
    const isBelow = (what: keyof Use) => this.#use[what] < all[what] && use[what] < client[what];
    return isBelow('unread') && isBelow('places') && (needed.searches === 0 || isBelow('searches'));
  }

  /** @returns what gives it back, to be called once. */
  #take({ use }: Client, taken: Use): () => void {
    const add = (sign: 1 | -1) => {
      for (const each of [use, this.#use])
        for (const what of ['places', 'searches', 'unread'] as const) each[what] += sign * taken[what];
    };
    add(1);
    return () => {
      add(-1);
      this.#changed();
    };
  }

  #wait(client: Client, needed: Use, { signal }: Caller): Promise<() => void> {
    if (signal.destroyed) throw new ClientGoneError();
    if (client.waiting.size >= this.#options.waiting)
      throw new BusyError(1, 'Too many of your requests wait.');
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        needed,
        end: (error) => {
          // Its response may also close later.
          if (!client.waiting.delete(waiting)) return;
          clearTimeout(timer);
          if (error === undefined) return resolve(this.#take(client, needed));
          reject(error);
          this.#changed();
        },
      };
      const busy = new BusyError(1, 'Too many requests are in progress.');
      const timer = setTimeout(() => waiting.end(busy), this.#options.wait);
      signal.once('close', () => waiting.end(new ClientGoneError()));
      client.waiting.add(waiting);
    });
  }

  /** Lets those enter for whom there are places: the first of each client, in turn, until nobody can. */
  #changed(): void {
    for (const client of this.#clients.values()) {
      const { key, use, waiting } = client;
      const next = [...waiting].find(({ needed }) => this.#hasPlace(client, needed));
      if (next !== undefined || use.places + use.unread + waiting.size === 0) this.#clients.delete(key);
      if (next === undefined) continue;
      // Its next turn comes after those of all others: this loop comes to it again.
      this.#clients.set(key, client);
      next.end();
    }
  }
}
