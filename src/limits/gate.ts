import { BusyError, ClientGoneError } from '../model/errors.js';
import type { Caller, ClientSignal } from './caller.js';

/**
 * What a request takes a place for: searches read many domains, and keep their places for longer. A large
 * history is read in a place of its own, besides that of the request.
 */
export type PlaceKind = 'ordinary' | 'search' | 'large';

/** docs/limits.md has these numbers, and docs/decisions/0014-cost-by-arguments.md why they are so. */
export const GATE = {
  /** Places of the process, and how many of them may have searches. */
  places: 64,
  searchPlaces: 16,
  /** How many large histories are read at once: each may take 128 MB. */
  largePlaces: 2,
  /** The same for one client. */
  clientPlaces: 8,
  clientSearchPlaces: 2,
  /** How many requests of a client wait. */
  clientWaiting: 100,
  /** In milliseconds: who waits longer gets BusyError. */
  wait: 10_000,
  /** In octets: what was written for all clients, or for one, and is not read yet. Beyond it, requests wait. */
  unread: 128 * 1024 ** 2,
  clientUnread: 8 * 1024 ** 2,
};

export type GateOptions = Readonly<typeof GATE>;

/** A request that waits. */
interface Waiting {
  readonly kind: PlaceKind;
  /** Ends the wait with a place. */
  enter(): void;
}

/** Places that are taken, and octets that are not read yet. */
type Use = Record<PlaceKind | 'unread', number>;

/** What a client has. One that has nothing is forgotten. */
interface Client {
  readonly key: string;
  readonly use: Use;
  readonly waiting: Waiting[];
}

/** A response whose octets count until they are read. */
interface Unread extends ClientSignal {
  readonly writableEnded: boolean;
  /** In octets: what Node.js has not given to the system yet. */
  readonly writableLength: number;
  /** Closes the connection after so many milliseconds in which the client has read nothing. */
  setTimeout(milliseconds: number): unknown;
}

/** In milliseconds: a client that reads nothing for so long is disconnected. */
export const LONGEST_UNREAD = 20_000;

/**
 * The one gate between what a request costs and its execution. Each request takes a place until its body is
 * ready; clients that wait take turns, so that one with many requests does not keep others from their first.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #use: Use = { ordinary: 0, search: 0, large: 0, unread: 0 };
  /** In the order of their turns. */
  readonly #clients = new Map<string, Client>();

  constructor(options: GateOptions = GATE) {
    this.#options = options;
  }

  /** How many requests have places. */
  get taken(): number {
    return requestsOf(this.#use);
  }

  /**
   * Waits for a place.
   *
   * @returns the function that gives it back.
   * @throws BusyError where too many of the client wait, or this one waited too long; ClientGoneError.
   */
  async enter(caller: Caller, kind: PlaceKind = 'ordinary'): Promise<() => void> {
    const client = this.#clientOf(caller.viewer.rateLimitKey);
    return this.#hasPlace(client, kind) ? this.#take(client, kind, 1) : this.#wait(client, kind, caller);
  }

  /** Counts the octets of a response that was written, until they are read or the client is gone. */
  written({ viewer }: Pick<Caller, 'viewer'>, octets: number, response: Unread): void {
    if (response.destroyed || (response.writableEnded && response.writableLength === 0)) return;
    const client = this.#clientOf(viewer.rateLimitKey);
    response.setTimeout(LONGEST_UNREAD);
    response.once('close', this.#take(client, 'unread', octets));
  }

  #clientOf(key: string): Client {
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const client: Client = { key, use: { ordinary: 0, search: 0, large: 0, unread: 0 }, waiting: [] };
    this.#clients.set(key, client);
    return client;
  }

  #hasPlace({ use }: Client, kind: PlaceKind): boolean {
    const { places, searchPlaces, largePlaces, clientPlaces, clientSearchPlaces } = this.#options;
    if (this.#use.unread >= this.#options.unread || use.unread >= this.#options.clientUnread) return false;
    // Its request has a place already.
    if (kind === 'large') return this.#use.large < largePlaces;
    return (
      this.taken < places &&
      requestsOf(use) < clientPlaces &&
      (kind === 'ordinary' || (this.#use.search < searchPlaces && use.search < clientSearchPlaces))
    );
  }

  /** @returns what gives it back, once. */
  #take({ use }: Client, what: keyof Use, count: number): () => void {
    use[what] += count;
    this.#use[what] += count;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      use[what] -= count;
      this.#use[what] -= count;
      this.#changed();
    };
  }

  #wait(client: Client, kind: PlaceKind, caller: Caller): Promise<() => void> {
    const { clientWaiting, wait } = this.#options;
    return new Promise((resolve, reject) => {
      if (caller.signal.destroyed) throw new ClientGoneError();
      if (client.waiting.length >= clientWaiting) throw new BusyError(1, 'Too many of your requests wait.');
      const waiting: Waiting = {
        kind,
        enter: () => {
          end();
          resolve(this.#take(client, kind, 1));
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
      // Also when the response to who has entered is closed.
      caller.signal.once('close', () => client.waiting.includes(waiting) && giveUp(new ClientGoneError()));
      client.waiting.push(waiting);
    });
  }

  /** Lets those enter for whom there are places: the first of each client, in turn, until nobody can. */
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

function isIdle({ use, waiting }: Client): boolean {
  return requestsOf(use) + use.large + use.unread + waiting.length === 0;
}

function requestsOf({ ordinary, search }: Use): number {
  return ordinary + search;
}
