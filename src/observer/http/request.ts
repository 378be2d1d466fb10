import { constants } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { createSecureContext, connect as tlsConnect } from 'node:tls';
import { errorCode, InvalidObservationError } from '../../model/errors.js';
import {
  endpointText,
  type FailedRequest,
  type FailureCode,
  failed,
  type HttpAnswer,
  type Obstacle,
  STOPPED,
} from '../verdict.js';
import { requestHead, requestHeadByHttp2, responseFields, TooLargeError } from './response.js';
import { guardedLookup, hostField, PrivateAddressError, type Target } from './target.js';

export interface RequestOptions {
  readonly userAgent: string;
  readonly ignoredHeaders: ReadonlySet<string>;
  readonly allowPrivate: boolean;
  /** In milliseconds, for an observation. Only requests use it up. */
  readonly timeout: number;
}

/** Of the timeout, so that a dead address leaves time for the next. */
export const CONNECT_PART = 1 / 3;

type Protocol = 'http/1.1' | 'h2';

/**
 * Reads the head of the response to `GET /`; where the target speaks no HTTP/1.1, once again by HTTP/2. It
 * never rejects, and leaves neither socket nor timer behind.
 *
 * @param time In milliseconds: what is left of the timeout.
 */
export async function sendRequest(
  target: Target,
  options: RequestOptions,
  time: number,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  if (signal.aborted) return STOPPED;
  const closing = new AbortController();
  let ended: FailedRequest | undefined;
  const end = (outcome: FailedRequest) => {
    ended ??= outcome;
    closing.abort();
  };
  const stop = () => end(STOPPED);
  signal.addEventListener('abort', stop);
  const late = failed('timeout', `no response from ${endpointText(target)} in time`);
  const timer = setTimeout(() => end(late), time);
  const requestBy = (protocol: Protocol) => requestOnce(protocol, target, options, closing.signal);
  let outcome = await requestBy('http/1.1');
  if (outcome.kind === 'failed' && outcome.obstacle === 'other-protocol') outcome = await requestBy('h2');
  clearTimeout(timer);
  signal.removeEventListener('abort', stop);
  closing.abort();
  return outcome.kind === 'answered' ? outcome : (ended ?? outcome);
}

async function requestOnce(
  protocol: Protocol,
  target: Target,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { scheme, domain, address } = target;
  let socket: Socket | undefined;
  let step: Step = 'connect';
  try {
    socket = await connectTcp(target, options, signal);
    step = 'handshake';
    const secure = scheme === 'https' ? await startTls(socket, domain, protocol, signal) : undefined;
    step = 'head';
    // Older versions of OpenSSL let a server choose HTTP/2 though it was not offered.
    const head =
      secure !== undefined && (protocol === 'h2' || secure.alpnProtocol === 'h2')
        ? await requestHeadByHttp2(secure, hostField(target), options.userAgent)
        : await requestHead(secure ?? socket, hostField(target), options.userAgent);
    const headers = responseFields(head.fields, options.ignoredHeaders);
    return { kind: 'answered', scheme, address, status: head.status, headers };
  } catch (error) {
    const isFirst = step === 'handshake' && socket !== undefined && socket.bytesRead < SHORTEST_SERVER_HELLO;
    return outcomeOfError(error, isFirst ? 'hello' : step, endpointText(target));
  }
}

/** The host given to the socket is the domain, never an address: an address would bypass the lookup. */
async function connectTcp(target: Target, options: RequestOptions, signal: AbortSignal): Promise<Socket> {
  const { domain: host, address, port } = target;
  const lookup = guardedLookup([address], options.allowPrivate);
  const timeout = options.timeout * CONNECT_PART;
  const socket = connect({ host, port, lookup, autoSelectFamily: false, timeout });
  socket.once('timeout', () => socket.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
  await opened(socket, 'connect', signal);
  return socket.setTimeout(0);
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
function startTls(socket: Socket, servername: string, protocol: Protocol, signal: AbortSignal) {
  const secure = tlsConnect({
    socket,
    servername,
    secureContext,
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

/** How far a connection has come. `hello`: the server's part of the handshake has not begun. */
export type Step = 'connect' | 'hello' | 'handshake' | 'head';

/** In octets, in its record (RFC 5246, sections 6.2.1 and 7.4.1.3). An alert has seven. */
const SHORTEST_SERVER_HELLO = 47;

/** A machine without such a network. */
const NO_ROUTE = /^connect (ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/;

/**
 * What OpenSSL 3.0 to 3.5 says of octets that are no TLS record header (RFC 8446, section 5.1). The second
 * octet is not 3: wrong version number, and two names of its own for what looks like a request. It is 3 by
 * chance: the length is beyond any record's, under three names. Fewer than five octets say nothing.
 */
const NO_TLS =
  /^(hello|handshake) ERR_SSL_(WRONG_VERSION_NUMBER|HTTPS?_(PROXY_)?REQUEST|\w+_LENGTH_TOO_LONG)$/;

/**
 * The alerts that decline a name (RFC 6066, section 3; RFC 8446, section 6.2), if nothing came before them; the
 * last two are of servers that have no certificate for it.
 */
const DECLINED_NAME =
  /^hello ERR_SSL_(TLSV1_UNRECOGNIZED_NAME|\S+_ALERT_(HANDSHAKE_FAILURE|INTERNAL_ERROR))$/;

/** The server speaks none of the protocols offered (RFC 7301, section 3.2), or has chosen another. */
const NO_PROTOCOL = /^(hello|handshake) ERR_SSL_(TLSV1_ALERT_NO_APPLICATION_PROTOCOL|BAD_EXTENSION)$/;

type Meaning = readonly [error: RegExp, obstacle: Obstacle | undefined, code: FailureCode, message: string];

/** What errors mean, by step and code: the first row counts. */
const MEANINGS: readonly Meaning[] = [
  [/^connect ECONNREFUSED$/, 'refused', 'refused', 'rejects the connection'],
  [/^connect ETIMEDOUT$/, 'slow', 'timeout', 'does not respond'],
  [NO_ROUTE, 'no-route', 'unreachable', 'cannot be reached'],
  [/^connect (?!ECONNRESET|ECONNABORTED)/, 'slow', 'unreachable', 'cannot be reached'],
  [NO_TLS, 'no-tls', 'tls', 'does not speak TLS'],
  [NO_PROTOCOL, 'other-protocol', 'tls', 'agrees on no protocol'],
  [DECLINED_NAME, 'no-tls', 'tls', 'declines TLS for the name'],
  [/^(?!connect)\w+ (ERR_SSL_|ERR_TLS_|EPROTO$)/, undefined, 'tls', 'does not agree on TLS'],
];

const CLOSED: Meaning = [/^/, 'closed', 'closed', 'closed the connection'];

export function outcomeOfError(error: unknown, step: Step, endpoint: string): FailedRequest {
  if (error instanceof PrivateAddressError) return failed('private-address', error.message);
  if (error instanceof TooLargeError || error instanceof InvalidObservationError) {
    const invalid = error instanceof TooLargeError ? 'too-large' : 'malformed';
    return failed(invalid, `invalid response from ${endpoint}: ${error.message}`);
  }
  const errno = errorCode(error);
  const [, obstacle, code, message] =
    MEANINGS.find(([pattern]) => pattern.test(`${step} ${errno}`)) ?? CLOSED;
  // In the words of OpenSSL, if there are any.
  const detail = error instanceof Error && 'reason' in error ? error.reason : errno;
  return { ...failed(code, `${endpoint} ${message} (${detail || 'without a response'})`), obstacle };
}
