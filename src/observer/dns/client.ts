import type { Priority } from '../priority.js';
import type { DnsAnswer, DnsServer } from './answer.js';
import { Lookup } from './lookup.js';
import { NameServer } from './name-server.js';
import { SignalGroups } from './signal-groups.js';

export type { DnsAnswer, DnsServer } from './answer.js';

/** Whom a client asks, and with how much patience. */
export interface DnsClientOptions {
  /** At least one, in the order of preference. One that has been silent of late comes last for a while. */
  readonly servers: readonly DnsServer[];
  /** How long one try may take, in milliseconds. */
  readonly timeout: number;
  /** How many tries a question has in all, at the servers in turn. */
  readonly tries: number;
  /** How many questions a server has in hand at once; others wait for their turn. */
  readonly questionsPerServer: number;
}

/** Asks DNS servers for records. */
export interface DnsClient {
  /**
   * Asks for types of one name: for one or a few, and for all others at once when there is an answer. Where
   * each of the first questions, as many as one has tries, is without one or answered by SERVFAIL, all types
   * have failed so. Never rejects.
   *
   * @param name Any name that DNS allows, as canonicalHostName takes it.
   * @param types Types for which isKnownType is true; another is answered as malformed.
   * @param signal Settles what is not answered as stopped.
   * @param priority Who goes first where questions wait for a server; normal if absent.
   * @returns The answer to each type, by the type's canonical name (canonicalType). A question that failed
   * has the failure of its last try, unless a server said something (SERVFAIL, a malformed message) and
   * the last one was silent: then what was said last.
   */
  ask(
    name: string,
    types: readonly string[],
    signal?: AbortSignal,
    priority?: Priority,
  ): Promise<ReadonlyMap<string, DnsAnswer>>;
  /** Settles all questions as stopped, and those that are asked from now on. */
  close(): void;
}

/** A client that keeps nothing open between questions. */
export function createDnsClient(options: DnsClientOptions): DnsClient {
  const servers = options.servers.map((server) => new NameServer(server, options.questionsPerServer));
  const lookups = new Set<Lookup>();
  const signals = new SignalGroups();
  let isClosed = false;
  return {
    async ask(name, types, signal, priority = 'normal') {
      const lookup = new Lookup({ servers, timeout: options.timeout, tries: options.tries, priority });
      if (isClosed) lookup.stop();
      lookups.add(lookup);
      if (signal !== undefined) signals.add(signal, lookup);
      const answers = await lookup.answers(name, types);
      if (signal !== undefined) signals.delete(signal, lookup);
      lookups.delete(lookup);
      return answers;
    },
    close() {
      isClosed = true;
      for (const lookup of lookups) lookup.stop();
    },
  };
}
