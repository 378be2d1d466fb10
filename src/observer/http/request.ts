import { constants } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { createSecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { errorCode, InvalidObservationError } from '../../model/errors.js';
import { endpointText, type Failed, type FailureCode, failed, STOPPED } from '../failure.js';
import { InvalidResponseError, requestHead, requestHeadByHttp2, responseFields } from './response.js';
import { guardedLookup, hostField, PrivateAddressError, type Target } from './target.js';

export interface RequestOptions {
  readonly userAgent: string;
  readonly ignoredHeaders: ReadonlySet<string>;
  readonly allowPrivate: boolean;
}

/** What ends a request: the milliseconds for the connection, those for everything, and a signal. */
interface RequestLimits {
  readonly connectTime: number;
  readonly time: number;
  readonly signal: AbortSignal;
}

export type RequestOutcome =
  | {
      readonly kind: 'answered';
      readonly scheme: 'https' | 'http';
      /** Where the connection went. */
      readonly address: string;
      readonly status: number;
      /** As responseFields() gives them. */
      readonly headers: ReadonlyMap<string, string>;
    }
  | FailedRequest;

export interface FailedRequest extends Failed {
  /** Absent: nothing else is to be tried. */
  readonly obstacle?: Obstacle | undefined;
}

/** Why another address is to be tried, or another protocol. */
export type Obstacle =
  | 'refused' // The port rejects the connection.
  | 'no-route' // This machine has no route to such addresses (no IPv6, say).
  | 'slow' // The address cannot be reached now, or not in time, and may yet answer the next time.
  | 'no-tls' // The port is open and speaks no TLS, or declines it for this name.
  | 'closed' // The connection was closed or reset before the response's head ended.
  | 'other-protocol'; // The server does not speak HTTP/1.1.

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
  if (first.kind === 'answered' || first.obstacle !== 'other-protocol') return first;
  const time = limits.time - (performance.now() - began);
  return requestBy('h2', target, options, { ...limits, time });
}

async function requestBy(
  protocol: 'http/1.1' | 'h2',
  target: Target,
  { userAgent, ignoredHeaders, allowPrivate }: RequestOptions,
  { connectTime, time, signal }: RequestLimits,
): Promise<RequestOutcome> {
  if (signal.aborted) return STOPPED;
  const { scheme, domain, address } = target;
  const endpoint = endpointText(target);
  const closing = new AbortController();
  let ended: FailedRequest | undefined;
  let socket: Socket | undefined;
  const end = (outcome: FailedRequest) => {
    ended ??= outcome;
    closing.abort();
  };
  const stop = () => end(STOPPED);
  signal.addEventListener('abort', stop);
  const connectTimer = setTimeout(() => end(slow(`${endpoint} does not respond`)), connectTime);
  const timer = setTimeout(() => end(failed('timeout', `no response from ${endpoint} in time`)), time);
  let step: Step = 'connect';
  try {
    socket = await connectTcp(target, allowPrivate, closing.signal);
    clearTimeout(connectTimer);
    step = 'handshake';
    const secure = scheme === 'https' ? await startTls(socket, domain, protocol, closing.signal) : undefined;
    step = 'head';
    // Older versions of OpenSSL let a server choose HTTP/2 though it was not offered.
    const head =
      secure !== undefined && (protocol === 'h2' || secure.alpnProtocol === 'h2')
        ? await requestHeadByHttp2(secure, hostField(target), userAgent)
        : await requestHead(secure ?? socket, { Host: hostField(target), 'User-Agent': userAgent });
    const headers = responseFields(head.fields, ignoredHeaders);
    return { kind: 'answered', scheme, address, status: head.status, headers };
  } catch (error) {
    const isFirst = step === 'handshake' && socket !== undefined && socket.bytesRead < SHORTEST_SERVER_HELLO;
    return ended ?? outcomeOfError(error, isFirst ? 'hello' : step, endpoint);
  } finally {
    clearTimeout(connectTimer);
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    closing.abort();
  }
}

/**
 * Connects. The host given to the socket is the domain, never an address: an address would bypass the lookup.
 *
 * @param signal Destroys the socket.
 * @throws PrivateAddressError, or the socket's error.
 */
function connectTcp(
  { domain, address, port }: Target,
  allowPrivate: boolean,
  signal: AbortSignal,
): Promise<Socket> {
  const lookup = guardedLookup([address], allowPrivate);
  return opened(connect({ host: domain, port, lookup, autoSelectFamily: false }), 'connect', signal);
}

/**
 * Accepts whatever TLS a server still speaks: the headers are worth knowing even of a site that cannot be
 * trusted. Certificates are not verified, so no roots are loaded.
 */
