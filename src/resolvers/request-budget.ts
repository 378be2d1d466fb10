import { promisify } from 'node:util';
import { abandoned } from '../loaders/recipient.js';
import { PublicError } from '../model/errors.js';

/** What one unit of a rate limit pays for. An ordinary domain with every field has a third of both. */
const VALUES_OF_UNIT = 1_000;
const OCTETS_OF_UNIT = 32_768;

/** Counting a history takes so many times less than reading it. */
const OCTETS_COUNTED_PER_READ = 8;
/** Reading a row of a table while searching takes as long as reading so many octets. */
const OCTETS_OF_ROW = 8;
/** Finding a page of a list takes as long as a unit pays for, as do each so many of its entries. To find a part of texts takes four. */
const ENTRIES_OF_UNIT = 100;
const UNITS_OF_PART = 4;
/** Comparing an entry at two times takes as long as reading so many octets. */
const OCTETS_OF_COMPARISON = 16;

/** What one request may have in its answer. */
const MOST_VALUES = 250_000;
const MOST_OCTETS = 10_000_000;
/** What a value takes of the memory while it is executed, in octets. */
const OCTETS_OF_VALUE = 256;
/** In octets: what needs no room, as histories up to that size, if it has no more values than one unit. */
const SMALL_ANSWER = 65_536;
/** Beyond it, compiling a document takes less time than executing it without. */
const MOST_VALUES_UNCOMPILED = 3_000;

/** Reading, parsing and validating so much takes a millisecond or two. */
const OCTETS_OF_BODY_UNIT = 16_384;
const TOKENS_OF_UNIT = 300;
const COMPARISONS_OF_UNIT = 4_000;

/** In milliseconds: shorter work takes a turn together with what follows it. */
const LEAST_OF_TURN = 0.25;

/** After all that follows at once from what is running now: promises are settled first. */
const endOfTurn = promisify(process.nextTick);

/** What examining and validating a document takes. */
export interface DocumentWork {
  readonly tokens: number;
  /** Of fields with one name in one place with each other. */
  readonly comparisons: number;
}

/** The units of examining a document. */
export function unitsOfDocument({ tokens, comparisons }: DocumentWork): number {
  return Math.floor(tokens / TOKENS_OF_UNIT + comparisons / COMPARISONS_OF_UNIT);
}

/**
 * The units that a request costs before it is executed.
 *
 * @param octets Of its body, decompressed.
 * @param newWork Of its document where it has to be examined.
 */
export function unitsOfRequest(octets: number, newWork: DocumentWork | undefined): number {
  const ofDocument = newWork === undefined ? 0 : unitsOfDocument(newWork);
  return Math.floor(octets / OCTETS_OF_BODY_UNIT) + ofDocument;
}

/** The units of what a request selects of the schema; a little is included in those of a domain. */
export function unitsOfIntrospection(size: Size): number {
  return Math.floor(unitsOfResult(size));
}

function unitsOfResult({ values, octets }: Size): number {
  return Math.max(values / VALUES_OF_UNIT, octets / OCTETS_OF_UNIT);
}

/** The size of a part of the result. */
export interface Size {
  /** Scalars, objects and entries of lists. */
  readonly values: number;
  /** Of JSON, in octets. */
  readonly octets: number;
}

interface BudgetOptions {
  /**
   * Takes units from the client's rate limit.
   *
   * @param paid What the request has taken before.
   * @throws RateLimitedError where nothing is left of it.
   */
  charge(units: number, paid: number): Promise<void>;
  /**
   * Waits until there is room for so many octets more in the answer.
   *
   * @throws BusyError where it takes too long.
   */
  room(octets: number): Promise<void>;
  /** Gives back the room of an answer that is dropped. */
  release(): void;
  /**
   * Waits for the turn of the event loop in which work that takes so long may begin.
   *
   * @returns undefined where it may begin at once.
   */
  turn(milliseconds: number): Promise<void> | undefined;
  /** Whether the client is still there. */
  isWanted(): boolean;
  /** Whether the result is limited: false for operations of this program's own, which select each value once. */
  readonly limited: boolean;
}

/**
 * The work of one request, and what it has paid for it. Each domain that is granted is a unit of the client's rate
 * limit; what the request reads beyond these is paid for, by its size, before it is executed.
 */
