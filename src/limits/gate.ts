import { BusyError, ClientGoneError } from '../model/errors.js';
import type { Caller } from './caller.js';

/**
 * What a request takes a place for: searches read many domains, and keep their places for longer. A large history is read in a place of
 * its own, besides that of the request.
 */
export type PlaceKind = 'ordinary' | 'search' | 'large';

/** How many places there are, and how much may wait to be read. */
export interface GateOptions {
  /** Places of the process, and how many of them may have searches. */
  readonly places: number;
  readonly searchPlaces: number;
  /** How many large histories are read at once: each may take 128 MB. */
  readonly largePlaces: number;
  /** The same for one client. */
  readonly clientPlaces: number;
  readonly clientSearchPlaces: number;
  /** How many requests of a client wait. */
  readonly clientWaiting: number;
  /** In milliseconds: who waits longer gets BusyError. */
  readonly wait: number;
  /** In octets: what was written for all clients, or for one, and is not read yet. Beyond it, the next requests wait. */
  readonly unread: number;
  readonly clientUnread: number;
}

/** Contract of the service: docs/limits.md has these numbers and why they are so. */
export const GATE: GateOptions = {
  places: 64,
  searchPlaces: 16,
  largePlaces: 2,
  clientPlaces: 8,
  clientSearchPlaces: 2,
  clientWaiting: 100,
  wait: 10_000,
  unread: 128 * 1024 ** 2,
  clientUnread: 8 * 1024 ** 2,
};

/** A request that waits. */
interface Waiting {
  readonly kind: PlaceKind;
  /** Ends the wait with a place. */
  enter(): void;
}

/** What a client has. One that has nothing is forgotten. */
interface Client {
  readonly key: string;
  readonly taken: Record<PlaceKind, number>;
  unread: number;
  readonly waiting: Waiting[];
}

/** A response whose octets count until they are read. */
export interface Unread {
  readonly writableFinished: boolean;
  /** Whether it is closed: what was written afterwards is read by nobody. */
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
  /** Closes the connection after so many milliseconds in which the client has read nothing. */
  setTimeout(milliseconds: number): unknown;
}

/** In milliseconds. */
const LONGEST_UNREAD = 20_000;

/**
 * The one gate between what a request costs and its execution. Each request takes a place until its body is ready; clients that wait take
 * turns, so that one with many requests does not keep others from their first.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #taken: Record<PlaceKind, number> = { ordinary: 0, search: 0, large: 0 };
  #unread = 0;
  /** In the order of their turns. */
  readonly #clients = new Map<string, Client>();

  constructor(options: GateOptions = GATE) {
    this.#options = options;
  }

  /** How many requests have places. */
  get taken(): number {
    return requestsOf(this.#taken);
  }

  /**
   * Waits for a place.
   *
   * @returns the function that gives it back.
   * @throws BusyError where too many requests of the client wait, or this one has waited too long; ClientGoneError.
   */
  async enter(caller: Caller, kind: PlaceKind = 'ordinary'): Promise<() => void> {
    const client = this.#clientOf(caller.viewer.rateLimitKey);
    if (this.#hasPlace(client, kind)) this.#take(client, kind, 1);
    else await this.#wait(client, kind, caller);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#take(client, kind, -1);
      this.#changed();
    };
  }

  /** Counts octets that were written for a client until they are read, or it is gone. */
  written({ viewer }: Pick<Caller, 'viewer'>, octets: number, response: Unread): void {
    if (response.writableFinished || response.destroyed) return;
    const client = this.#clientOf(viewer.rateLimitKey);
    client.unread += octets;
    this.#unread += octets;
    response.setTimeout(LONGEST_UNREAD);
    response.once('close', () => {
      client.unread -= octets;
      this.#unread -= octets;
      this.#changed();
    });
  }

  #clientOf(key: string): Client {
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const client: Client = { key, taken: { ordinary: 0, search: 0, large: 0 }, unread: 0, waiting: [] };
    this.#clients.set(key, client);
    return client;
  }

  #hasPlace({ taken, unread }: Client, kind: PlaceKind): boolean {
    const { places, searchPlaces, largePlaces, clientPlaces, clientSearchPlaces } = this.#options;
    if (this.#unread >= this.#options.unread || unread >= this.#options.clientUnread) return false;
    // Its request has a place already.
    if (kind === 'large') return this.#taken.large < largePlaces;
    return (
      this.taken < places &&
      requestsOf(taken) < clientPlaces &&
      (kind === 'ordinary' || (this.#taken.search < searchPlaces && taken.search < clientSearchPlaces))
    );
  }

  #take(client: Client, kind: PlaceKind, count: 1 | -1): void {
    client.taken[kind] += count;
    this.#taken[kind] += count;
  }

  #wait(client: Client, kind: PlaceKind, caller: Caller): Promise<void> {
    const { clientWaiting, wait } = this.#options;
    return new Promise((resolve, reject) => {
      if (caller.signal.aborted) throw new ClientGoneError();
      if (client.waiting.length >= clientWaiting) throw new BusyError(1, 'Too many of your requests wait.');
      const waiting: Waiting = {
        kind,
        enter: () => {
          end();
          this.#take(client, kind, 1);
          resolve();
        },
      };
      const end = () => {
        clearTimeout(timer);
        const place = client.waiting.indexOf(waiting);
        if (place >= 0) client.waiting.splice(place, 1);
      };
      const giveUp = (error: Error) => {
        end();
        reject(error);
        this.#changed();
      };
      const timer = setTimeout(() => giveUp(new BusyError(1, 'Too many requests are in progress.')), wait);
      caller.signal.onAbort(() => giveUp(new ClientGoneError()));
      client.waiting.push(waiting);
    });
  }

  /** Lets those enter for whom there are places now: the first of each client that can, each client in its turn, until nobody can. */
  #changed(): void {
    let hasEntered = true;
    while (hasEntered) {
      hasEntered = false;
      for (const client of [...this.#clients.values()]) {
        const next = client.waiting.find(({ kind }) => this.#hasPlace(client, kind));
        // Its next turn comes after those of all others; one that has nothing has no turn.
        if (next !== undefined || isIdle(client)) this.#clients.delete(client.key);
        if (next === undefined) continue;
        this.#clients.set(client.key, client);
        next.enter();
        hasEntered = true;
      }
    }
  }
}

function isIdle({ taken, unread, waiting }: Client): boolean {
  return requestsOf(taken) + taken.large + unread + waiting.length === 0;
}

function requestsOf({ ordinary, search }: Record<PlaceKind, number>): number {
  return ordinary + search;
}
