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
  const lookup = guardedLookup(address, allowPrivate);
  return opened(connect({ host: domain, port, lookup, autoSelectFamily: false }), 'connect', signal);
}

/**
 * Starts TLS on a connected socket, with the domain as the server name (RFC 6066, section 3).
 *
 * @param signal Destroys the socket.
 * @throws the socket's error; see speaksNoTls.
 */
export function startTls(
  socket: Socket,
  servername: string,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const secure = tlsConnect({
    ...{ socket, servername, secureContext },
    ALPNProtocols: ['http/1.1'],
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
