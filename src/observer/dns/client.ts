import { setMaxListeners } from 'node:events';
import type { DnsRecord } from '../../model/dns-record.js';
import { canonicalType, typeNumber } from '../../model/dns-types.js';
import { messageOf } from '../../model/errors.js';
import { canonicalHostName } from '../../model/host-name.js';
import { type Failed, failed, STOPPED } from '../failure.js';
import type { Priority } from '../priority.js';
import { type BareAnswer, type DnsAnswer, type FailedAnswer, moreTelling } from './answer.js';
import { createQuestion, type Question, type Response } from './message.js';
import {
  chooseServer,
  createNameServer,
  type DnsServer,
  type NameServer,
  TRIES_IN_A_ROW,
} from './name-server.js';
import { queryServer } from './query-server.js';
import { addressesOf, hasAddresses, type ResolverChecks } from './resolver-checks.js';

export interface DnsClientOptions {
  /** At least one, in the order of preference. One that has timed out recently comes last for a while. */
  readonly servers: readonly DnsServer[];
  /** For one try, in milliseconds. */
  readonly timeout: number;
  /** How many tries a query has in all: two at one server, then two at the next. */
  readonly tries: number;
  /** How many queries a server has in flight at once; others wait. */
  readonly queriesPerServer: number;
  /** Of the same servers; absent: every answer is taken. */
  readonly checks?: ResolverChecks;
}

/** Queries DNS servers for records. */
export interface DnsClient {
  /**
   * Queries the types of one name: one or a few first, and all others at once when there is an answer. If each
   * of the first queries, as many as one has tries, times out or has SERVFAIL, all types have failed so. All begin at
   * one server, and another one is queried only after two tries there: the resolvers of a GeoDNS have different
   * views, which must not mix. It never rejects.
   *
   * @param name Any name that DNS allows, as canonicalHostName takes it.
   * @param types Types that have a number (typeNumber); another is answered as malformed.
   * @param signal Settles what is not answered as stopped.
   * @param priority Which queries go first where they wait for a server; normal if absent.
   * @returns The answer for each type, by the type's canonical name; a type or name that cannot be queried has
   * failed as malformed. A failed query has the most telling failure of its tries.
   */
  query(
    name: string,
    types: readonly string[],
    signal?: AbortSignal,
    priority?: Priority,
  ): Promise<ReadonlyMap<string, DnsAnswer>>;
}

/** A client that keeps nothing open between lookups. */
export function createDnsClient(options: DnsClientOptions): DnsClient {
  const named = options.servers.map((server) => createNameServer(server, options.queriesPerServer));
  // One that is named twice is one witness.
  const servers = [...new Map(named.map((server) => [server.text, server])).values()];
  return {
    query(name, types, signal = new AbortController().signal, priority = 'normal') {
      // Each query that waits has a listener, and Node.js takes more than ten for a leak.
      setMaxListeners(0, signal);
      return new Lookup({ ...options, servers, name, signal, priority }).answers(types);
    },
  };
}

interface LookupOptions extends DnsClientOptions {
  readonly servers: readonly NameServer[];
  readonly name: string;
  readonly signal: AbortSignal;
  readonly priority: Priority;
}

/**
 * A CNAME is answered even where it leads to servers that are silent, and the SOA record (or that there is
 * none) where the servers fail for addresses only.
 */
const FIRST_TYPES = ['A', 'CNAME', 'SOA'];
/** The fewest first queries, however few tries each has: one may be lost. Of several servers, two have one. */
const LEAST_FIRST = 2;

interface Query {
  readonly type: string;
  triesLeft: number;
  /** How often each server has had it. */
  readonly queried: Map<NameServer, number>;
  /** The failure to report if the tries left give no answer either. */
  reported?: FailedAnswer;
}

/** The queries for one name. */
class Lookup {
  readonly #options: LookupOptions;
  /** Where all queries begin. */
  #home: NameServer | undefined;
  /** Whether there was an answer: it came from home, which stays so. */
  #isBound = false;
  /** The server of each answer. */
  readonly #sources = new Map<DnsAnswer, NameServer>();
  /** Those that have answered with addresses of their own invention, and the failure of the latest. */
  readonly #inventing = new Set<NameServer>();
  #invented: FailedAnswer | undefined;

