import { canonicalType, typeNumber } from '../../model/dns-types.js';
import { canonicalHostName } from '../../model/host-name.js';
import { type Failed, failed, STOPPED } from '../failure.js';
import type { Priority } from '../priority.js';
import { type BareAnswer, type DnsAnswer, type FailedAnswer, moreTelling } from './answer.js';
import { readAnswer } from './evidence.js';
import {
  createQuestion,
  FORMERR,
  type Header,
  NOERROR,
  NOTIMP,
  NXDOMAIN,
  type Question,
  type Response,
} from './message.js';
import { chooseServer, type NameServer } from './name-server.js';
import { exchangeByTcp } from './tcp.js';
import { UdpChannel } from './udp.js';

/** How a name is looked up. */
export interface LookupOptions {
  /** At least one, in the order of preference. */
  readonly servers: readonly NameServer[];
  /** For one try, in milliseconds. */
  readonly timeout: number;
  /** How many tries a query has. */
  readonly tries: number;
  /** Settles what is not answered as stopped. */
  readonly signal: AbortSignal;
  /** Which queries go first where they wait for a server. */
  readonly priority: Priority;
}

/**
 * A CNAME is answered even where it leads to servers that are silent, and the SOA record (or that there is
 * none) where the servers fail for addresses only.
 */
const FIRST_TYPES = ['A', 'CNAME', 'SOA'];
/** The fewest first queries, however few tries each has: one may be lost. */
const LEAST_FIRST = 2;

/** The tries of a query so far. */
interface Progress {
  readonly triesLeft: number;
  /** How often each server has had the query. */
  readonly asked: Map<NameServer, number>;
  /** The failure to report if the tries left give no answer either. */
  readonly reported?: FailedAnswer;
}

/** The results of the first queries: answers, and the types that have some of their tries left. */
interface FirstQueries {
  readonly answers: ReadonlyMap<string, DnsAnswer>;
  readonly begun: ReadonlyMap<string, Progress>;
}

/** The queries for one name: they share one UDP socket for each server. */
export class Lookup {
  readonly #options: LookupOptions;
  readonly #channels = new Map<NameServer, UdpChannel>();

  constructor(options: LookupOptions) {
    this.#options = options;
  }

