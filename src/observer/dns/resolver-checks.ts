import { randomInt } from 'node:crypto';
import type { DnsRecord } from '../../model/dns-record.js';
import type { Instant } from '../../model/instant.js';
import { addressesOf } from './answer.js';
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
  readonly server: NameServer;
  state: ResolverState;
  /** The sets of addresses that were given for one name, as setOf() has them. */
  sets: ReadonlySet<string>;
  /** When it is to be repeated, in milliseconds of a monotonic clock. */
  due: number;
  /** Settles when the latest one has ended. */
  running: Promise<void>;
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
 * Finds resolvers that give addresses for names that do not exist (ICANN's SAC 032): each is asked for random names when
 * it first gives addresses, before these are taken, and each hour after that.
 */
export class ResolverChecks {
  readonly #options: ResolverChecksOptions;
  readonly #checks: ReadonlyMap<string, Check>;

  constructor(options: ResolverChecksOptions) {
    this.#options = options;
    this.#checks = new Map(
      options.servers.map((address) => {
        const server = createNameServer(address, 1);
        const state = { server: server.text, checkedAt: null, invented: [] };
        return [server.text, { server, state, sets: new Set(), due: 0, running: Promise.resolve() }];
      }),
    );
  }

  get states(): readonly ResolverState[] {
    return [...this.#checks.values()].map(({ state }) => state);
  }

  /** Checks those that are due. */
  async checkAll(): Promise<readonly ResolverState[]> {
    await Promise.all([...this.#checks.values()].map((check) => this.#begin(check)));
    return this.states;
  }

  /**
   * Whether the resolver gives just these addresses for names that do not exist, too. The first time it waits for the
   * check.
   *
   * @param server Its address and port.
   */
  async isInvented(server: string, type: string, records: readonly DnsRecord[]): Promise<boolean> {
    const check = this.#checks.get(server);
    if (check === undefined || !TYPES.includes(type) || records.length === 0) return false;
    const running = this.#begin(check);
    if (check.state.checkedAt === null) await running;
    return check.sets.has(setOf(records));
  }

  #begin(check: Check): Promise<void> {
    const now = performance.now();
    if (now >= check.due) {
      check.due = now + RETRY;
      check.running = this.#check(check);
    }
    return check.running;
  }

  async #check(check: Check): Promise<void> {
    const { now, report } = this.#options;
    const names = TLDS.map((tld) => `${randomLabel()}.${tld}`);
    const asked = names.flatMap((name) => TYPES.map((type) => this.#ask(check.server, name, type)));
    const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined);
    if (answers.length === 0) return;
    const found = answers.filter((records) => records.length > 0);
    const invented = [...new Set(found.flatMap(addressesOf))].sort();
    const before = check.state;
    check.due = performance.now() + INTERVAL;
    check.sets = new Set(found.map(setOf));
    check.state = { ...before, checkedAt: now(), invented };
    if (invented.length > 0 !== before.invented.length > 0) report(check.state);
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

function setOf(records: readonly DnsRecord[]): string {
  return addressesOf(records).sort().join();
}
