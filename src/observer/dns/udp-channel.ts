import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { errorText, STOPPED } from './failed.js';
import { hasQuestion } from './header.js';
import type { NameServer } from './name-server.js';
import { encodeQuery, type Question } from './question.js';
import { mismatched, type Reply, replyIn, timedOut, unreachable } from './reply.js';

/** A question that has been sent, or will be as soon as the socket is connected. */
interface InFlight {
  readonly question: Question;
  readonly query: Buffer;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (reply: Reply) => void;
  /** Whether a message has come that may have been meant for this question and was no reply to it. */
  mismatched: boolean;
}

/**
 * Sends questions to one server over UDP, from a port of its own that the system chooses. The socket is
 * connected: the system drops what comes from elsewhere, and tells when the server's port is closed.
 */
export class UdpChannel {
  readonly #server: NameServer;
  readonly #inFlight = new Map<number, InFlight>();
  /** The ids of questions that are settled: what comes late for them, or twice, is no sign of anything. */
  readonly #past = new Set<number>();
  #socket: Socket | undefined;
  #isConnected = false;
  #isClosed = false;

  constructor(server: NameServer) {
    this.#server = server;
  }

  /** @param timeout How long to wait for the reply, in milliseconds. */
  exchange(question: Question, withEdns: boolean, timeout: number): Promise<Reply> {
    if (this.#isClosed) return Promise.resolve(STOPPED);
    return new Promise((resolve) => {
      const id = this.#unusedId();
      const query = encodeQuery(question, id, withEdns);
      // After the turn in which sockets are read: the reply may be there, and we may have been too busy.
      const timer = setTimeout(() => setImmediate(() => this.#giveUp(id)), timeout);
      this.#inFlight.set(id, { question, query, timer, resolve, mismatched: false });
      this.#socket ??= this.#open();
      if (this.#isConnected) this.#send(this.#socket, query);
    });
  }

  /** Settles what is in flight as stopped, and closes the socket. */
  close(): void {
    this.#isClosed = true;
    this.#settleAll(STOPPED);
    this.#drop();
  }

  /** So few are taken that a free one is soon found. */
  #unusedId(): number {
    for (;;) {
      const id = randomInt(0x10000);
      if (!this.#inFlight.has(id) && !this.#past.has(id)) return id;
    }
  }

  #open(): Socket {
    const { address, port } = this.#server;
    const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4' });
    socket.on('message', (message) => this.#receive(message));
    socket.on('error', (error) => this.#fail(socket, error));
    socket.on('connect', () => this.#sendAll(socket));
    socket.connect(port, address);
    return socket;
  }

  #sendAll(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#isConnected = true;
    for (const { query } of this.#inFlight.values()) this.#send(socket, query);
  }

  #send(socket: Socket, query: Buffer): void {
    socket.send(query, (error) => {
      if (error !== null) this.#fail(socket, error);
    });
  }

  #receive(message: Buffer): void {
    const id = message.length < 2 ? -1 : message.readUInt16BE(0);
    if (this.#past.has(id)) return;
    const inFlight = this.#inFlight.get(id);
    const reply = inFlight && replyIn(message, inFlight.question, id);
    if (reply === undefined) this.#noteMismatch(message, inFlight);
    else this.#settle(id, reply);
  }

  /** A message with a wrong id is taken for the reply to the question in it, or else to any question. */
  #noteMismatch(message: Buffer, sameId: InFlight | undefined): void {
    const all = [...this.#inFlight.values()];
    const meant =
      sameId === undefined ? all.filter(({ question }) => hasQuestion(question, message)) : [sameId];
    for (const inFlight of meant.length === 0 ? all : meant) inFlight.mismatched = true;
  }

  #giveUp(id: number): void {
    const inFlight = this.#inFlight.get(id);
    this.#settle(id, inFlight?.mismatched === true ? mismatched(this.#server) : timedOut(this.#server));
  }

  /** The system does not say which question met the error: it holds for all of them. */
  #fail(socket: Socket, error: Error): void {
    if (socket !== this.#socket) return;
    this.#drop();
    this.#settleAll(unreachable(this.#server, errorText(error)));
  }

  #settleAll(reply: Reply): void {
    for (const id of this.#inFlight.keys()) this.#settle(id, reply);
  }

  #settle(id: number, reply: Reply): void {
    const inFlight = this.#inFlight.get(id);
    this.#inFlight.delete(id);
    this.#past.add(id);
    clearTimeout(inFlight?.timer);
    inFlight?.resolve(reply);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isConnected = false;
    socket?.close();
  }
}
