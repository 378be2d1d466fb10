import { canonicalType } from '../../model/dns-types.js';
import { messageOf } from '../../model/errors.js';
import { canonicalHostName } from '../../model/host-name.js';
import type { Priority } from '../limiter.js';
import {
  type DnsAnswer,
  type DnsAnswers,
  type FailedAnswer,
  type FailureCode,
  failed,
  STOPPED,
} from '../verdict.js';
import { createQuestion, type Question } from './message.js';
import { createNameServer, type DnsServer, type NameServer, queryServer } from './name-server.js';
import type { ResolverChecks } from './resolver-checks.js';

export interface DnsClientOptions {
  /** At least one, by preference. One that has timed out recently comes last for a while. */
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

export function createDnsClient(options: DnsClientOptions) {
  const servers = options.servers.map((server) => createNameServer(server, options.queriesPerServer));
  return {
    /**
     * Queries the types of one name: one or a few first, and all others at once when there is an answer. If
     * each of the first queries, as many as one has tries, times out or has SERVFAIL, all types have failed so.
     * All begin at one server, and another one is queried only after two tries there: the resolvers of a GeoDNS
     * have different views, which must not mix. A server that invents addresses for the name tells nothing
     * about its other types: all are queried elsewhere. It never rejects.
     *
     * @param name As canonicalHostName takes it.
     * @returns By the type's canonical name. A type or name that cannot be queried has failed as malformed; a
     * failed query has the most telling failure of its tries.
     */
    async query(name: string, types: readonly string[], signal: AbortSignal, priority: Priority) {
      for (let left = servers; ; ) {
        const lookup = new Lookup({ ...options, servers: left, signal, priority });
        const answers = await lookup.resolve(name, types);
        const { invention } = lookup;
        if (invention === undefined) return answers;
        left = left.filter((server) => server !== invention.server);
        if (left.length > 0) continue;
        return new Map([...answers.keys()].map((type): [string, DnsAnswer] => [type, invention.failure]));
      }
    },
  };
}

interface LookupOptions extends DnsClientOptions {
  readonly servers: readonly NameServer[];
  readonly signal: AbortSignal;
  readonly priority: Priority;
}

/**
 * By rising preference. A CNAME is answered even where it leads to servers that are silent, and the SOA record
 * (or that there is none) where the servers fail for addresses only.
 */
const FIRST_TYPES = ['SOA', 'CNAME', 'A'];

/** Before another server has the query: a lost packet is no reason for another view. */
const TRIES_IN_A_ROW = 2;

/** Resolvers are silent or answer SERVFAIL where the name's own servers are silent. */
const UNRESOLVED: readonly FailureCode[] = ['timeout', 'servfail'];
/** Another try would give the same: no message is larger than those over TCP. */
const FINAL: readonly FailureCode[] = ['stopped', 'truncated', 'invented'];
const WITHOUT_RESPONSE: readonly FailureCode[] = ['stopped', 'timeout', 'unreachable', 'mismatched'];

interface Query {
  readonly question: Question;
  tries: number;
  mostTries: number;
  /** The answer or, as long as there is none, the most telling failure. */
  verdict: DnsAnswer;
  /** A denial that another server is to confirm. */
  witness?: FailedAnswer['denial'];
}

class Lookup {
  readonly #options: LookupOptions;
  /** As a query is sent to them. */
  #servers: readonly NameServer[] = [];
  #isBound = false;
  /** The server that has answered with addresses of its own invention: the lookup is void. */
  invention: { readonly server: NameServer; readonly failure: FailedAnswer } | undefined;

  constructor(options: LookupOptions) {
    this.#options = options;
    this.#beginAt(options.servers.find(({ breaker }) => breaker.allows()));
  }

  #beginAt(first: NameServer | undefined): void {
    const rank = (server: NameServer) => (server === first ? 0 : server.breaker.isOpen ? 2 : 1);
    this.#servers = [...this.#options.servers].sort((one, other) => rank(one) - rank(other));
  }

