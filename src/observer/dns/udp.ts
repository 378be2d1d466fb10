import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { errorCode, type Failed, STOPPED } from '../failure.js';
import { encodeQuery, hasQuestion, type Question, type Response, responseTo } from './message.js';
import { mismatched, type NameServer, timedOut, unreachable } from './name-server.js';

/** A query that has been sent, or will be as soon as the socket is connected. */
interface InFlight {
  readonly question: Question;
  readonly query: Buffer;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (result: Response | Failed) => void;
  /** Whether a message came that may have been meant for this query and was no response to it. */
  mismatched: boolean;
}

/**
 * Sends queries to one server over UDP, from a port of its own that the system chooses. The socket is
 * connected: the system drops what comes from elsewhere, and reports a closed port.
 */
export class UdpChannel {
  readonly #server: NameServer;
  readonly #inFlight = new Map<number, InFlight>();
  /** The ids of settled queries: what comes late for them, or twice, is ignored. */
  readonly #past = new Set<number>();
  #socket: Socket | undefined;
  #isConnected = false;
  #isClosed = false;

  constructor(server: NameServer) {
    this.#server = server;
  }

  /** @param timeout How long to wait for the response, in milliseconds. */
  exchange(question: Question, withEdns: boolean, timeout: number): Promise<Response | Failed> {
    if (this.#isClosed) return Promise.resolve(STOPPED);
    return new Promise((resolve) => {
      const id = this.#unusedId();
      const query = encodeQuery(question, id, withEdns);
      // After the turn in which sockets are read: a busy process may not have read the response yet.
      const timer = setTimeout(() => setImmediate(() => this.#timeOut(id)), timeout);
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

  /** Few are used: a free one is soon found. */
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
    const response = inFlight && responseTo(inFlight.question, id, message);
    if (response === undefined) this.#markMismatched(message, inFlight);
    else this.#settle(id, response);
  }

  /** A message with a wrong id is taken for the response to the question in it, or else to any. */
  #markMismatched(message: Buffer, sameId: InFlight | undefined): void {
    const all = [...this.#inFlight.values()];
    const meant =
      sameId === undefined ? all.filter(({ question }) => hasQuestion(question, message)) : [sameId];
    for (const inFlight of meant.length === 0 ? all : meant) inFlight.mismatched = true;
  }

  #timeOut(id: number): void {
    const inFlight = this.#inFlight.get(id);
    this.#settle(id, inFlight?.mismatched === true ? mismatched(this.#server) : timedOut(this.#server));
  }

  /** The system does not say which query met the error: it holds for all of them. */
  #fail(socket: Socket, error: Error): void {
    if (socket !== this.#socket) return;
    this.#drop();
    this.#settleAll(unreachable(this.#server, errorCode(error) || error.message));
  }

  #settleAll(result: Failed): void {
    for (const id of this.#inFlight.keys()) this.#settle(id, result);
  }

  #settle(id: number, result: Response | Failed): void {
    const inFlight = this.#inFlight.get(id);
    this.#inFlight.delete(id);
    this.#past.add(id);
    clearTimeout(inFlight?.timer);
    inFlight?.resolve(result);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isConnected = false;
    socket?.close();
  }
}
