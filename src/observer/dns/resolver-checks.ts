import { randomInt } from 'node:crypto';
import type { DnsRecord } from '../../model/dns-record.js';
import type { Instant } from '../../model/instant.js';
import { addressesOf } from '../verdict.js';
import { createQuestion } from './message.js';
import { createNameServer, type DnsServer, type NameServer, queryServer } from './name-server.js';

export interface ResolverState {
  /** Address and port. */
  readonly server: string;
  /** Null: not yet, or it did not respond. */
  readonly checkedAt: Instant | null;
  /** The addresses that it gives for names that do not exist, sorted. */
  readonly invented: readonly string[];
}

interface ResolverChecksOptions {
  readonly servers: readonly DnsServer[];
  /** For one query, in milliseconds. */
  readonly timeout: number;
  readonly now: () => Instant;
  /** Has the state of a resolver that begins to invent addresses, or ends it. */
  readonly report: (state: ResolverState) => void;
}

interface Resolver {
  readonly server: NameServer;
  state: ResolverState;
  /** The sets of addresses that were given for one name, by toSet(). */
  sets: ReadonlySet<string>;
  /** By performance.now(). */
  due: number;
  checking?: Promise<void> | undefined;
}

/** In milliseconds. */
const INTERVAL = 3_600_000;
/** In milliseconds, where the resolver did not respond. */
const RETRY = 60_000;
/** There is no wildcard in them, and nobody registers such a name. */
const TLDS = ['com', 'net'];
const LABEL_LENGTH = 24;
const TYPES = ['A', 'AAAA'];

/**
 * Finds resolvers that give addresses for names that do not exist (ICANN's SAC 032): each is asked for random
 * names when it first gives addresses, before these are taken, and each hour after that.
 */
export class ResolverChecks {
  readonly #options: ResolverChecksOptions;
  readonly #resolvers: readonly Resolver[];

  constructor(options: ResolverChecksOptions) {
    this.#options = options;
    this.#resolvers = options.servers.map((each) => {
      const server = createNameServer(each, 1);
      const state = { server: server.text, checkedAt: null, invented: [] };
      return { server, state, sets: new Set(), due: Number.NEGATIVE_INFINITY };
    });
  }

  get states(): readonly ResolverState[] {
    return this.#resolvers.map(({ state }) => state);
  }

  /** Checks those that are due; waits for those that are not known yet. */
  async checkAll(): Promise<readonly ResolverState[]> {
    await Promise.all(this.#resolvers.map((resolver) => this.#checkIfDue(resolver)));
    return this.states;
  }

  /**
   * Waits for the first check.
   *
   * @param server Its address and port.
   * @returns The addresses, if they are just those that it gives for names that do not exist, too.
   */
  async invented(server: string, type: string, records: readonly DnsRecord[]): Promise<string | undefined> {
    const resolver = this.#resolvers.find(({ state }) => state.server === server);
    if (resolver === undefined || !TYPES.includes(type) || records.length === 0) return undefined;
    await this.#checkIfDue(resolver);
    return resolver.sets.has(toSet(records)) ? addressesOf(records).join(', ') : undefined;
  }

  /** The check before counts until the next one is done; one without a response is none. */
  async #checkIfDue(resolver: Resolver): Promise<void> {
    if (resolver.due <= performance.now()) {
      resolver.checking ??= this.#check(resolver).finally(() => {
        resolver.checking = undefined;
      });
    }
    if (resolver.state.checkedAt === null) await resolver.checking;
  }

  async #check(resolver: Resolver): Promise<void> {
    const names = TLDS.map((tld) => `${randomLabel()}.${tld}`);
    const queries = names.flatMap((name) => TYPES.map((type) => this.#query(resolver.server, name, type)));
    const answers = (await Promise.all(queries)).filter((answer) => answer !== undefined);
    resolver.due = performance.now() + (answers.length > 0 ? INTERVAL : RETRY);
    if (answers.length === 0) return;
    const found = answers.filter((records) => records.length > 0);
    const invented = [...new Set(found.flatMap(addressesOf))].sort();
    const hasChanged = found.length > 0 !== resolver.sets.size > 0;
    resolver.state = { ...resolver.state, checkedAt: this.#options.now(), invented };
    resolver.sets = new Set(found.map(toSet));
    if (hasChanged) this.#options.report(resolver.state);
  }

  /** The records for a name that does not exist; undefined: no response tells. */
  async #query(server: NameServer, name: string, type: string): Promise<readonly DnsRecord[] | undefined> {
    const { timeout } = this.#options;
    const { signal } = new AbortController();
    const answer = await queryServer({ server, question: createQuestion(name, type), timeout, signal });
    if (answer.kind === 'answered') return answer.records;
    return answer.denial === undefined ? undefined : [];
  }
}

function randomLabel(): string {
  return Array.from({ length: LABEL_LENGTH }, () => String.fromCharCode(97 + randomInt(26))).join('');
}

function toSet(records: readonly DnsRecord[]): string {
  return addressesOf(records).sort().join();
}
