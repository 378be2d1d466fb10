import { BusyError, PublicError } from '../model/errors.js';
import { abandoned, type Recipient } from './recipient.js';

export interface AnswerMemoryOptions {
  /** How many octets of large histories are in answers at once. A larger history passes alone. */
  readonly octets: number;
  /** How many histories may wait. */
  readonly mostWaiting: number;
  /** How long one may wait, in milliseconds. */
  readonly milliseconds: number;
  /** How long, in milliseconds, a client may take to read its answer while others wait. */
  readonly reading: number;
}

/** What a recipient has of the memory. */
interface Account {
  readonly recipient: Recipient;
  /** Whose request it answers. */
  readonly client: string;
  held: number;
  /** How long, in milliseconds, it has been read while others waited. */
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
 * Bounds the large histories that are in answers at once: each takes as much of one memory as it has octets,
 * in the order in which they come, and its recipient gives it back when the answer is written or the client
 * has gone; one that reads slowly while others wait is closed, the earlier the more of them wait. All that one client
 * asks for has half of the memory. What a history becomes on its way (rows, objects, text) is several times as much.
 */
export class AnswerMemory {
  readonly #options: AnswerMemoryOptions;
  readonly #accounts = new Map<Recipient, Account>();
  #queue: Waiting[] = [];
  #free: number;
  #clock: NodeJS.Timeout | undefined;

  constructor(options: AnswerMemoryOptions) {
    this.#options = options;
    this.#free = options.octets;
  }

  /**
   * Waits until there is room for a history in the recipient's answer.
   *
   * @param client Whose request it answers; absent: that of nobody else.
   * @throws BusyError where it takes too long or too many wait; PublicError QUERY_TOO_COMPLEX where one answer
   *   asks for more than all the memory; PublicError UNAVAILABLE, which nobody sees, where the client has gone.
   */
  take(historyOctets: number, recipient: Recipient, client?: string): Promise<void> {
    if (recipient.destroyed) return Promise.reject(abandoned());
    const { octets: all, mostWaiting } = this.#options;
    const account = this.#accountOf(recipient, client);
    const octets = Math.min(historyOctets, all);
    if (account.held + this.#awaitedBy(account) + octets > all) return Promise.reject(tooMuch());
    if (this.#queue.length >= mostWaiting) return Promise.reject(new BusyError(RETRY_AFTER));
    return new Promise((resolve, reject) => {
      this.#wait(account, octets, (error) => (error === undefined ? resolve() : reject(error)));
      this.#admit();
    });
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

  /** While others wait, an answer is read for a limited time: one slow client would keep all from theirs. */
  #closeSlow(): void {
    const { reading } = this.#options;
    const allowed = reading / Math.min(1 + this.#queue.length / HALVING, LEAST_READING);
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
      for (const waiting of this.#queue.filter((each) => each.account === account)) {
        waiting.settle(abandoned());
      }
      this.#admit();
    });
    return account;
  }

  #awaitedBy(account: Account): number {
    return this.#queue.reduce((sum, each) => (each.account === account ? sum + each.octets : sum), 0);
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      next.account.held += next.octets;
      this.#free -= next.octets;
      next.settle();
    }
  }

  /**
   * Who is let in: the first whose client has not its share yet, as soon as there is room. Where everyone who holds
   * some of the memory waits for more of it, none would ever be finished: the first of these goes on beyond the limit.
   */
  #next(): Waiting | undefined {
    const first = this.#queue.find((waiting) => this.#isWithinShare(waiting));
    if (first !== undefined && first.octets <= this.#free) return first;
    const holders = [...this.#accounts.values()].filter(({ held }) => held > 0);
    const stuck = holders.every(({ waiting }) => waiting > 0);
    return stuck ? this.#queue.find(({ account }) => account.held > 0) : undefined;
  }

  #isWithinShare({ account: { client }, octets }: Waiting): boolean {
    if (client === '') return true;
    let held = 0;
    for (const account of this.#accounts.values()) if (account.client === client) held += account.held;
    return held === 0 || held + octets <= this.#options.octets * CLIENT_SHARE;
  }
}

/** Of the memory, for one client: what is larger passes alone. */
const CLIENT_SHARE = 0.5;
/** With so many waiting, clients have half of the time for reading. */
const HALVING = 10;
/** The time for reading has this part of it at least. */
const LEAST_READING = 10;
/** In seconds. */
const RETRY_AFTER = 5;
/** So often in the time for reading it is looked who reads. */
const TICKS = 20;

function tooMuch(): PublicError {
  return new PublicError(
    'QUERY_TOO_COMPLEX',
    'The histories of the domains in this request are too large together: ask for fewer in one request.',
  );
}