  async resolve(name: string, types: readonly string[]): Promise<DnsAnswers> {
    const answers = new Map<string, DnsAnswer>();
    const queries: Query[] = [];
    for (const type of new Set(types.map((each) => canonicalType(each) ?? each))) {
      answers.set(type, STOPPED);
      try {
        const question = createQuestion(canonicalHostName(name), type);
        queries.push({ question, tries: 0, mostTries: this.#options.tries, verdict: STOPPED });
      } catch (error) {
        answers.set(type, failed('malformed', messageOf(error)));
      }
    }
    const failure = queries.length > 1 ? await this.#queryFirst(queries) : undefined;
    const queryFurther = async (query: Query) => {
      while (query.tries < query.mostTries) await this.#try(query, query.tries);
    };
    if (failure === undefined) await Promise.all(queries.map(queryFurther));
    for (const { question, verdict } of queries) answers.set(question.type, failure ?? verdict);
    return answers;
  }

  /**
   * Sends one query after the other, each for another type, until there is an answer. Without one the name is
   * given up: otherwise each query for a dead name would hold its place at a server for all its tries.
   *
   * @returns the failure of all types; undefined: they are to be queried.
   */
  async #queryFirst(queries: readonly Query[]): Promise<FailedAnswer | undefined> {
    // However few tries each has: one may be lost, and a second server, if there is one, is to have one.
    const count = Math.max(this.#options.tries, Math.min(this.#servers.length, TRIES_IN_A_ROW) + 1);
    const rank = ({ question }: Query) => FIRST_TYPES.indexOf(question.type);
    const inOrder = [...queries].sort((one, other) => rank(other) - rank(one));
    const rounds = Array.from({ length: count }, () => inOrder).flat();
    let reported: FailedAnswer = STOPPED;
    for (const [at, query] of rounds.slice(0, count).entries()) {
      const answer = await this.#try(query, at);
      if (answer.kind === 'answered' || !UNRESOLVED.includes(answer.failure.code)) return undefined;
      reported = moreTelling(reported, answer);
    }
    return reported;
  }

  /** @param at How many tries were before it: of the query or, for the first queries, of any of them. */
  async #try(query: Query, at: number): Promise<DnsAnswer> {
    query.tries += 1;
    const { witness } = query;
    const answer = confirmed(witness, await this.#send(query, at));
    if (answer.kind === 'answered' || FINAL.includes(answer.failure.code)) {
      query.mostTries = query.tries;
      query.verdict = answer;
    } else if (query.verdict.kind === 'failed') {
      query.verdict = moreTelling(query.verdict, answer);
      const { denial } = answer;
      if (denial !== undefined && witness === undefined) {
        query.witness = denial;
        // Once only: the other server may have nothing to say.
        if (this.#servers.length > 1) query.mostTries = Math.max(query.mostTries, query.tries + 1);
      } else if (denial !== undefined && denial.server !== witness?.server) {
        // Two servers that deny each another thing prove nothing, whatever a third one says.
        query.mostTries = query.tries;
      }
    }
    return answer;
  }

  async #send(query: Query, at: number): Promise<DnsAnswer> {
    const { question, witness } = query;
    const { timeout, signal, priority, checks } = this.#options;
    const others = this.#servers.filter(({ text }) => text !== witness?.server);
    const candidates = others.length > 0 ? others : this.#servers;
    const server = candidates[Math.floor(at / TRIES_IN_A_ROW) % candidates.length];
    if (server === undefined || this.invention !== undefined) return STOPPED;
    const wasOpen = server.breaker.isOpen;
    if (!(await server.limiter.enter(signal, priority))) return STOPPED;
    const leave = () => server.limiter.leave(priority);
    // Silent since: all that waited for it would time out, one after the other. Before the first answer there is
    // no view that another server's could mix with.
    const isSilent = server.breaker.isOpen && !wasOpen && !this.#isBound;
    const better = isSilent ? candidates.find(({ breaker }) => !breaker.isOpen) : undefined;
    if (better !== undefined) {
      leave();
      this.#beginAt(better);
      return this.#send(query, at);
    }
    const answer = await queryServer({ server, question, timeout, signal }).finally(leave);
    if (answer.kind === 'failed') return answer;
    const invented = await checks?.invented(server.text, question.type, answer.records);
    if (invented !== undefined) {
      const message = `${server.text} gives ${invented} for names that do not exist, too`;
      this.invention ??= { server, failure: failed('invented', message) };
      return this.invention.failure;
    }
    if (!this.#isBound) this.#beginAt(server);
    this.#isBound = true;
    return answer;
  }
}

/** A denial without proof counts if another server denies the same: one that is asked twice is one witness. */
function confirmed(witness: FailedAnswer['denial'], answer: DnsAnswer): DnsAnswer {
  if (answer.kind === 'answered' || answer.denial === undefined || witness === undefined) return answer;
  const { server, nameExists } = answer.denial;
  const isConfirmed = server !== witness.server && nameExists === witness.nameExists;
  return isConfirmed ? { kind: 'answered', nameExists, records: [], aliases: [] } : answer;
}

/** The later failure, unless it is no response and the earlier was one. */
function moreTelling(earlier: FailedAnswer, later: FailedAnswer): FailedAnswer {
  const isResponse = ({ failure }: FailedAnswer) => !WITHOUT_RESPONSE.includes(failure.code);
  return isResponse(earlier) && !isResponse(later) ? earlier : later;
}
