import { constants } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
  connect as tlsConnect,
} from 'node:tls';
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
 * Accepts whatever TLS a server still speaks: the headers are worth knowing even of a site that cannot be
 * trusted. Certificates are not verified, so no roots are loaded.
 */
const LENIENT: SecureContextOptions = {
  minVersion: 'TLSv1',
  ciphers: 'DEFAULT@SECLEVEL=0',
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
  ca: [],
};

/** Of all connections; undefined before the first. */
let secureContext: SecureContext | undefined;

/** @param protocol The only one that is offered (ALPN, RFC 7301). */
export function startTls(
  socket: Socket,
  servername: string,
  protocol: 'http/1.1' | 'h2',
  signal: AbortSignal,
): Promise<TLSSocket> {
  secureContext ??= createSecureContext(LENIENT);
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
