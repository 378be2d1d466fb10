import { setMaxListeners } from 'node:events';
import type { Priority } from '../priority.js';
import type { DnsAnswer } from './answer.js';
import { Lookup } from './lookup.js';
import { createNameServer, type DnsServer } from './name-server.js';

/** Which servers a client queries, and its limits. */
export interface DnsClientOptions {
  /** At least one, in the order of preference. One that has timed out recently comes last for a while. */
  readonly servers: readonly DnsServer[];
  /** For one try, in milliseconds. */
  readonly timeout: number;
  /** How many tries a query has in all, at the servers in turn. */
  readonly tries: number;
  /** How many queries a server has in flight at once; others wait. */
  readonly queriesPerServer: number;
}

/** Queries DNS servers for records. */
export interface DnsClient {
  /**
   * Queries the types of one name: one or a few first, and all others at once when there is an answer. If each
   * of the first queries, as many as one has tries, times out or has SERVFAIL, all types have failed so.
   * Never rejects.
   *
   * @param name Any name that DNS allows, as canonicalHostName takes it.
   * @param types Types that have a number (typeNumber); another is answered as malformed.
   * @param signal Settles what is not answered as stopped.
   * @param priority Which queries go first where they wait for a server; normal if absent.
   * @returns The answer for each type, by the type's canonical name (canonicalType). A failed query
   * has the failure of its last try, unless a server said something (SERVFAIL, a malformed message) and
   * the last one was silent: then what was said last.
   */
  query(
    name: string,
    types: readonly string[],
    signal?: AbortSignal,
    priority?: Priority,
  ): Promise<ReadonlyMap<string, DnsAnswer>>;
}

/** A client that keeps nothing open between lookups. */
export function createDnsClient({ servers, timeout, tries, queriesPerServer }: DnsClientOptions): DnsClient {
  const nameServers = servers.map((server) => createNameServer(server, queriesPerServer));
  return {
    query(name, types, signal = new AbortController().signal, priority = 'normal') {
      // Each query that waits has a listener, and Node.js takes more than ten for a leak.
      setMaxListeners(0, signal);
      return new Lookup({ servers: nameServers, timeout, tries, signal, priority }).answers(name, types);
    },
  };
}
