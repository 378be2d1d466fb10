import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { errorCode, InvalidObservationError } from '../../model/errors.js';
import { endpointText, type Failed, type Failure, failed, STOPPED } from '../failure.js';
import {
  agreesOnNoProtocol,
  connectTcp,
  declinesName,
  SHORTEST_SERVER_HELLO,
  speaksNoTls,
  startTls,
} from './connection.js';
import { requestHeadByHttp2 } from './http2.js';
import { InvalidResponseError, requestHead, responseFields } from './response.js';
import { hostField, PrivateAddressError, type Target } from './target.js';

/** What all requests of a client have in common. */
export interface RequestOptions {
  readonly userAgent: string;
  readonly ignoredHeaders: ReadonlySet<string>;
  readonly allowPrivate: boolean;
  readonly secureContext: SecureContext;
}

/** What ends a request; times in milliseconds. */
interface RequestLimits {
  /** For the connection to be accepted. */
  readonly connectTime: number;
  /** For everything. */
  readonly time: number;
  readonly signal: AbortSignal;
}

/** The result of one request to one address. */
export type RequestOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly headers: ReadonlyMap<string, string> }
  /**
   * Another address is to be tried: the port rejects the connection; this machine has no route to such addresses
   * (no IPv6, say); the address cannot be reached now, or not in time, and may yet answer the next time; the port is
   * open and speaks no TLS, or declines it for this name; or the connection was closed or reset before the response's
   * head ended.
   */
  | { readonly kind: 'refused' | 'no-route' | 'slow' | 'no-tls' | 'closed'; readonly failure: Failure }
  /** Nothing else is to be tried. */
  | Failed;

/** A server that does not speak HTTP/1.1. */
type OtherProtocol = { readonly kind: 'other-protocol'; readonly failure: Failure };

/**
 * Connects to the target and reads the head of its response to `GET /`; where it speaks no HTTP/1.1, once again by
 * HTTP/2. It never rejects, and leaves neither socket nor timer behind.
 */
export async function sendRequest(
  target: Target,
  options: RequestOptions,
  limits: RequestLimits,
): Promise<RequestOutcome> {
  const began = performance.now();
  const first = await requestBy('http/1.1', target, options, limits);
  if (first.kind !== 'other-protocol') return first;
  const time = limits.time - (performance.now() - began);
  const second = await requestBy('h2', target, options, { ...limits, time });
  return second.kind === 'other-protocol' ? { ...second, kind: 'failed' } : second;
}

async function requestBy(
  protocol: 'http/1.1' | 'h2',
  target: Target,
  { userAgent, ignoredHeaders, allowPrivate, secureContext }: RequestOptions,
  { connectTime, time, signal }: RequestLimits,
): Promise<RequestOutcome | OtherProtocol> {
  if (signal.aborted) return STOPPED;
  const endpoint = endpointText(target);
  const closing = new AbortController();
  let ended: RequestOutcome | undefined;
  let socket: Socket | undefined;
  const end = (outcome: RequestOutcome) => {
    ended ??= outcome;
    closing.abort();
  };
  signal.addEventListener('abort', () => end(STOPPED), { signal: closing.signal });
  const connectTimer = setTimeout(() => end(slow(`${endpoint} does not respond`)), connectTime);
  const timer = setTimeout(() => end(failed('timeout', `no response from ${endpoint} in time`)), time);
  let step: Step = 'connect';
  try {
    socket = await connectTcp(target, allowPrivate, closing.signal);
    clearTimeout(connectTimer);
    step = 'handshake';
    const isSecure = target.scheme === 'https';
    const secure = isSecure
      ? await startTls(socket, target.domain, secureContext, protocol, closing.signal)
      : undefined;
    step = 'head';
    // Older versions of OpenSSL let a server choose HTTP/2 though it was not offered.
    const head =
      secure !== undefined && (protocol === 'h2' || secure.alpnProtocol === 'h2')
        ? await requestHeadByHttp2(secure, hostField(target), userAgent)
        : await requestHead(secure ?? socket, { Host: hostField(target), 'User-Agent': userAgent });
    return { kind: 'answered', status: head.status, headers: responseFields(head.fields, ignoredHeaders) };
  } catch (error) {
    const isFirst = step === 'handshake' && socket !== undefined && socket.bytesRead < SHORTEST_SERVER_HELLO;
    return ended ?? outcomeOfError(error, isFirst ? 'hello' : step, endpoint);
  } finally {
    clearTimeout(connectTimer);
    clearTimeout(timer);
    closing.abort();
  }
}

/** The outcome of an endpoint that does not respond in time. */
export function slow(message: string): RequestOutcome {
  return { kind: 'slow', failure: { code: 'timeout', message } };
}

function closed(message: string): RequestOutcome {
  return { kind: 'closed', failure: { code: 'closed', message } };
}

/** How far a connection has come. `hello`: the server's part of the handshake has not begun. */
export type Step = 'connect' | 'hello' | 'handshake' | 'head';

/** The outcome of a request that an error has ended in the given step. */
export function outcomeOfError(error: unknown, step: Step, endpoint: string): RequestOutcome | OtherProtocol {
  if (error instanceof PrivateAddressError) return failed('private-address', error.message);
  if (error instanceof InvalidResponseError || error instanceof InvalidObservationError) {
    const invalid = error instanceof InvalidResponseError ? error.code : 'malformed';
    return failed(invalid, `invalid response from ${endpoint}: ${error.message}`);
  }
  const code = errorCode(error);
  if (step === 'connect') return connectOutcome(code, endpoint);
  if (step === 'hello' || step === 'handshake') return handshakeOutcome(error, step, endpoint);
  if (isTlsError(code)) return failed('tls', noTls(error, endpoint));
  return closed(`${endpoint} closed the connection before the end of the response's head`);
}

function handshakeOutcome(
  error: unknown,
  step: 'hello' | 'handshake',
  endpoint: string,
): RequestOutcome | OtherProtocol {
  const code = errorCode(error);
  if (speaksNoTls(code)) {
    return { kind: 'no-tls', failure: { code: 'tls', message: `${endpoint} does not speak TLS` } };
  }
  if (!isTlsError(code)) return closed(`${endpoint} closed the connection during the TLS handshake`);
  const failure: Failure = { code: 'tls', message: noTls(error, endpoint) };
  if (agreesOnNoProtocol(code)) return { kind: 'other-protocol', failure };
  return { kind: step === 'hello' && declinesName(code) ? 'no-tls' : 'failed', failure };
}

function isTlsError(code: string): boolean {
  return /^(ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code);
}

function noTls(error: unknown, endpoint: string): string {
  return `no TLS with ${endpoint}: ${reasonOf(error)}`;
}

/** The errors of a machine without such a network. */
const NO_ROUTE = ['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'];

function connectOutcome(code: string, endpoint: string): RequestOutcome {
  if (code === 'ECONNREFUSED') {
    return { kind: 'refused', failure: { code: 'refused', message: `${endpoint} rejects the connection` } };
  }
  if (code === 'ETIMEDOUT') return slow(`${endpoint} does not respond`);
  if (code === 'ECONNRESET' || code === 'ECONNABORTED') {
    return closed(`${endpoint} closed the connection at once`);
  }
  const failure: Failure = { code: 'unreachable', message: `no connection to ${endpoint} (${code})` };
  return { kind: NO_ROUTE.includes(code) ? 'no-route' : 'slow', failure };
}

/** In the words of OpenSSL, if there are any. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}