  constructor(options: LookupOptions) {
    this.#options = options;
  }

  async answers(types: readonly string[]): Promise<ReadonlyMap<string, DnsAnswer>> {
    const { tries } = this.#options;
    const distinct = new Set(types.map((type) => canonicalType(type) ?? type));
    const queries = [...distinct].map((type): Query => ({ type, triesLeft: tries, queried: new Map() }));
    const first = queries.length > 1 ? await this.#queryFirst(queries) : new Map<Query, DnsAnswer>();
    const entries = queries.map(async (query) => {
      return [query.type, first.get(query) ?? (await this.#query(query))] as const;
    });
    const answers = await Promise.all(entries);
    return new Map(answers.map(([type, answer]) => [type, this.#unlessInvented(answer)]));
  }

  /** A server that has invented addresses for a name tells nothing about its other types. */
  #unlessInvented(answer: DnsAnswer): DnsAnswer {
    const server = this.#sources.get(answer);
    const isInvented = server !== undefined && this.#inventing.has(server);
    return isInvented ? (this.#invented ?? answer) : answer;
  }

  /**
   * Sends one query after the other, as many as each has tries and each for another type, until there is
   * an answer. Without one the name is given up: otherwise each query for a dead name would hold its place
   * at a server for all its tries, and other names would wait for it.
   */
  async #queryFirst(queries: readonly Query[]): Promise<ReadonlyMap<Query, DnsAnswer>> {
    const { tries, servers } = this.#options;
    const least = servers.length > 1 ? TRIES_IN_A_ROW + 1 : LEAST_FIRST;
    const queried = new Map<NameServer, number>();
    let reported: FailedAnswer | undefined;
    for (const query of firstQueries(queries, Math.max(tries, least))) {
      const before = new Map(queried);
      const answer = await this.#query({ type: query.type, triesLeft: 1, queried });
      if (answer.kind === 'answered' || isFinal(answer)) return new Map([[query, answer]]);
      query.triesLeft -= 1;
      for (const [server, count] of queried) {
        const more = count - (before.get(server) ?? 0);
        if (more > 0) query.queried.set(server, (query.queried.get(server) ?? 0) + more);
      }
      query.reported = answer;
      if (!isUnresolved(answer) && answer.failure.code !== 'invented') return new Map();
      reported = moreTelling(reported, answer);
    }
    return new Map(queries.map((query) => [query, reported ?? STOPPED]));
  }

  async #query(query: Query): Promise<DnsAnswer> {
    try {
      const number = typeNumber(query.type);
      if (number === undefined) return failed('malformed', `${query.type} is not a type that can be queried`);
      const question = createQuestion(canonicalHostName(this.#options.name), query.type, number);
      return await this.#answer(question, query);
    } catch (error) {
      return failed('malformed', messageOf(error));
    }
  }

  /** A negative answer without proof counts if the next one, of another server, is equal: a server queried twice is one witness. */
  async #answer(question: Question, { triesLeft, queried, reported }: Query): Promise<DnsAnswer> {
    let bare: BareAnswer | undefined;
    for (let left = triesLeft; left > 0; left -= 1) {
      const answer = await this.#try(question, queried, bare?.server);
      if (answer.kind === 'answered' || (answer.kind === 'failed' && isFinal(answer))) return answer;
      reported = moreTelling(reported, answer);
      if (answer.kind === 'failed') continue;
      if (bare !== undefined && bare.server !== answer.server) return confirmed(bare, answer) ?? reported;
      // Once only: the other server may have nothing to say.
      if (bare === undefined) left = Math.max(left, Math.min(2, this.#options.servers.length));
      bare = answer;
    }
    return reported ?? STOPPED;
  }

  /** @param witness The server whose denial another one is to confirm, if there is another one. */
  async #try(
    question: Question,
    queried: Map<NameServer, number>,
    witness: string | undefined,
  ): Promise<DnsAnswer | BareAnswer> {
    if (this.#invented !== undefined && this.#inventing.size === this.#options.servers.length)
      return this.#invented;
    const server = await this.#enterServer(queried, witness);
    if (server === undefined) return STOPPED;
    queried.set(server, (queried.get(server) ?? 0) + 1);
    const answer = await this.#exchange(server, question);
    if (answer.kind !== 'answered') return answer;
    if (hasAddresses(question.type, answer) && (await this.#isInvented(server, answer.records))) {
      this.#inventing.add(server);
      const addresses = addressesOf(answer.records).join(', ');
      this.#invented = failed(
        'invented',
        `${server.text} gives ${addresses} for names that do not exist, too`,
      );
      return this.#invented;
    }
    this.#sources.set(answer, server);
    if (!this.#isBound) [this.#home, this.#isBound] = [server, true];
    return answer;
  }

  async #isInvented(server: NameServer, records: readonly DnsRecord[]): Promise<boolean> {
    return (await this.#options.checks?.isInvented(server.text, records)) ?? false;
  }

  /** One try, in the place at the server that was taken for it. */
  async #exchange(server: NameServer, question: Question): Promise<DnsAnswer | BareAnswer> {
    const { timeout, signal, priority } = this.#options;
    const sent = performance.now();
    try {
      return await queryServer({ server, question, timeout, signal }, (result) =>
        recordResult(server, result, sent),
      );
    } finally {
      server.limiter.leave(priority);
    }
  }

  #choose(queried: ReadonlyMap<NameServer, number>, witness: string | undefined): NameServer | undefined {
    const servers = this.#options.servers.filter((server) => !this.#inventing.has(server));
    const now = performance.now();
    const others = witness === undefined ? [] : servers.filter(({ text }) => text !== witness);
    if (others.length > 0) return chooseServer(others, queried, now);
    // Before the first answer there is no view that another server's could mix with.
    const isLeft = this.#home !== undefined && servers.includes(this.#home);
    if (this.#home === undefined || !isLeft || (!this.#isBound && this.#home.breaker.isOpen)) {
      this.#home = chooseServer(servers, queried, now);
    }
    const isNew = this.#home !== undefined && !queried.has(this.#home);
    return isNew ? this.#home : chooseServer(servers, queried, now);
  }

  /** The server for the next try, its limiter entered; undefined if stopped. */
  async #enterServer(
    queried: ReadonlyMap<NameServer, number>,
    witness: string | undefined,
  ): Promise<NameServer | undefined> {
    const { signal, priority } = this.#options;
    const choose = () => this.#choose(queried, witness);
    let server = choose();
    while (server !== undefined && !signal.aborted) {
      if (server.limiter.tryEnter(priority)) return server;
      if (!(await server.limiter.enter(signal, priority))) return undefined;
      // It may have timed out meanwhile: all waiting queries would time out one after the other.
      const better = server.breaker.isOpen ? choose() : server;
      if (better === server) return server;
      server.limiter.leave(priority);
      server = better;
    }
    return undefined;
  }
}

/** What two servers deny without proof; undefined where they do not say the same. */
function confirmed(one: BareAnswer, { nameExists }: BareAnswer): DnsAnswer | undefined {
  return one.nameExists === nameExists
    ? { kind: 'answered', nameExists, records: [], aliases: [] }
    : undefined;
}

/** A server that cannot be reached, or sends what is no response, counts as one that has timed out. */
function recordResult({ breaker }: NameServer, result: Response | Failed, sent: number): void {
  if (result.kind === 'response') breaker.recordResponse(performance.now());
  else if (result.failure.code !== 'stopped') breaker.recordTimeout(sent, performance.now());
}

/** So many queries in their order; once all have had their turn, the first again. */
function firstQueries(queries: readonly Query[], count: number): Query[] {
  const first = FIRST_TYPES.flatMap((type) => queries.find((query) => query.type === type) ?? []);
  const inOrder = [...new Set([...first, ...queries])];
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
