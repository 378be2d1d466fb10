import { BusyError } from '../model/errors.js';
import { abandoned, type Recipient } from './recipient.js';

interface ResponseMemoryOptions {
  /** How many octets of large histories may be in responses at once. A response with more passes alone. */
  readonly octets: number;
  /** How many histories may wait. */
  readonly mostWaiting: number;
  /** How long one may wait, in milliseconds. */
  readonly milliseconds: number;
  /** How long, in milliseconds, a client may take to read its response while others wait. */
  readonly reading: number;
}

/** The memory that a recipient holds. */
interface Account {
  readonly recipient: Recipient;
  /** The client that it responds to. */
  readonly client: string;
  held: number;
  /** For how long, in milliseconds, it has been read while others waited. */
  read: number;
  /** How many of its histories wait. */
  waiting: number;
}

interface Waiting {
  readonly account: Account;
  readonly octets: number;
  settle(error?: Error): void;
}

/**
 * Limits the large histories that are in responses at once. Each takes its octets from a common budget, first come
 * first served, until the response is written or the client disconnects. A client that reads slowly while others wait
 * is disconnected, the earlier the more of them wait. Several responses to one client have at most half of the budget. The
 * memory that a history takes in fact (rows, objects, text) is several times its octets.
 */
export class ResponseMemory {
  readonly #options: ResponseMemoryOptions;
  readonly #accounts = new Map<Recipient, Account>();
  #queue: Waiting[] = [];
  #free: number;
  #clock: NodeJS.Timeout | undefined;

  constructor(options: ResponseMemoryOptions) {
    this.#options = options;
    this.#free = options.octets;
  }

  /**
   * Waits until there is room for so many octets more in a response. One response takes no more than the whole budget:
   * RequestBudget limits what it may have, whatever comes first.
   *
   * @param client Identifies the client that shares half of the budget; absent: the response has no such limit.
   * @throws BusyError when it takes too long or too many wait; PublicError UNAVAILABLE, which no client sees, when the
   *   client has disconnected.
   */
  take(needed: number, recipient: Recipient, client?: string): Promise<void> {
    if (recipient.destroyed) return Promise.reject(abandoned());
    const { octets: all, mostWaiting } = this.#options;
    const account = this.#accountOf(recipient, client);
    const octets = Math.min(needed, all - account.held - this.#waitingOctetsOf(account));
    if (octets === 0 && account.waiting === 0) return Promise.resolve();
    if (this.#queue.length >= mostWaiting) return Promise.reject(new BusyError(RETRY_AFTER));
    const waiting = { account, octets };
    if (this.#queue.length === 0 && octets <= this.#free && this.#isWithinShare(waiting)) {
      this.#hold(waiting);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#wait(account, octets, (error) => (error === undefined ? resolve() : reject(error)));
      this.#admit();
    });
  }

  /** Gives back what a recipient has and waits for, since what it was taken for is dropped. */
  release(recipient: Recipient): void {
    const account = this.#accounts.get(recipient);
    if (account === undefined) return;
    this.#free += account.held;
    account.held = 0;
    this.#abandonWaiting(account);
    this.#admit();
  }

  #abandonWaiting(account: Account): void {
    for (const waiting of this.#queue.filter((each) => each.account === account)) waiting.settle(abandoned());
  }

  #wait(account: Account, octets: number, settle: (error?: Error) => void): void {
    const waiting: Waiting = {
      account,
      octets,
      settle: (error) => {
        clearTimeout(limit);
        account.waiting -= 1;
        this.#queue = this.#queue.filter((other) => other !== waiting);
        if (this.#queue.length === 0) this.#stopClock();
        settle(error);
      },
    };
    const limit = setTimeout(() => {
      waiting.settle(new BusyError(RETRY_AFTER));
      this.#admit();
    }, this.#options.milliseconds);
    account.waiting += 1;
    this.#queue.push(waiting);
    this.#clock ??= setInterval(() => this.#closeSlow(), this.#options.reading / TICKS);
  }

  #stopClock(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  /** Disconnects clients that read slowly while others wait: one could block all of them. */
  #closeSlow(): void {
    const { reading } = this.#options;
    const allowed = reading / Math.min(1 + this.#queue.length / HALVING, MAX_DIVISOR);
    for (const account of this.#accounts.values()) {
      if (account.held === 0 || !account.recipient.headersSent) continue;
      account.read += reading / TICKS;
      if (account.read >= allowed) account.recipient.req.socket.destroy();
    }
  }

  #accountOf(recipient: Recipient, client = ''): Account {
    const known = this.#accounts.get(recipient);
    if (known !== undefined) return known;
    const account = { recipient, client, held: 0, read: 0, waiting: 0 };
    this.#accounts.set(recipient, account);
    recipient.once('close', () => {
      this.#accounts.delete(recipient);
      this.#free += account.held;
      this.#abandonWaiting(account);
      this.#admit();
    });
    return account;
  }

  #waitingOctetsOf(account: Account): number {
    return this.#queue.reduce((sum, each) => (each.account === account ? sum + each.octets : sum), 0);
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#hold(next);
      next.settle();
    }
  }

  /**
   * The next to admit: the first whose client is within its share, as soon as there is room. When every holder waits
   * for more, none would ever finish: the one that holds most is admitted beyond the limit. It stays the one until it
   * holds the whole budget, so that all of them never hold more than twice that.
   */
  #next(): Waiting | undefined {
    const first = this.#queue.find((waiting) => this.#isWithinShare(waiting));
    if (first !== undefined && first.octets <= this.#free) return first;
    const holders = [...this.#accounts.values()].filter(({ held }) => held > 0);
    if (!holders.every(({ waiting }) => waiting > 0)) return undefined;
    const most = Math.max(...holders.map(({ held }) => held));
    return this.#queue.find(({ account }) => account.held === most);
  }

  #hold({ account, octets }: Pick<Waiting, 'account' | 'octets'>): void {
    account.held += octets;
    this.#free -= octets;
  }

  #isWithinShare({ account, octets }: Pick<Waiting, 'account' | 'octets'>): boolean {
    const { client } = account;
    if (client === '') return true;
    let others = 0;
    for (const other of this.#accounts.values()) {
      if (other.client === client && other !== account) others += other.held;
    }
    return others === 0 || others + account.held + octets <= this.#options.octets * CLIENT_SHARE;
  }
}

/** The part of the budget that one client may hold; one response of it may hold more. */
const CLIENT_SHARE = 0.5;
/** With so many waiting, the time for reading is halved. */
const HALVING = 10;
/** The time for reading is divided by this at most. */
const MAX_DIVISOR = 10;
/** In seconds. */
const RETRY_AFTER = 5;
/** How often in the time for reading slow clients are looked for. */
const TICKS = 20;
