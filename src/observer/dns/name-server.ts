import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { errorCode } from '../../model/errors.js';
import { CircuitBreaker } from '../circuit-breaker.js';
import { Limiter } from '../limiter.js';
import { type DnsAnswer, endpointText, type Failed, failed, STOPPED } from '../verdict.js';
import { readAnswer } from './evidence.js';
import { encodeQuery, isError, type Question, RCODES, type Response, responseTo } from './message.js';

export interface DnsServer {
  /** IPv4 or IPv6; never a name. */
  readonly address: string;
  readonly port: number;
}

export type NameServer = ReturnType<typeof createNameServer>;

/** With what all queries to it share. @param queriesAtOnce How many it may have in flight. */
export function createNameServer({ address, port }: DnsServer, queriesAtOnce: number) {
  return {
    address,
    port,
    /** As messages name it. */
    text: endpointText({ address, port }),
    limiter: new Limiter(queriesAtOnce),
    /** Open after one timeout: there are other servers to query. */
    breaker: new CircuitBreaker(1),
  };
}

interface ServerQuery {
  readonly server: NameServer;
  readonly question: Question;
  /** For all of it, in milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** Queries over UDP, without EDNS if the server does not know it, and over TCP if the response is truncated. */
export async function queryServer(query: ServerQuery): Promise<DnsAnswer> {
  const { server, question } = query;
  const sent = performance.now();
  let [withEdns, send] = [true, sendByUdp];
  for (;;) {
    const timeout = Math.max(Math.ceil(sent + query.timeout - performance.now()), 1);
    const result = await exchange({ ...query, timeout }, withEdns, send);
    if (result.kind === 'failed') {
      // A server that cannot be reached, or sends what is no response, counts as one that has timed out.
      if (result !== STOPPED) server.breaker.recordTimeout(sent);
      return result;
    }
    server.breaker.recordResponse();
    const { rcode, isTruncated } = result;
    // How servers respond that do not know EDNS (RFC 6891, section 7).
    if (withEdns && (rcode === RCODES.FORMERR || rcode === RCODES.NOTIMP)) withEdns = false;
    // Truncated errors stay errors over TCP.
    else if (send === sendByUdp && isTruncated && !isError(rcode)) send = sendByTcp;
    else return readAnswer(server.text, question, result);
  }
}

interface Exchange {
  readonly server: NameServer;
  readonly message: Buffer;
  /** Closes the socket. */
  readonly closing: AbortSignal;
  /** Takes a message that came: the first that is the response ends the exchange. */
  readonly receive: (message: Buffer) => void;
  /** Ends it, by default as if nothing more came in time. */
  readonly fail: (failure?: Failed) => void;
}

async function exchange(
  { server, question, timeout, signal }: ServerQuery,
  withEdns: boolean,
  send: (exchange: Exchange) => void,
): Promise<Response | Failed> {
  if (signal.aborted) return STOPPED;
  const id = randomInt(0x10000);
  let late = failed('timeout', `no answer from ${server.text} in time`);
  return new Promise((resolve) => {
    const closing = new AbortController();
    const settle = (result: Response | Failed) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      closing.abort();
      resolve(result);
    };
    const stop = () => settle(STOPPED);
    const fail = (failure = late) => settle(failure);
    signal.addEventListener('abort', stop);
    // After the turn in which sockets are read: a busy process may not have read the response yet.
    const timer = setTimeout(() => setImmediate(fail), timeout);
    const receive = (received: Buffer) => {
      late = failed('mismatched', `only answers to something else came from ${server.text}`);
      const response = responseTo(question, id, received);
      if (response !== undefined) settle(response);
    };
    send({ server, message: encodeQuery(question, id, withEdns), closing: closing.signal, receive, fail });
  });
}

function unreachable({ text }: NameServer, error: Error): Failed {
  return failed('unreachable', `${text} cannot be reached (${errorCode(error) || error.message})`);
}

/**
 * From a port that the system chooses: a forger must guess it, too (RFC 5452, section 9.2). The socket is
 * connected: the system drops what comes from elsewhere, and reports a closed port.
 */
function sendByUdp({ server, message, closing, receive, fail }: Exchange): void {
  const socket = createSocket({ type: isIPv6(server.address) ? 'udp6' : 'udp4', signal: closing });
  const failOn = (error: Error | null) => {
    if (error !== null) fail(unreachable(server, error));
  };
  socket.on('error', failOn);
  socket.on('connect', () => socket.send(message, failOn));
  socket.on('message', receive);
  socket.connect(server.port, server.address);
}

function sendByTcp({ server, message, closing, receive, fail }: Exchange): void {
  const socket = connect({ host: server.address, port: server.port, noDelay: true, signal: closing });
  const chunks: Buffer[] = [];
  let [received, end] = [0, Number.POSITIVE_INFINITY];
  socket.on('error', (error) => fail(unreachable(server, error)));
  socket.on('end', () => {
    if (received === 0) fail(unreachable(server, new Error('it closes the connection')));
    else fail(failed('malformed', `the response of ${server.text} ends before it is complete`));
  });
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    received += chunk.length;
    // The message has its length in two octets before it (RFC 1035, section 4.2.2).
    if (received >= 2 && !Number.isFinite(end)) end = 2 + Buffer.concat(chunks).readUInt16BE(0);
    if (received < end) return;
    receive(Buffer.concat(chunks).subarray(2, end));
    // Only the server can write here: a response to something else is final.
    fail();
  });
  socket.write(Buffer.concat([Buffer.of(message.length >> 8, message.length & 0xff), message]));
}
