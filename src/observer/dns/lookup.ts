import { canonicalType, typeNumber } from '../../model/dns-types.js';
import { canonicalHostName } from '../../model/host-name.js';
import type { Priority } from '../priority.js';
import type { DnsAnswer } from './answer.js';
import { answerInReply, type BareAnswer } from './answer-in-reply.js';
import { type Failed, failed, moreTelling, STOPPED } from './failed.js';
import { FORMERR, type Header, NOERROR, NOTIMP, NXDOMAIN } from './header.js';
import { chooseServer, type NameServer } from './name-server.js';
import { createQuestion, type Question } from './question.js';
import type { Reply } from './reply.js';
import { Stop } from './stop.js';
import { exchangeByTcp } from './tcp-exchange.js';
import { UdpChannel } from './udp-channel.js';

/** How questions are asked. */
export interface LookupOptions {
  /** At least one, in the order of preference. */
  readonly servers: readonly NameServer[];
  /** How long one try may take, in milliseconds. */
  readonly timeout: number;
  /** How many tries a question has. */
  readonly tries: number;
  /** Who goes first where questions wait for a server. */
  readonly priority: Priority;
}

/**
 * A CNAME is answered even where it leads to servers that are silent, and the SOA record (or that there is
 * none) where the servers fail for addresses only.
 */
const FIRST_TYPES = ['A', 'CNAME', 'SOA'];
/** So many questions at least, however few tries each has: one may be lost. */
const LEAST_FIRST = 2;

/** How far the tries of a question have come. */
interface Progress {
  /** How many it has left. */
  readonly tries: number;
  /** How often each server has had questions before. */
  readonly asked: Map<NameServer, number>;
  /** What is reported where these give no answer either. */
  readonly reported?: Failed;
}

/** What the first questions gave: answers, and the types whose tries they have begun. */
interface FirstQuestions {
  readonly answers: ReadonlyMap<string, DnsAnswer>;
  readonly begun: ReadonlyMap<string, Progress>;
}

/** The questions about one name: they share one socket for each server that is asked. */
export class Lookup {
  readonly #options: LookupOptions;
  readonly #channels = new Map<NameServer, UdpChannel>();
  readonly #stop = new Stop();

  constructor(options: LookupOptions) {
    this.#options = options;
  }

