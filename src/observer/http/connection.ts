import { constants } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { guardedLookup, type Target } from './target.js';

export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError';
  readonly code = 'ERR_CONNECTION_CLOSED';
}

/**
 * One connection: a TCP socket, and a TLS socket over it. Each step waits for its own event, and for the first
 * error, end or failure of this program, after which that event can no longer come.
 */
export class Connection {
  readonly #sockets: Socket[] = [];
  readonly #failed: Promise<never>;
  #fail: (reason: Error) => void = () => undefined;

  constructor() {
    this.#failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    // It may fail when no step waits any more.
    this.#failed.catch(() => undefined);
  }

  /**
   * Connects. The host given to the socket is the domain, never an address: an address would bypass the lookup.
   *
   * @throws PrivateAddressError, or the socket's error.
   */
  async connect({ domain, address, port }: Target, allowPrivate: boolean): Promise<Socket> {
    const lookup = guardedLookup(address, allowPrivate);
    const socket = this.#add(connect({ host: domain, port, lookup, autoSelectFamily: false }));
    await this.until(new Promise<void>((resolve) => socket.once('connect', resolve)));
    return socket;
  }

  /**
   * Starts TLS on the connected socket, with the domain as the server name (RFC 6066, section 3).
   *
   * @throws the socket's error; see speaksNoTls.
   */
  async startTls(socket: Socket, domain: string, secureContext: SecureContext): Promise<TLSSocket> {
    const secure = this.#add(
      tlsConnect({
        socket,
        secureContext,
        servername: domain,
        ALPNProtocols: ['http/1.1'],
        rejectUnauthorized: false,
        checkServerIdentity: () => undefined,
        minDHSize: 1,
      }),
    );
    await this.until(new Promise<void>((resolve) => secure.once('secureConnect', resolve)));
    return secure;
  }

  #add<Kind extends Socket>(socket: Kind): Kind {
    // With TLS over TCP, only the upper socket knows why they ended.
    this.#sockets.at(-1)?.off('close', this.#onClose);
    socket.on('error', this.#fail);
    socket.on('close', this.#onClose);
    this.#sockets.push(socket);
    return socket;
  }

  readonly #onClose = (): void => {
    this.#fail(new ConnectionClosedError('the connection was closed'));
  };

  /** Fails the step that waits, and all later ones, unless the connection has failed before. */
  fail(reason: Error): void {
    this.#fail(reason);
  }

  /** The result of the step. @throws the reason why the connection has failed, if that comes first. */
  until<Value>(step: Promise<Value>): Promise<Value> {
    return Promise.race([step, this.#failed]);
  }

  /** Destroys the sockets. Late errors remain handled. */
  destroy(): void {
    for (const socket of this.#sockets.reverse()) socket.destroy();
  }
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
