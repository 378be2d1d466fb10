import { PublicError } from '../model/errors.js';

/** A list without pages, and a response, in GraphQL. The lists of a response are counted together. */
export const MAX_LIST_ENTRIES = 5_000;
const MAX_LIST_OCTETS = 1024 ** 2;
const MAX_RESPONSE_OCTETS = 4 * 1024 ** 2;

/** Its advice says what to request instead. */
export class TooLargeError extends PublicError {
  constructor(what: string, advice: string) {
    super('TOO_LARGE', `${what} ${advice}`);
  }
}

/** @throws TooLargeError for a list without pages that is too long. */
export function requireListSize(entries: number, octets: number, advice: string): void {
  if (entries <= MAX_LIST_ENTRIES && octets <= MAX_LIST_OCTETS) return;
  throw new TooLargeError(`The list has more than ${MAX_LIST_ENTRIES} entries or 1 MB.`, advice);
}

/** A list that is read by pages, since it is too long for one execution. No client sees it. */
export class LargeHistoryError extends TooLargeError {
  readonly octets: number;

  constructor(name: string, octets: number) {
    super(`A list of the history of ${name} has ${octets} octets.`, 'Read it by pages.');
    this.octets = octets;
  }
}

/** How much of a response there is so far, and how much was read for its lists that are read by themselves. */
export class ResponseSize {
  /** Only add() changes it. */
  octets = 0;
  #read = 0;
  #lastTurn: Promise<unknown> = Promise.resolve();

  /** Reads lists one after the other: those of one request keep no other request's statements waiting. */
  inTurn<List>(read: () => Promise<List>): Promise<List> {
    const turn = this.#lastTurn.then(read);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }

  /** Also of a list that is too long: more than a response may have is not read. @throws TooLargeError */
  addRead(octets: number, advice: string): void {
    this.#read += octets;
    if (this.#read > MAX_RESPONSE_OCTETS) throw tooLargeResponse(advice);
  }

  /** @param octets As JSON. @param copies How often a field of the entries is selected, under other names. */
  addList(entries: number, octets: number, copies: number, advice: string): void {
    requireListSize(entries, octets, advice);
    this.add(octets * copies, advice);
  }

  /** @throws TooLargeError */
  add(octets: number, advice: string): void {
    if (this.octets + octets > MAX_RESPONSE_OCTETS) throw tooLargeResponse(advice);
    this.octets += octets;
  }
}

function tooLargeResponse(advice: string): TooLargeError {
  return new TooLargeError('The response would be larger than 4 MB.', advice);
}