const secureContext = createSecureContext({
  minVersion: 'TLSv1',
  ciphers: 'DEFAULT@SECLEVEL=0',
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
  ca: [],
});

/** @param protocol The only one that is offered (ALPN, RFC 7301). */
function startTls(
  socket: Socket,
  servername: string,
  protocol: 'http/1.1' | 'h2',
  signal: AbortSignal,
): Promise<TLSSocket> {
  const secure = tlsConnect({
    ...{ socket, servername, secureContext },
    ALPNProtocols: [protocol],
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
    minDHSize: 1,
  });
  return opened(secure, 'secureConnect', signal);
}

async function opened<Kind extends Socket>(socket: Kind, event: string, signal: AbortSignal): Promise<Kind> {
  addAbortSignal(signal, socket);
  // It may fail when nothing waits for it any more.
  socket.on('error', () => undefined);
  await once(socket, event);
  return socket;
}

function hindered(obstacle: Obstacle, code: FailureCode, message: string): FailedRequest {
  return { ...failed(code, message), obstacle };
}

export function slow(message: string): FailedRequest {
  return hindered('slow', 'timeout', message);
}

/** How far a connection has come. `hello`: the server's part of the handshake has not begun. */
export type Step = 'connect' | 'hello' | 'handshake' | 'head';

/** The octets of the shortest ServerHello, in its record (RFC 5246, sections 6.2.1 and 7.4.1.3). An alert has seven. */
const SHORTEST_SERVER_HELLO = 47;

/**
 * A server that does not speak TLS at all: what OpenSSL 3.0 to 3.5 says of octets that are no TLS record
 * header (RFC 8446, section 5.1). The second octet is not 3: wrong version number, and two names of its own for
 * what looks like a request. It is 3 by chance: the length is beyond any record's, under three names. Fewer
 * than five octets say nothing.
 */
const NO_TLS =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|HTTP_REQUEST|HTTPS_PROXY_REQUEST|(PACKET|DATA|ENCRYPTED)_LENGTH_TOO_LONG)$/;

/**
 * An alert with which servers decline a name that has no TLS (RFC 6066, section 3; RFC 8446, section 6.2), if
 * nothing came before it: unrecognized_name, and handshake_failure and internal_error of those that have no
 * certificate for it.
 */
const DECLINED_NAME = /^ERR_SSL_(TLSV1_UNRECOGNIZED_NAME|\S+_ALERT_(HANDSHAKE_FAILURE|INTERNAL_ERROR))$/;

/**
 * The alert of a server that speaks none of the protocols offered (RFC 7301, section 3.2), or what OpenSSL says
 * of one that has chosen another.
 */
const NO_PROTOCOL = /^ERR_SSL_(TLSV1_ALERT_NO_APPLICATION_PROTOCOL|BAD_EXTENSION)$/;

const TLS_ERROR = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/;

export function outcomeOfError(error: unknown, step: Step, endpoint: string): FailedRequest {
  if (error instanceof PrivateAddressError) return failed('private-address', error.message);
  if (error instanceof InvalidResponseError || error instanceof InvalidObservationError) {
    const invalid = error instanceof InvalidResponseError ? error.code : 'malformed';
    return failed(invalid, `invalid response from ${endpoint}: ${error.message}`);
  }
  const code = errorCode(error);
  if (step === 'connect') return connectOutcome(code, endpoint);
  if (step !== 'head' && NO_TLS.test(code))
    return hindered('no-tls', 'tls', `${endpoint} does not speak TLS`);
  if (!TLS_ERROR.test(code)) {
    const when = step === 'head' ? "before the end of the response's head" : 'during the TLS handshake';
    return hindered('closed', 'closed', `${endpoint} closed the connection ${when}`);
  }
  const failure = failed('tls', `no TLS with ${endpoint}: ${reasonOf(error)}`);
  if (step !== 'head' && NO_PROTOCOL.test(code)) return { ...failure, obstacle: 'other-protocol' };
  return step === 'hello' && DECLINED_NAME.test(code) ? { ...failure, obstacle: 'no-tls' } : failure;
}

/** In the words of OpenSSL, if there are any. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}

/** The errors of a machine without such a network. */
const NO_ROUTE = ['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'];

function connectOutcome(code: string, endpoint: string): FailedRequest {
  if (code === 'ECONNREFUSED') return hindered('refused', 'refused', `${endpoint} rejects the connection`);
  if (code === 'ETIMEDOUT') return slow(`${endpoint} does not respond`);
  if (code === 'ECONNRESET' || code === 'ECONNABORTED') {
    return hindered('closed', 'closed', `${endpoint} closed the connection at once`);
  }
  const kind = NO_ROUTE.includes(code) ? 'no-route' : 'slow';
  return hindered(kind, 'unreachable', `no connection to ${endpoint} (${code})`);
}
