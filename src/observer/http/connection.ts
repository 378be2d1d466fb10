import { constants } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { guardedLookup, type Target } from './target.js';

/**
 * Connects. The host given to the socket is the domain, never an address: an address would bypass the lookup.
 *
 * @param signal Destroys the socket.
 * @throws PrivateAddressError, or the socket's error.
 */
export function connectTcp(
  { domain, address, port }: Target,
  allowPrivate: boolean,
  signal: AbortSignal,
): Promise<Socket> {
  const lookup = guardedLookup([address], allowPrivate);
  return opened(connect({ host: domain, port, lookup, autoSelectFamily: false }), 'connect', signal);
}

/**
 * Starts TLS on a connected socket, with the domain as the server name (RFC 6066, section 3).
 *
 * @param protocol The only one that is offered (ALPN, RFC 7301).
 * @param signal Destroys the socket.
 * @throws the socket's error; see speaksNoTls, declinesName and agreesOnNoProtocol.
 */
export function startTls(
  socket: Socket,
  servername: string,
  secureContext: SecureContext,
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

/**
 * Accepts whatever TLS a server still speaks: the headers are worth knowing even of a site that cannot be
 * trusted. Certificates are not verified, so no roots are loaded.
 */
export function createLenientContext(): SecureContext {
  return createSecureContext({
    minVersion: 'TLSv1',
    ciphers: 'DEFAULT@SECLEVEL=0',
    secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
    ca: [],
  });
}

/**
 * Whether an error of the handshake means that the server does not speak TLS at all: what OpenSSL 3.0 to 3.5 says of
 * octets that are no TLS record header (RFC 8446, section 5.1). The second octet is not 3: wrong version number, and
 * two names of its own for what looks like a request. It is 3 by chance: the length is beyond any record's, under
 * three names. Fewer than five octets say nothing.
 */
export function speaksNoTls(code: string): boolean {
  const wrong = /^ERR_SSL_(WRONG_VERSION_NUMBER|HTTP_REQUEST|HTTPS_PROXY_REQUEST)$/;
  return wrong.test(code) || /^ERR_SSL_(PACKET|DATA|ENCRYPTED)_LENGTH_TOO_LONG$/.test(code);
}

/**
 * Whether an error is an alert with which servers decline a name that has no TLS (RFC 6066, section 3; RFC 8446, section 6.2),
 * if nothing came before it: unrecognized_name, and handshake_failure and internal_error of those that have no certificate for it.
 */
export function declinesName(code: string): boolean {
  return /^ERR_SSL_(TLSV1_UNRECOGNIZED_NAME|\S+_ALERT_(HANDSHAKE_FAILURE|INTERNAL_ERROR))$/.test(code);
}

/**
 * Whether an error is the alert of a server that speaks none of the protocols offered (RFC 7301, section 3.2), or what
 * OpenSSL says of one that has chosen another.
 */
export function agreesOnNoProtocol(code: string): boolean {
  return code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' || code === 'ERR_SSL_BAD_EXTENSION';
}

/** The octets of the shortest ServerHello, in its record (RFC 5246, sections 6.2.1 and 7.4.1.3). An alert has seven. */
export const SHORTEST_SERVER_HELLO = 47;
