import type { Socket } from 'node:net';

/** The other side closed the connection without an error. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError';
  readonly code = 'ERR_CONNECTION_CLOSED';
}

/**
 * What hangs on one connection: its sockets (TLS stands on TCP), and the first reason for its end. The
 * steps of a visit wait for what they hope for; that it can no longer come is found out here, once for all.
 */
export class Lifeline {
  readonly #sockets: Socket[] = [];
  readonly #broken: Promise<never>;
  #break: (reason: Error) => void = () => undefined;

  constructor() {
    this.#broken = new Promise((_resolve, reject) => {
      this.#break = reject;
    });
    // It may break when nobody waits any more.
    this.#broken.catch(() => undefined);
  }

  /** Takes a socket over: its error or end breaks the line, and release() destroys it. */
  hold<Kind extends Socket>(socket: Kind): Kind {
    // Of TLS over TCP, only the upper socket tells why they have ended.
    this.#sockets.at(-1)?.off('close', this.#onClose);
    socket.on('error', this.#break);
    socket.on('close', this.#onClose);
    this.#sockets.push(socket);
    return socket;
  }

  readonly #onClose = (): void => {
    this.#break(new ConnectionClosedError('the connection was closed'));
  };

  /** Ends the visit for a reason of our own. */
  cut(reason: Error): void {
    this.#break(reason);
  }

  /** What the step gives. @throws the reason for which the line broke, if that comes first. */
  until<Value>(step: Promise<Value>): Promise<Value> {
    return Promise.race([step, this.#broken]);
  }

  /** Destroys the sockets. Their errors stay handled: some come late. */
  release(): void {
    for (const socket of this.#sockets.reverse()) socket.destroy();
  }
}
