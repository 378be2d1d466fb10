import { CircuitBreaker } from '../circuit-breaker.js';
import { endpointText } from '../failure.js';
import { Limiter } from '../limiter.js';

/** Where a DNS server listens, over UDP and TCP. */
export interface DnsServer {
  /** An IPv4 or IPv6 address; never a name. */
  readonly address: string;
  readonly port: number;
}

/** A server, with what all queries to it share. */
export interface NameServer extends DnsServer {
  /** Address and port, as messages name it. */
  readonly text: string;
  readonly limiter: Limiter;
  /** Open after one timeout: there are other servers to query. */
  readonly breaker: CircuitBreaker;
}

/** @param queriesAtOnce How many queries it may have in flight. */
export function createNameServer(server: DnsServer, queriesAtOnce: number): NameServer {
  const [limiter, breaker] = [new Limiter(queriesAtOnce), new CircuitBreaker(1)];
  return { ...server, text: endpointText(server), limiter, breaker };
}

/** How often a query is sent to a server before another one has it: a lost packet is no reason for another view. */
export const TRIES_IN_A_ROW = 2;

/**
 * The server for the next try of a query: the one that has its second try to come; otherwise, of those that have had it the
 * fewest times, the first that responds or, if none does, the first.
 *
 * @param servers In the order of preference.
 * @param tries How often each has had the query; missing is never.
 * @param now Milliseconds of a monotonic clock.
 */
export function chooseServer(
  servers: readonly NameServer[],
  tries: ReadonlyMap<NameServer, number>,
  now: number,
): NameServer | undefined {
  const triesOf = (server: NameServer) => tries.get(server) ?? 0;
  const begun = servers.find((server) => triesOf(server) % TRIES_IN_A_ROW !== 0);
  if (begun !== undefined) return begun;
  const fewest = Math.min(...servers.map(triesOf));
  const next = servers.filter((server) => triesOf(server) === fewest);
  return next.find(({ breaker }) => breaker.allows(now)) ?? next[0];
}