  /**
   * Queries one type, and all others at once when there is an answer. Never rejects; to be called once.
   *
   * @returns The answers by the types' canonical names; of an unknown type by the name given.
   */
  async answers(name: string, types: readonly string[]): Promise<ReadonlyMap<string, DnsAnswer>> {
    const { signal } = this.#options;
    const close = () => {
      for (const channel of this.#channels.values()) channel.close();
    };
    signal.addEventListener('abort', close);
    const distinct = [...new Set(types.map((type) => canonicalType(type) ?? type))];
    const { answers, begun } = await this.#queryFirst(name, distinct);
    const entries = distinct.map(async (type) => {
      return [type, answers.get(type) ?? (await this.#query(name, type, begun.get(type)))] as const;
    });
    const all = new Map(await Promise.all(entries));
    signal.removeEventListener('abort', close);
    close();
    return all;
  }

  /**
   * Sends one query after the other, as many as each has tries and each for another type, until there is
   * an answer. Without one the name is given up: otherwise each query for a dead name would hold its place
   * at a server for all its tries, and other names would wait for it.
   */
  async #queryFirst(name: string, types: readonly string[]): Promise<FirstQueries> {
    const begun = new Map<string, Progress>();
    if (types.length === 1) return { answers: new Map(), begun };
    const asked = new Map<NameServer, number>();
    let reported: FailedAnswer | undefined;
    for (const type of firstTypes(types, Math.max(this.#options.tries, LEAST_FIRST))) {
      const answer = await this.#query(name, type, { triesLeft: 1, asked });
      if (answer.kind === 'answered' || isFinal(answer)) {
        return { answers: new Map([[type, answer]]), begun };
      }
      const triesLeft = (begun.get(type)?.triesLeft ?? this.#options.tries) - 1;
      begun.set(type, { triesLeft, asked: new Map(asked), reported: answer });
      if (!isUnresolved(answer)) return { answers: new Map(), begun };
      reported = moreTelling(reported, answer);
    }
    return { answers: new Map(types.map((type) => [type, reported ?? STOPPED])), begun };
  }

  async #query(
    name: string,
    type: string,
    progress: Progress = { triesLeft: this.#options.tries, asked: new Map() },
  ): Promise<DnsAnswer> {
    try {
      const number = typeNumber(type);
      if (number === undefined) return failed('malformed', `${type} is not a type that can be queried`);
      return await this.#answer(createQuestion(canonicalHostName(name), type, number), progress);
    } catch (error) {
      return failed('malformed', error instanceof Error ? error.message : String(error));
    }
  }

  /** A negative answer without proof counts if the next one, of another server if there is one, is equal. */
  async #answer(question: Question, { triesLeft, asked, reported }: Progress): Promise<DnsAnswer> {
    let bare: BareAnswer | undefined;
    for (let left = triesLeft; left > 0; left -= 1) {
      const answer = await this.#try(question, asked);
      if (answer.kind === 'answered' || (answer.kind === 'failed' && isFinal(answer))) return answer;
      reported = moreTelling(reported, answer);
      if (answer.kind === 'failed') continue;
      if (bare !== undefined) return bare.nameExists === answer.nameExists ? proven(answer) : reported;
      bare = answer;
      left = Math.max(left, 2);
    }
    return reported ?? STOPPED;
  }

  async #try(question: Question, asked: Map<NameServer, number>): Promise<DnsAnswer | BareAnswer> {
    const server = await this.#enterServer(asked);
    if (server === undefined) return STOPPED;
    asked.set(server, (asked.get(server) ?? 0) + 1);
    try {
      return await this.#exchange(server, question);
    } finally {
      server.limiter.leave(this.#options.priority);
    }
  }

  /** The server for the next try, its limiter entered; undefined if stopped. */
  async #enterServer(asked: ReadonlyMap<NameServer, number>): Promise<NameServer | undefined> {
    const { servers, signal, priority } = this.#options;
    const choose = () => chooseServer(servers, asked, performance.now());
    let server = choose();
    while (server !== undefined && !signal.aborted) {
      if (server.limiter.tryEnter(priority)) return server;
      if (!(await server.limiter.enter(signal, priority))) return undefined;
      // It may have timed out meanwhile: all who waited would time out one after the other.
      const better = server.breaker.isOpen ? choose() : server;
      if (better === server) return server;
      server.limiter.leave(priority);
      server = better;
    }
    return undefined;
  }

  /** One try: over UDP, without EDNS if the server does not know it, and over TCP if truncated. */
  async #exchange(server: NameServer, question: Question): Promise<DnsAnswer | BareAnswer> {
    const sent = performance.now();
    let withEdns = true;
    let overTcp = false;
    for (;;) {
      const timeLeft = Math.max(Math.ceil(sent + this.#options.timeout - performance.now()), 1);
      const result = overTcp
        ? await exchangeByTcp(server, question, withEdns, timeLeft, this.#options.signal)
        : await this.#channel(server).exchange(question, withEdns, timeLeft);
      recordResult(server, result, sent);
      if (result.kind === 'failed') return result;
      if (withEdns && isWithoutEdns(result.header)) withEdns = false;
      else if (!overTcp && isTruncated(result.header)) overTcp = true;
      else return readAnswer(server.text, question, result);
    }
  }

  #channel(server: NameServer): UdpChannel {
    const channel = this.#channels.get(server) ?? new UdpChannel(server);
    this.#channels.set(server, channel);
    return channel;
  }
}

function proven({ nameExists }: BareAnswer): DnsAnswer {
  return { kind: 'answered', nameExists, records: [], aliases: [] };
}

/** A server that cannot be reached, or sends what is no response, counts as one that has timed out. */
function recordResult({ breaker }: NameServer, result: Response | Failed, sent: number): void {
  if (result.kind === 'response') breaker.recordResponse(performance.now());
  else if (result.failure.code !== 'stopped') breaker.recordTimeout(sent, performance.now());
}

/** The types of so many queries in their order; once all have had their turn, the first again. */
function firstTypes(types: readonly string[], count: number): string[] {
  const inOrder = [...new Set([...FIRST_TYPES.filter((type) => types.includes(type)), ...types])];
  return Array.from({ length: count }, () => inOrder)
    .flat()
    .slice(0, count);
}

/** Resolvers are silent or answer SERVFAIL where the name's own servers are silent. */
function isUnresolved({ failure }: Failed): boolean {
  return failure.code === 'timeout' || failure.code === 'servfail';
}

/** Another try would give the same: no message is larger than those over TCP. */
function isFinal({ failure }: Failed): boolean {
  return failure.code === 'stopped' || failure.code === 'truncated';
}

/** How servers respond that do not know EDNS (RFC 6891, section 7). */
function isWithoutEdns({ rcode }: Header): boolean {
  return rcode === FORMERR || rcode === NOTIMP;
}

/** Truncated errors stay errors over TCP. */
function isTruncated({ isTruncated, rcode }: Header): boolean {
  return isTruncated && (rcode === NOERROR || rcode === NXDOMAIN);
}
