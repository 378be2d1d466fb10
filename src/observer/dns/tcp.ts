import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { errorCode, type Failed, failed, STOPPED } from '../failure.js';
import { encodeQuery, type Question, type Response, responseTo } from './message.js';
import { mismatched, type NameServer, timedOut, unreachable } from './name-server.js';

/**
 * Sends a query to a server over a TCP connection of its own (RFC 7766), and closes it.
 *
 * @param timeout How long all of it may take, in milliseconds.
 */
export function exchangeByTcp(
  server: NameServer,
  question: Question,
  withEdns: boolean,
  timeout: number,
  signal: AbortSignal,
): Promise<Response | Failed> {
  if (signal.aborted) return Promise.resolve(STOPPED);
  return new Promise((resolve) => {
    const id = randomInt(0x10000);
    const incoming = new IncomingMessage();
    const socket = connect({ host: server.address, port: server.port, noDelay: true });
    const settle = (result: Response | Failed) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(result);
    };
    const onAbort = () => settle(STOPPED);
    const timer = setTimeout(() => settle(timedOut(server)), timeout);
    signal.addEventListener('abort', onAbort);
    socket.on('error', (error) => settle(unreachable(server, errorCode(error) || error.message)));
    socket.on('end', () => settle(endedEarly(server, incoming.isEmpty)));
    socket.on('data', (chunk) => {
      const message = incoming.add(chunk);
      // No one else can write here: a message that answers something else is final.
      if (message !== undefined) settle(responseTo(question, id, message) ?? mismatched(server));
    });
    const query = encodeQuery(question, id, withEdns);
    socket.write(Buffer.concat([Buffer.of(query.length >> 8, query.length & 0xff), query]));
  });
}

function endedEarly(server: NameServer, isEmpty: boolean): Failed {
  return isEmpty
    ? unreachable(server, 'it closes the connection')
    : failed('malformed', `malformed answer from ${server.text}: the connection ends before it does`);
}

/** Collects a message, which has its length in two octets before it (RFC 1035, section 4.2.2). */
class IncomingMessage {
  readonly #chunks: Buffer[] = [];
  #received = 0;
  #end: number | undefined;

  get isEmpty(): boolean {
    return this.#received === 0;
  }

  /** The message, once it is complete. */
  add(chunk: Buffer): Buffer | undefined {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#received < 2) return undefined;
    this.#end ??= 2 + Buffer.concat(this.#chunks).readUInt16BE(0);
    return this.#received < this.#end ? undefined : Buffer.concat(this.#chunks).subarray(2, this.#end);
  }
}
