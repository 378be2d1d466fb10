import { randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { DnsRecord } from '../../model/dns-record.js';
import type { Instant } from '../../model/instant.js';
import { addressesOf } from '../verdict.js';
import { createQuestion } from './message.js';
import { createNameServer, type DnsServer, type NameServer, queryServer } from './name-server.js';

export interface ResolverState {
  /** Its address and port. */
  readonly server: string;
  /** When it was checked last; null: not yet, or it did not respond. */
  readonly checkedAt: Instant | null;
  /** The addresses that it gives for names that do not exist, sorted; empty: none. */
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

interface Check {
  readonly state: ResolverState;
  /** The sets of addresses that were given for one name, as toSet() has them. */
  readonly sets: ReadonlySet<string>;
}

/** From one check to the next, in milliseconds. */
const INTERVAL = 3_600_000;
/** The same where the resolver did not respond. */
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
  readonly #servers: ReadonlyMap<string, NameServer>;
  readonly #checks: LRUCache<string, Check>;

  constructor(options: ResolverChecksOptions) {
    const servers = options.servers.map((server) => createNameServer(server, 1));
    this.#options = options;
    this.#servers = new Map(servers.map((server) => [server.text, server]));
    this.#checks = new LRUCache({
      max: servers.length,
      ttl: INTERVAL,
      ttlResolution: 0,
      // The one before counts until the next one is done.
      allowStale: true,
      perf: { now: () => performance.now() },
      fetchMethod: async (text, before = this.#known(text), { options }) => {
        const check = await this.#check(text);
        if (check === undefined) options.ttl = RETRY;
        else if (check.sets.size > 0 !== before.sets.size > 0) this.#options.report(check.state);
        return check ?? before;
      },
    });
  }

  get states(): readonly ResolverState[] {
    return [...this.#servers.keys()].map((text) => this.#known(text).state);
  }

  /** Checks those that are due; waits for those that are not known yet. */
  async checkAll(): Promise<readonly ResolverState[]> {
    await Promise.all([...this.#servers.keys()].map((text) => this.#fetch(text)));
    return this.states;
  }

  /**
   * Whether the resolver gives just these addresses for names that do not exist, too. The first time it waits
   * for the check.
   *
   * @param server Its address and port.
   */
  async isInvented(server: string, type: string, records: readonly DnsRecord[]): Promise<boolean> {
    if (!TYPES.includes(type) || records.length === 0) return false;
    const check = await this.#fetch(server);
    return check?.sets.has(toSet(records)) === true;
  }

  /** A check that had no response is no answer: the next one is waited for. */
  #fetch(server: string): Promise<Check | undefined> {
    return this.#checks.fetch(server, { allowStale: this.#known(server).state.checkedAt !== null });
  }

  #known(server: string): Check {
    return this.#checks.peek(server) ?? { state: { server, checkedAt: null, invented: [] }, sets: new Set() };
  }

  /** @returns undefined: no response tells. */
  async #check(text: string): Promise<Check | undefined> {
    const server = this.#servers.get(text);
    if (server === undefined) return undefined;
    const names = TLDS.map((tld) => `${randomLabel()}.${tld}`);
    const asked = names.flatMap((name) => TYPES.map((type) => this.#ask(server, name, type)));
    const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined);
    if (answers.length === 0) return undefined;
    const found = answers.filter((records) => records.length > 0);
    const invented = [...new Set(found.flatMap(addressesOf))].sort();
    const state = { server: text, checkedAt: this.#options.now(), invented };
    return { state, sets: new Set(found.map(toSet)) };
  }

  /** The records for a name that does not exist; undefined: no response tells. */
  async #ask(server: NameServer, name: string, type: string): Promise<readonly DnsRecord[] | undefined> {
    const question = createQuestion(name, type);
    const { signal } = new AbortController();
    const answer = await queryServer({ server, question, timeout: this.#options.timeout, signal });
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
