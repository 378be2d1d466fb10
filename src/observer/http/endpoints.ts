import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { CircuitBreaker } from '../circuit-breaker.js';
import { Limiter } from '../limiter.js';

/** How many timeouts in a row open an endpoint's circuit breaker. */
const TIMEOUTS = 8;
/** How many circuit breakers are kept. A forgotten one costs a few requests more. */
const MOST_BREAKERS = 10_000;

/**
 * Limits the connections to one address, and skips endpoints that do not respond, over all domains that they
 * serve. Thousands of domains may be at one address: if each of them waited for its turn there and then for the
 * timeout, the others would wait with them. All times are milliseconds of a monotonic clock.
 */
export class Endpoints {
  readonly #limiters = new Map<string, Limiter>();
  readonly #breakers = new LRUCache<string, CircuitBreaker>({ max: MOST_BREAKERS });
  readonly #connectionsPerAddress: number;

  constructor(connectionsPerAddress: number) {
    this.#connectionsPerAddress = connectionsPerAddress;
  }

  /** Runs something when the address has a free connection for it; undefined: the signal was aborted first. */
  async run<Result>(
    address: string,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const key = oneAddress(address);
    const limiter = this.#limiters.get(key) ?? new Limiter(this.#connectionsPerAddress);
    this.#limiters.set(key, limiter);
    const entered = await limiter.enter(signal);
    try {
      return entered ? await work() : undefined;
    } finally {
      if (entered) limiter.leave();
      if (limiter.isIdle) this.#limiters.delete(key);
    }
  }

  allows(endpoint: string, now: number): boolean {
    return this.#breakers.get(endpoint)?.allows(now) ?? true;
  }

  recordResponse(endpoint: string, now: number): void {
    this.#breakers.get(endpoint)?.recordResponse(now);
  }

  recordTimeout(endpoint: string, sent: number, now: number): void {
    const breaker = this.#breakers.get(endpoint) ?? new CircuitBreaker(TIMEOUTS);
    this.#breakers.set(endpoint, breaker);
    breaker.recordTimeout(sent, now);
  }
}

/** One text for each address: an IPv4-mapped one leads to the same machine as its IPv4 address. */
function oneAddress(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
}
