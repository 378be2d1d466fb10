import { setMaxListeners } from 'node:events';
import { canonicalType } from '../../model/dns-types.js';
import { messageOf } from '../../model/errors.js';
import { canonicalHostName } from '../../model/host-name.js';
import { type Failed, type FailureCode, failed, STOPPED } from '../failure.js';
import type { Priority } from '../limiter.js';
import { addressesOf, type Denial, type DnsAnswer, type FailedAnswer } from './answer.js';
import { createQuestion, type Question } from './message.js';
import {
  chooseServer,
  createNameServer,
  type DnsServer,
  type NameServer,
  queryServer,
  TRIES_IN_A_ROW,
} from './name-server.js';
import type { ResolverChecks } from './resolver-checks.js';

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

export type DnsClient = ReturnType<typeof createDnsClient>;

/** Keeps nothing open between lookups. */
export function createDnsClient(options: DnsClientOptions) {
  const named = options.servers.map((server) => createNameServer(server, options.queriesPerServer));
  // One that is named twice is one witness.
  const servers = [...new Map(named.map((server) => [server.text, server])).values()];
  return {
    /**
     * Queries the types of one name: one or a few first, and all others at once when there is an answer. If
     * each of the first queries, as many as one has tries, times out or has SERVFAIL, all types have failed so.
     * All begin at one server, and another one is queried only after two tries there: the resolvers of a GeoDNS
     * have different views, which must not mix. It never rejects.
     *
     * @param name Any name that DNS allows, as canonicalHostName takes it.
     * @param signal Settles what is not answered as stopped.
     * @returns By the type's canonical name. A type or name that cannot be queried has failed as malformed; a
     * failed query has the most telling failure of its tries.
     */
    query(
      name: string,
      types: readonly string[],
      signal = new AbortController().signal,
      priority: Priority = 'normal',
    ) {
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

interface Query {
  readonly type: string;
  triesLeft: number;
  /** How often each server has had it. */
  readonly queried: Map<NameServer, number>;
  /** The answer or, as long as there is none, the most telling failure. */
  verdict?: DnsAnswer;
  source?: NameServer;
}

/** Tries of a query. */
interface Tries {
  readonly query: Query;
  readonly question: Question;
  /** How often each server has had the query or, of the first queries, any of them. */
  readonly queried: Map<NameServer, number>;
  /** A denial that another server is to confirm, if there is another one. */
  witness?: Denial;
}

class Lookup {
  readonly #options: LookupOptions;
  /** Where all queries begin. */
  #home: NameServer | undefined;
  /** Whether there was an answer: it came from home, which stays so. */
  #isBound = false;
  /** Those that have answered with addresses of their own invention, and the failure of the latest. */
  readonly #inventing = new Set<NameServer>();
  #invented: FailedAnswer = STOPPED;

  constructor(options: LookupOptions) {
    this.#options = options;
  }

  async answers(types: readonly string[]): Promise<ReadonlyMap<string, DnsAnswer>> {
    const distinct = new Set(types.map((type) => canonicalType(type) ?? type));
    const triesLeft = this.#options.tries;
    const queries = [...distinct].map((type): Query => ({ type, triesLeft, queried: new Map() }));
    const failure = queries.length > 1 ? await this.#queryFirst(queries) : undefined;
    if (failure !== undefined) return new Map(queries.map(({ type }) => [type, failure]));
    await Promise.all(queries.map((query) => query.triesLeft > 0 && this.#query(query)));
    return new Map(queries.map((query) => [query.type, this.#verdictOn(query)]));
  }

  /** A server that has invented addresses for a name tells nothing about its other types. */
  #verdictOn({ verdict = STOPPED, source }: Query): DnsAnswer {
    return source !== undefined && this.#inventing.has(source) ? this.#invented : verdict;
  }

  /**
   * Sends one query after the other, as many as each has tries and each for another type, until there is
   * an answer. Without one the name is given up: otherwise each query for a dead name would hold its place
   * at a server for all its tries, and other names would wait for it.
   *
   * @returns the failure of all types; undefined: they are to be queried.
   */
  async #queryFirst(queries: readonly Query[]): Promise<FailedAnswer | undefined> {
    const { tries, servers } = this.#options;
    // However few tries each has: one may be lost, and a second server is to have one.
    const least = Math.min(servers.length, TRIES_IN_A_ROW) + 1;
    const queried = new Map<NameServer, number>();
    let reported: FailedAnswer | undefined;
    for (const query of firstQueries(queries, Math.max(tries, least))) {
      const answer = await this.#query(query, 1, queried);
      if (answer.kind === 'answered' || !isUnresolved(answer)) return undefined;
      reported = moreTelling(reported, answer);
    }
    return reported;
  }

  /** @returns the verdict of these tries. */
  async #query(query: Query, tries = query.triesLeft, queried = query.queried): Promise<DnsAnswer> {
    let answer: DnsAnswer;
    try {
      const question = createQuestion(canonicalHostName(this.#options.name), query.type);
      answer = await this.#answer({ query, question, queried }, tries);
    } catch (error) {
      answer = failed('malformed', messageOf(error));
    }
    const isOver = answer.kind === 'answered' || isFinal(answer);
    query.triesLeft = isOver ? 0 : query.triesLeft - tries;
    query.verdict = isOver ? answer : moreTelling(query.verdict, answer);
    return answer;
  }

  /** A negative answer without proof counts if the next one, of another server, is equal: a server queried twice is one witness. */
  async #answer(tries: Tries, count: number): Promise<DnsAnswer> {
    let reported: FailedAnswer | undefined;
    for (let left = count; left > 0; left -= 1) {
      const answer = await this.#try(tries);
      if (answer.kind === 'answered' || isFinal(answer)) return answer;
      reported = moreTelling(reported, answer);
      const { denial } = answer;
      if (denial === undefined) continue;
      const { witness } = tries;
      if (witness !== undefined && witness.by !== denial.by) return confirmed(witness, denial) ?? reported;
      // Once only: the other server may have nothing to say.
      if (witness === undefined) left = Math.max(left, Math.min(2, this.#options.servers.length));
      tries.witness = denial;
    }
    return reported ?? STOPPED;
  }

  async #try(tries: Tries): Promise<DnsAnswer> {
    const { servers, timeout, signal, priority, checks } = this.#options;
    const { query, question, queried } = tries;
    const server = await this.#enterServer(tries);
    if (server === undefined) return this.#inventing.size === servers.length ? this.#invented : STOPPED;
    for (const counts of new Set([queried, query.queried])) counts.set(server, (counts.get(server) ?? 0) + 1);
    const leave = () => server.limiter.leave(priority);
    const answer = await queryServer({ server, question, timeout, signal }).finally(leave);
    if (answer.kind === 'failed') return answer;
    if (await checks?.isInvented(server.text, question.type, answer.records)) {
      this.#inventing.add(server);
      const addresses = addressesOf(answer.records).join(', ');
      const message = `${server.text} gives ${addresses} for names that do not exist, too`;
      this.#invented = failed('invented', message);
      return this.#invented;
    }
    query.source = server;
    if (!this.#isBound) [this.#home, this.#isBound] = [server, true];
    return answer;
  }

  #choose({ queried, witness }: Tries): NameServer | undefined {
    const servers = this.#options.servers.filter((server) => !this.#inventing.has(server));
    const now = performance.now();
    const others = witness === undefined ? [] : servers.filter(({ text }) => text !== witness.by);
    if (others.length > 0) return chooseServer(others, queried, now);
    // Before the first answer there is no view that another server's could mix with.
    const isKept = servers.some((each) => each === this.#home && (this.#isBound || !each.breaker.isOpen));
    if (!isKept) this.#home = chooseServer(servers, queried, now);
    const isNew = this.#home !== undefined && !queried.has(this.#home);
    return isNew ? this.#home : chooseServer(servers, queried, now);
  }

  /** The server for the next try, its limiter entered; undefined if stopped. */
  async #enterServer(tries: Tries): Promise<NameServer | undefined> {
    const { signal, priority } = this.#options;
    let server = this.#choose(tries);
    while (server !== undefined && !signal.aborted) {
      if (server.limiter.tryEnter(priority)) return server;
      if (!(await server.limiter.enter(signal, priority))) return undefined;
      // It may have timed out meanwhile: all waiting queries would time out one after the other.
      const better = server.breaker.isOpen ? this.#choose(tries) : server;
      if (better === server) return server;
      server.limiter.leave(priority);
      server = better;
    }
    return undefined;
  }
}

/** What two servers deny without proof; undefined where they do not say the same. */
function confirmed(one: Denial, { nameExists }: Denial): DnsAnswer | undefined {
  return one.nameExists === nameExists
    ? { kind: 'answered', nameExists, records: [], aliases: [] }
    : undefined;
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
  return ['timeout', 'servfail', 'invented'].includes(failure.code);
}

/** Another try would give the same: no message is larger than those over TCP. */
function isFinal({ failure }: Failed): boolean {
  return failure.code === 'stopped' || failure.code === 'truncated';
}

/** A response tells more than no response: any other code has the rank 2. */
const RANKS: Readonly<Partial<Record<FailureCode, number>>> = { timeout: 0, unreachable: 0, mismatched: 1 };

/** Of two verdicts without an answer the later, unless the earlier tells more. */
function moreTelling<Verdict extends DnsAnswer>(earlier: Verdict | undefined, later: Verdict): Verdict {
  const rank = (verdict: DnsAnswer) => (verdict.kind === 'failed' ? (RANKS[verdict.failure.code] ?? 2) : 3);
  return earlier !== undefined && rank(earlier) > rank(later) ? earlier : later;
}
