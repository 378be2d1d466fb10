import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { errorText, failed, STOPPED } from './failed.js';
import type { NameServer } from './name-server.js';
import { encodeQuery, type Question } from './question.js';
import { mismatched, type Reply, replyIn, timedOut, unreachable } from './reply.js';
import type { Stop } from './stop.js';

/**
 * Sends a question to a server over a TCP connection of its own (RFC 7766), and closes it.
 *
 * @param timeout How long all of it may take, in milliseconds.
 * @param stop Settles it as stopped.
 */
export function exchangeByTcp(
  server: NameServer,
  question: Question,
  withEdns: boolean,
  timeout: number,
  stop: Stop,
): Promise<Reply> {
  if (stop.isStopped) return Promise.resolve(STOPPED);
  return new Promise((resolve) => {
    const id = randomInt(0x10000);
    const incoming = new IncomingMessage();
    const socket = connect({ host: server.address, port: server.port, noDelay: true });
    const settle = (reply: Reply) => {
      clearTimeout(timer);
      stop.forget(giveUp);
      socket.destroy();
      resolve(reply);
    };
    const giveUp = () => settle(STOPPED);
    const timer = setTimeout(() => settle(timedOut(server)), timeout);
    stop.listen(giveUp);
    socket.on('error', (error) => settle(unreachable(server, errorText(error))));
    socket.on('end', () => settle(endedEarly(server, incoming.isEmpty)));
    socket.on('data', (chunk) => {
      const message = incoming.add(chunk);
      // Nobody else can write here: what answers something else is not waited on.
      if (message !== undefined) settle(replyIn(message, question, id) ?? mismatched(server));
    });
    const query = encodeQuery(question, id, withEdns);
    socket.write(Buffer.concat([Buffer.of(query.length >> 8, query.length & 0xff), query]));
  });
}

function endedEarly(server: NameServer, isEmpty: boolean): Reply {
  return isEmpty
    ? unreachable(server, 'it closes the connection')
    : failed('malformed', `malformed answer from ${server.text}: the connection ends before it does`);
}

/** Gathers a message, which has its length in two octets before it (RFC 1035, section 4.2.2). */
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
