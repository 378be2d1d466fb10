import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { CircuitBreaker } from '../circuit-breaker.js';
import { Limiter } from '../limiter.js';
import { endpointText, type FailedRequest, failed, type HttpAnswer, STOPPED } from '../verdict.js';
import { CONNECT_PART, type RequestOptions, sendRequest } from './request.js';
import { PrivateAddressError, selectAddresses, type Target } from './target.js';

export interface HttpClientOptions extends RequestOptions {
  readonly httpsPort: number;
  readonly httpPort: number;
  /** At once; others wait, which does not count towards their timeout. */
  readonly connectionsPerAddress: number;
}

export type HttpClient = ReturnType<typeof createHttpClient>;

/** How many timeouts in a row open the circuit breaker of a port. */
const MAX_TIMEOUTS = 8;
/** A forgotten one costs a few requests more. */
const MAX_KEPT_ADDRESSES = 5000;

export function createHttpClient(options: HttpClientOptions) {
  /**
   * Thousands of domains may be at one address: if each of them waited for its turn there and then for the
   * timeout, the others would wait with them.
   */
  const states = new LRUCache({
    max: MAX_KEPT_ADDRESSES,
    memoMethod: () => ({
      limiter: new Limiter(options.connectionsPerAddress),
      breakers: { https: new CircuitBreaker(MAX_TIMEOUTS), http: new CircuitBreaker(MAX_TIMEOUTS) },
    }),
  });

  async function request(target: Target, breaker: CircuitBreaker, time: number, signal: AbortSignal) {
    const silent = failed('timeout', `${endpointText(target)} has not responded lately`);
    if (!breaker.allows()) return { ...silent, obstacle: 'slow' } as const;
    const sent = performance.now();
    const outcome = await sendRequest(target, options, time, signal);
    const code = outcome.kind === 'answered' ? null : outcome.failure.code;
    // The last of a domain's addresses may have had too little time to respond.
    if (code === 'timeout' && time >= options.timeout * CONNECT_PART) breaker.recordTimeout(sent);
    else if (code !== 'timeout' && code !== 'stopped') breaker.recordResponse();
    return outcome;
  }

  return {
    /**
     * Observes `https://{domain}/` once, or `http://{domain}/` where HTTPS is declined: at each address that
     * can be reached, its port rejects the connection, speaks no TLS, or declines it for the name. It never
     * rejects, and closes everything.
     *
     * @param addresses Of the domain, as DNS answered them.
     */
    async observe(domain: string, addresses: readonly string[], signal: AbortSignal): Promise<HttpAnswer> {
      if (isIP(domain) !== 0) return failed('no-address', `${domain} is an address, not a domain`);
      const known = addresses.filter((address) => isIP(address) !== 0);
      if (known.length === 0) return NO_ADDRESS;
      const selected = selectAddresses(known, options.allowPrivate);
      if (selected.length === 0) return failed('private-address', new PrivateAddressError(known).message);
      let timeLeft = options.timeout;
      const requestBy = (scheme: 'https' | 'http') =>
        tryAddresses(selected, async (address) => {
          const { limiter, breakers } = states.memo(address);
          if (!(await limiter.enter(signal))) return STOPPED;
          const began = performance.now();
          const target = { scheme, domain, address, port: options[`${scheme}Port`] };
          const outcome = await request(target, breakers[scheme], timeLeft, signal);
          timeLeft = Math.max(0, timeLeft - (performance.now() - began));
          limiter.leave();
          return outcome;
        });
      const secure = await requestBy('https');
      if (!isDeclined(secure)) return secure;
      const plain = await requestBy('http');
      return plain.kind === 'answered' ? plain : { ...plain, httpsDeclined: true };
    },
  };
}

const NO_ADDRESS = failed('no-address', 'the domain has no address');

/** The one that counts most, of several addresses, comes first. */
const OBSTACLES: readonly FailedRequest['obstacle'][] = ['slow', 'closed', 'no-tls', 'refused', 'no-route'];

/**
 * Tries the addresses one after the other until one gives a response, or a failure that is the site's own.
 *
 * Where one did not respond in time, or closed the connection, no other can decline for the domain: how it
 * responds next is chance, and the headers of the two schemes would take turns.
 */
export async function tryAddresses(
  addresses: readonly string[],
  request: (address: string) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const failures: FailedRequest[] = [];
  for (const address of addresses) {
    const outcome = await request(address);
    if (outcome.kind === 'answered' || !OBSTACLES.includes(outcome.obstacle)) return outcome;
    // Of equal ones the last counts.
    failures.unshift(outcome);
  }
  const rank = ({ obstacle }: FailedRequest) => OBSTACLES.indexOf(obstacle);
  return failures.sort((one, other) => rank(one) - rank(other))[0] ?? NO_ADDRESS;
}

/** Every address that can be reached rejects the connection, or TLS for the name: HTTP may be tried. */
export function isDeclined(outcome: HttpAnswer): boolean {
  return outcome.kind === 'failed' && (outcome.obstacle === 'no-tls' || outcome.obstacle === 'refused');
}
