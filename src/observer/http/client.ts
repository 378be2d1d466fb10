import { setMaxListeners } from 'node:events';
import { isIP } from 'node:net';
import { endpointText, failed, STOPPED } from '../failure.js';
import { Endpoints } from './endpoints.js';
import {
  type FailedRequest,
  type Obstacle,
  type RequestOptions,
  type RequestOutcome,
  sendRequest,
  slow,
} from './request.js';
import { NO_ADDRESS, selectAddresses, type Target } from './target.js';

/** `httpsDeclined` of a failure: whether HTTPS was declined before it. */
export type HttpAnswer = RequestOutcome & { readonly httpsDeclined?: boolean };

export interface HttpClientOptions extends RequestOptions {
  readonly httpsPort: number;
  readonly httpPort: number;
  /** In milliseconds, for one observation, both schemes together. */
  readonly timeout: number;
  /**
   * How many connections one address gets at once; others wait, which does not count towards their timeout.
   * They fail without a connection if the address stops responding meanwhile.
   */
  readonly connectionsPerAddress: number;
}

export type HttpClient = ReturnType<typeof createHttpClient>;

export function createHttpClient(options: HttpClientOptions) {
  const endpoints = new Endpoints(options.connectionsPerAddress);
  return {
    /**
     * Observes a domain's front page once: `https://{domain}/`, or `http://{domain}/` where HTTPS is declined:
     * at each address that can be reached, its port rejects the connection, speaks no TLS, or declines it for the
     * name. It never rejects, and closes everything.
     *
     * @param addresses The domain's A and AAAA addresses, as DNS answered them.
     * @param signal Ends it with the failure `stopped`.
     */
    observe(domain: string, addresses: readonly string[], signal = new AbortController().signal) {
      // Many observations may share it, and Node.js takes more than ten listeners for a leak.
      setMaxListeners(0, signal);
      return observe(addresses, { ...options, endpoints, domain, signal, timeLeft: options.timeout });
    },
  };
}

interface Progress extends HttpClientOptions {
  readonly endpoints: Endpoints;
  readonly domain: string;
  readonly signal: AbortSignal;
  /** In milliseconds. Only requests use it up. */
  timeLeft: number;
}

async function observe(addresses: readonly string[], progress: Progress): Promise<HttpAnswer> {
  const { domain, allowPrivate } = progress;
  if (isIP(domain) !== 0) return failed('no-address', `${domain} is an address, not a domain`);
  const selected = selectAddresses(addresses, allowPrivate);
  if ('kind' in selected) return selected;
  const secure = await observeBy('https', selected, progress);
  if (!isDeclined(secure)) return secure;
  const plain = await observeBy('http', selected, progress);
  return plain.kind === 'answered' ? plain : { ...plain, httpsDeclined: true };
}

function observeBy(
  scheme: 'https' | 'http',
  addresses: readonly string[],
  progress: Progress,
): Promise<RequestOutcome> {
  const { domain, endpoints, signal } = progress;
  const port = scheme === 'https' ? progress.httpsPort : progress.httpPort;
  return tryAddresses(addresses, async (address) => {
    const request = () => requestUnlessSilent({ scheme, domain, address, port }, progress);
    return (await endpoints.run(address, signal, request)) ?? STOPPED;
  });
}

/** A connection may take this part of the timeout, so that a dead address leaves time for the next. */
const CONNECT_PART = 1 / 3;

async function requestUnlessSilent(target: Target, progress: Progress): Promise<RequestOutcome> {
  const { endpoints, signal, timeout, timeLeft: time } = progress;
  const endpoint = endpointText(target);
  const sent = performance.now();
  if (!endpoints.allows(endpoint, sent)) return slow(`${endpoint} has not responded lately`);
  const connectTime = timeout * CONNECT_PART;
  const outcome = await sendRequest(target, progress, { connectTime, time, signal });
  const now = performance.now();
  progress.timeLeft = Math.max(0, time - (now - sent));
  const code = outcome.kind === 'answered' ? null : outcome.failure.code;
  // The last of a domain's addresses may have had too little time to respond.
  if (code === 'timeout' && time >= connectTime) endpoints.recordTimeout(endpoint, sent, now);
  else if (code !== 'timeout' && code !== 'stopped') endpoints.recordResponse(endpoint, now);
  return outcome;
}

/** Of several addresses' obstacles the one that counts most comes first. */
const NEXT_ADDRESS: readonly (Obstacle | undefined)[] = ['slow', 'closed', 'no-tls', 'refused', 'no-route'];

/**
 * Tries the addresses, at least one, one after the other until one gives a response, or a failure that is the
 * site's own.
 *
 * Where one did not respond in time, or closed the connection, no other can decline for the domain: how it
 * responds next is chance, and the headers of the two schemes would take turns.
 */
export async function tryAddresses(
  addresses: readonly string[],
  request: (address: string) => Promise<RequestOutcome>,
): Promise<RequestOutcome> {
  const failures: FailedRequest[] = [];
  for (const address of addresses) {
    const outcome = await request(address);
    if (outcome.kind === 'answered' || !NEXT_ADDRESS.includes(outcome.obstacle)) return outcome;
    failures.push(outcome);
  }
  const rank = ({ obstacle }: FailedRequest) => NEXT_ADDRESS.indexOf(obstacle);
  const [first = NO_ADDRESS] = failures.reverse().sort((one, other) => rank(one) - rank(other));
  return first;
}

/** Whether every address that can be reached rejects the connection, or TLS for the name: HTTP may be tried. */
export function isDeclined(outcome: RequestOutcome): boolean {
  return outcome.kind === 'failed' && (outcome.obstacle === 'no-tls' || outcome.obstacle === 'refused');
}
