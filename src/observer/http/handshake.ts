import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Lifeline } from './lifeline.js';

/**
 * Takes whatever TLS a server still speaks: the headers are worth knowing of a site that nobody should
 * trust. Certificates are not verified, so no root is loaded to verify them with.
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
 * Starts TLS on a connected socket, with the domain as the server name (RFC 6066, section 3).
 *
 * @throws what Node.js gives as the socket's error; see speaksNoTls.
 */
export async function shakeHands(
  socket: Socket,
  domain: string,
  secureContext: SecureContext,
  lifeline: Lifeline,
): Promise<TLSSocket> {
  const secure = lifeline.hold(
    connect({
      socket,
      secureContext,
      servername: domain,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
      minDHSize: 1,
    }),
  );
  await lifeline.until(new Promise<void>((resolve) => secure.once('secureConnect', resolve)));
  return secure;
}

/**
 * What OpenSSL 3.0 to 3.5 says of octets that are no TLS record header (RFC 8446, section 5.1). The second
 * octet is not 3: wrong version number, and two names of its own for what looks like a request. It is 3 by
 * chance: the length is beyond any record's, under three names. Fewer than five octets say nothing.
 */
const NO_RECORD: ReadonlySet<string> = new Set([
  ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_HTTP_REQUEST', 'ERR_SSL_HTTPS_PROXY_REQUEST'],
  ...['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_DATA_LENGTH_TOO_LONG', 'ERR_SSL_ENCRYPTED_LENGTH_TOO_LONG'],
]);

/** Whether an error of the handshake tells that the server does not speak TLS at all. */
export function speaksNoTls(code: string): boolean {
  return NO_RECORD.has(code);
}