  /**
   * Asks for one type, and for all others at once when there is an answer. Never rejects.
   *
   * @returns The answers by the types' canonical names; of a type that is not known by what was given.
   */
  async answers(name: string, types: readonly string[]): Promise<ReadonlyMap<string, DnsAnswer>> {
    const distinct = [...new Set(types.map((type) => canonicalType(type) ?? type))];
    const first = await this.#askFirst(name, distinct);
    const answers = await Promise.all(
      distinct.map(
        async (type) =>
          [
            type,
            first.answers.get(type) ?? (await this.#answerOrFailure(name, type, first.begun.get(type))),
          ] as const,
      ),
    );
    this.#closeChannels();
    return new Map(answers);
  }

  /**
   * Asks one question after the other, as many as each has tries and each for another type, until there is
   * an answer. Where there is none the name is given up: otherwise each question of a dead name would
   * hold its place at a server for all its tries, and other names would wait for it.
   */
  async #askFirst(name: string, types: readonly string[]): Promise<FirstQuestions> {
    const begun = new Map<string, Progress>();
    if (types.length === 1) return { answers: new Map(), begun };
    const asked = new Map<NameServer, number>();
    let reported: Failed | undefined;
    for (const type of firstTypes(types, Math.max(this.#options.tries, LEAST_FIRST))) {
      const answer = await this.#answerOrFailure(name, type, { tries: 1, asked });
      if (answer.kind === 'answered' || isFinal(answer)) {
        return { answers: new Map([[type, answer]]), begun };
      }
      const { tries } = begun.get(type) ?? this.#options;
      begun.set(type, { tries: tries - 1, asked: new Map(asked), reported: answer });
      if (!isUnresolved(answer)) return { answers: new Map(), begun };
      reported = moreTelling(reported, answer);
    }
    return { answers: new Map(types.map((type) => [type, reported ?? STOPPED])), begun };
  }

  /** Settles what is not answered as stopped. */
  stop(): void {
    this.#stop.stop();
    this.#closeChannels();
  }

  #closeChannels(): void {
    for (const channel of this.#channels.values()) channel.close();
  }

  async #answerOrFailure(
    name: string,
    type: string,
    progress: Progress = { tries: this.#options.tries, asked: new Map() },
  ): Promise<DnsAnswer> {
    try {
      const number = typeNumber(type);
      if (number === undefined) return failed('malformed', `${type} is no type that can be asked for`);
      return await this.#answer(createQuestion(canonicalHostName(name), type, number), progress);
    } catch (error) {
      return failed('malformed', error instanceof Error ? error.message : String(error));
    }
  }

  /** A negative answer without proof counts if the next one, of another server if there is one, is equal. */
  async #answer(question: Question, { tries, asked, reported }: Progress): Promise<DnsAnswer> {
    let bare: BareAnswer | undefined;
    for (let left = tries; left > 0; left -= 1) {
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
      return await this.#ask(server, question);
    } finally {
      server.gate.leave(this.#options.priority);
    }
  }

  /** The server to ask, which has room for the question; undefined if stopped. */
  async #enterServer(asked: ReadonlyMap<NameServer, number>): Promise<NameServer | undefined> {
    const { priority } = this.#options;
    const choose = () => chooseServer(this.#options.servers, asked, performance.now());
    let server = choose();
    while (server !== undefined && !this.#stop.isStopped) {
      if (server.gate.tryEnter(priority)) return server;
      if (!(await server.gate.enter(priority, this.#stop))) return undefined;
      // It may have fallen silent meanwhile, and all who waited would meet that one after the other.
      const better = server.isSilent ? choose() : server;
      if (better === server) return server;
      server.gate.leave(priority);
      server = better;
    }
    return undefined;
  }

  /** One try: over UDP, without EDNS if the server does not know it, and over TCP if the answer is cut. */
  async #ask(server: NameServer, question: Question): Promise<DnsAnswer | BareAnswer> {
    const started = performance.now();
    let withEdns = true;
    let overTcp = false;
    for (;;) {
      const timeLeft = Math.max(Math.ceil(started + this.#options.timeout - performance.now()), 1);
      const reply = overTcp
        ? await exchangeByTcp(server, question, withEdns, timeLeft, this.#stop)
        : await this.#channel(server).exchange(question, withEdns, timeLeft);
      note(server, reply, started);
      if (reply.kind === 'failed') return reply;
      if (withEdns && refusesEdns(reply.header)) withEdns = false;
      else if (!overTcp && isCut(reply.header)) overTcp = true;
      else return answerInReply(server, question, reply);
    }
  }

  #channel(server: NameServer): UdpChannel {
    const known = this.#channels.get(server);
    if (known !== undefined) return known;
    const channel = new UdpChannel(server);
    this.#channels.set(server, channel);
    return channel;
  }
}

function proven({ nameExists }: BareAnswer): DnsAnswer {
  return { kind: 'answered', nameExists, records: [], aliases: [] };
}

function note(server: NameServer, reply: Reply, started: number): void {
  if (reply.kind === 'replied') server.noteAnswer(performance.now());
  else if (reply.failure.code !== 'stopped') server.noteSilence(started, performance.now());
}

/** The types of so many questions in their order; once all have had their turn, the first again. */
function firstTypes(types: readonly string[], count: number): string[] {
  const first = FIRST_TYPES.filter((type) => types.includes(type));
  const inOrder = [...new Set([...first, ...types])];
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

/** RFC 6891, section 7: how servers answer that know nothing of EDNS. */
function refusesEdns({ rcode }: Header): boolean {
  return rcode === FORMERR || rcode === NOTIMP;
}

function isCut({ isTruncated, rcode }: Header): boolean {
  return isTruncated && (rcode === NOERROR || rcode === NXDOMAIN);
}