export class RequestBudget {
  /** Set where a page of a domain's list is of another state than the domain's row, which was read before: of no version where it was erased. */
  stateOfPage: { readonly version: bigint | null } | undefined;
  readonly #options: BudgetOptions;
  #values = 0;
  #octets = 0;
  #octetsRead = 0;
  #octetsOfHistories = 0;
  #reserved = 0;
  #restarts = 0;
  #units = 0;
  /** Fields whose unit is among these. */
  readonly #paidFields = new Set<string | number>();
  #prepaid = 0;
  #payment: Promise<void> | undefined;
  /** In milliseconds: what was done of short lists since the last turn was taken. */
  #worked = 0;
  /** The end of the last work that waits for its turns. */
  #work: Promise<void> | undefined;
  #exceeded: PublicError | undefined;
  #isTentative = false;
  #isRepetition = false;
  #isAbandoned = false;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** Whether what is read from lists has to be taken. */
  get limited(): boolean {
    return this.#options.limited;
  }

  /** How many values of lists, and of the schema, the result has. */
  get values(): number {
    return this.#values;
  }

  /** The units of the rate limit that the request has taken, of a subscription those of the latest result. */
  get units(): number {
    return Math.floor(this.#units);
  }

  /** Why the request gets no data: its result would exceed a limit. */
  get exceeded(): PublicError | undefined {
    return this.#exceeded;
  }

  /**
   * Whether the result of this execution is not sent: it would exceed a limit, another execution follows, or the client
   * has disconnected. Fields then resolve to nothing: an error for each of 490 took 200 ms.
   */
  get isOver(): boolean {
    return this.#exceeded !== undefined || this.#isAbandoned || !this.#options.isWanted();
  }

  /**
   * Makes the execution that follows end at the first large history or at many values, where a compiled one would
   * take much less.
   */
  beginTentative(): void {
    this.#isTentative = true;
  }

  /** Whether a tentative execution has ended in that way. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Whether this execution repeats one that was complete: what it reads is paid for. */
  get isRepetition(): boolean {
    return this.#isRepetition;
  }

  /** Restarts the request's execution after one that was complete. */
  repeat(): void {
    this.restart();
    this.#isRepetition = true;
  }

  /** Restarts the request's execution, to its end. What it has paid for stays paid. */
  restart(): void {
    this.stateOfPage = undefined;
    this.#isTentative = false;
    this.#isAbandoned = false;
    this.#values = 0;
    this.#octets = 0;
    this.#octetsRead = 0;
    this.#octetsOfHistories = 0;
    this.#reserved = 0;
    this.#restarts += 1;
    this.#options.release();
  }

  /** Begins the next result of a subscription. Each is limited by itself; what is left of the last unit is for those that follow. */
  nextResult(): void {
    const left = this.#units - this.#unitsUsed();
    this.restart();
    this.#paidFields.clear();
    this.#units = Math.max(0, left);
  }

  /**
   * The rate limit has granted a domain, which is a unit, once.
   *
   * @param field The response name of its field.
   */
  granted(field: string | number): void {
    if (this.#paidFields.has(field)) return;
    this.#paidFields.add(field);
    this.#units += 1;
  }

  /** The units that a field takes: none if it was granted, also before restart(), or is among those of spend(). */
  pointsOf(field: string | number): 0 | 1 {
    if (this.#paidFields.has(field)) return 0;
    if (this.#prepaid === 0) return 1;
    this.#prepaid -= 1;
    this.#paidFields.add(field);
    return 0;
  }

  /**
   * Takes the units of so many domains of a field, once: also after restart().
   *
   * @param field Its response name.
   * @throws RateLimitedError
   */
  async readDomains(field: string | number, count: number): Promise<void> {
    if (this.#paidFields.has(field)) return;
    this.#paidFields.add(field);
    const units = Math.max(0, count - this.#prepaid);
    this.#prepaid -= count - units;
    if (units === 0) return;
    await this.#options.charge(units, this.#units);
    this.#units += units;
  }

  /**
   * What the answer may still have.
   *
   * @throws PublicError QUERY_TOO_COMPLEX where it has more already.
   */
  left(): Size {
    this.#requireWithin();
    return { values: MOST_VALUES - this.#values, octets: MOST_OCTETS - this.#octets };
  }

  /**
   * Takes the size of a list before its entries become part of the answer.
   *
   * @returns a promise where it has to be paid for, or to wait, first.
   * @throws PublicError QUERY_TOO_COMPLEX where the answer has more than it may have; RateLimitedError and BusyError
   *   by the promise.
   */
  take(size: Size): Promise<void> | undefined {
    this.#count(size);
    return this.#roomAfter(this.#paid()?.then(() => this.#requireWithin()));
  }

  /** Takes the size of a part of the answer that is not paid for here. Returns and throws as take() does. */
  reserve(size: Size): Promise<void> | undefined {
    this.#count(size);
    return this.#roomAfter(undefined);
  }

  /**
   * Takes the size of the errors of an execution that is complete, which are a part of the answer.
   *
   * @param paid Whether they are paid for. Returns and throws as take() does.
   */
  takeErrors(size: Size, paid: boolean): Promise<void> | undefined {
    this.#isTentative = false;
    return paid ? this.take(size) : this.reserve(size);
  }

  /**
   * Does work on a list in parts, each in its turn of the event loop. One list follows the other, so that nothing is
   * done for those that follow where the first ones exceed a limit.
   *
   * @param work Yields before each part how many milliseconds it takes.
   * @returns what the work returns; a promise where it had to wait.
   * @throws whatever the work throws; PublicError where another execution has begun meanwhile.
   */
  inTurns<Result>(work: () => Generator<number, Result>): Result | Promise<Awaited<Result>> {
    const restarts = this.#restarts;
    if (this.#work !== undefined) return this.#follow(this.#work, work, restarts);
    const parts = work();
    for (let part = parts.next(); ; part = parts.next()) {
      if (part.done === true) return part.value;
      const turn = this.#turn(part.value);
      if (turn !== undefined) return this.#follow(turn, () => parts, restarts);
    }
  }

  /** A turn for what was done of short lists: one for each would take longer than they do. */
  #turn(milliseconds: number): Promise<void> | undefined {
    this.#worked += milliseconds;
    if (this.#worked < LEAST_OF_TURN) return undefined;
    const turn = this.#options.turn(this.#worked);
    this.#worked = 0;
    return turn;
  }

  /** @param before What the work waits for. */
  async #follow<Result>(
    before: Promise<void>,
    work: () => Generator<number, Result>,
    restarts: number,
  ): Promise<Awaited<Result>> {
    const rest = async (): Promise<{ readonly result: Result }> => {
      await before;
      const parts = work();
      for (;;) {
        if (restarts !== this.#restarts) throw anotherFollows();
        const part = parts.next();
        // Not awaited here: the next list does not wait until this one is paid for.
        if (part.done === true) return { result: part.value };
        await this.#turn(part.value);
      }
    };
    const finished = rest();
    const ended = () => {
      if (this.#work === end) this.#work = undefined;
    };
    const end: Promise<void> = finished.then(ended, ended);
    this.#work = end;
    const { result } = await finished;
    return await result;
  }

  #count({ values, octets }: Size): void {
    this.#requireWithin();
    this.#values += values;
    this.#octets += octets;
    if (this.#values > MOST_VALUES) this.#exceeded = tooMuch(MOST_VALUES, 'values');
    else if (this.#octets > MOST_OCTETS) this.#exceeded = tooMuch(MOST_OCTETS, 'octets');
    else if (this.#values > MOST_VALUES_UNCOMPILED) this.#abandonTentative();
    this.#requireWithin();
  }

  #roomAfter(payment: Promise<void> | undefined): Promise<void> | undefined {
    if (this.#octets <= SMALL_ANSWER && this.#values <= VALUES_OF_UNIT) return payment;
    const needed = Math.max(this.#octets, this.#values * OCTETS_OF_VALUE);
    const unreserved = needed - this.#reserved;
    if (unreserved <= SMALL_ANSWER) return payment;
    this.#reserved = needed;
    const restarts = this.#restarts;
    // What is left of an execution that was given up takes no room.
    return Promise.resolve(payment).then(() =>
      restarts === this.#restarts ? this.#options.room(unreserved) : undefined,
    );
  }

  /**
   * Takes units for the request itself, before it is executed. They include those of as many domains.
   *
   * @throws RateLimitedError
   */
  async spend(units: number): Promise<void> {
    await this.#options.charge(units, this.#units);
    this.#units += units;
    this.#prepaid += units;
  }

  /**
   * Takes the size of a large history before it is read.
   *
   * @param most How many octets several histories of the request may have together.
   * @throws PublicError QUERY_TOO_COMPLEX where they have more; RateLimitedError
   */
  async read(octets: number, most = Number.POSITIVE_INFINITY): Promise<void> {
    this.#abandonTentative();
    this.#requireWithin();
    this.#addHistory(octets, most);
    // The loader has room for it before it is read.
    this.#reserved += octets;
    await this.#paid();
  }

  /**
   * Takes the size of a history that is counted before that is done.
   *
   * @param most As of read(), of which counting is a part.
   * @throws PublicError QUERY_TOO_COMPLEX as read() does; RateLimitedError
   */
  async count(octets: number, most: number): Promise<void> {
    this.#requireWithin();
    this.#addHistory(octets / OCTETS_COUNTED_PER_READ, most);
    await this.#paid();
  }

  /**
   * Takes the work of comparing so many entries of a history before that is done.
   *
   * @throws RateLimitedError
   */
  async compare(entries: number): Promise<void> {
    this.#requireWithin();
    this.#octetsRead += entries * OCTETS_OF_COMPARISON;
    await this.#paid();
  }

  #addHistory(octets: number, most: number): void {
    this.#octetsRead += octets;
    const isFirst = this.#octetsOfHistories === 0;
    this.#octetsOfHistories += octets;
    // Which of them are read first depends on the database: the request has all of them or none.
    if (!isFirst && this.#octetsOfHistories > most) this.#exceeded = tooLarge();
    this.#requireWithin();
  }

  /**
   * Takes the units of a page of a list before it is read.
   *
   * @param first How many entries it may have.
   * @param byPart Whether it is found by a part of texts or names.
   * @throws RateLimitedError
   */
  async readPage(first: number, { byPart = false } = {}): Promise<void> {
    this.#requireWithin();
    const units = 1 + Math.max(1, first / ENTRIES_OF_UNIT) + (byPart ? UNITS_OF_PART : 0);
    this.#octetsRead += units * OCTETS_OF_UNIT;
    await this.#paid();
  }

  /**
   * Takes the work of reading so many rows of a table.
   *
   * @throws RateLimitedError
   */
  async readRows(rows: number): Promise<void> {
    this.#requireWithin();
    this.#octetsRead += rows * OCTETS_OF_ROW;
    await this.#paid();
  }

  #abandonTentative(): void {
    this.#isAbandoned ||= this.#isTentative;
  }

  /** Nothing more is executed of a request that exceeds a limit, or that is executed in another way. */
  #requireWithin(): void {
    if (!this.#options.isWanted()) throw abandoned();
    if (this.#exceeded !== undefined) throw this.#exceeded;
    if (this.#isAbandoned) throw anotherFollows();
  }

  /** All that is due in one turn of the event loop is one payment; what becomes due meanwhile waits for it. */
  #paid(): Promise<void> | undefined {
    if (this.#payment === undefined && this.#due() > 0) this.#payment = this.#pay();
    return this.#payment;
  }

  /** A payment that is rejected stays, and rejects all later ones. */
  async #pay(): Promise<void> {
    await endOfTurn();
    for (let units = this.#due(); units > 0; units = this.#due()) {
      await this.#options.charge(units, this.#units);
      this.#units += units;
    }
    this.#payment = undefined;
  }

  #due(): number {
    return Math.ceil(this.#unitsUsed() - this.#units);
  }

  #unitsUsed(): number {
    return unitsOfResult({ values: this.#values, octets: Math.max(this.#octets, this.#octetsRead) });
  }
}

function anotherFollows(): PublicError {
  return new PublicError('UNAVAILABLE', 'Another execution follows.');
}

/** What has no such limit. */
const PAGES = 'Long lists have pages: dnsRecordsConnection, httpHeadersConnection, historyConnection.';

function tooLarge(): PublicError {
  return new PublicError(
    'QUERY_TOO_COMPLEX',
    `The histories of the domains in this request are too large together: request fewer at once. ${PAGES}`,
  );
}

function tooMuch(most: number, what: string): PublicError {
  return new PublicError(
    'QUERY_TOO_COMPLEX',
    `The response would have more than ${most} ${what}: select fewer domains, types, names or fields in one request. ${PAGES}`,
  );
}
