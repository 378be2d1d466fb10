import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { errorCode } from '../../model/errors.js';
import { type Failed, failed, STOPPED } from '../failure.js';
import { encodeQuery, type Question, type Response, responseTo } from './message.js';
import type { NameServer } from './name-server.js';

/** One query to a server. */
interface Exchange {
  readonly server: NameServer;
  readonly question: Question;
  readonly withEdns: boolean;
  /** How long all of it may take, in milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

type Result = Response | Failed;

/**
 * The first result counts: a response, an error, the timeout, or STOPPED by the signal.
 *
 * @param begin Its socket is closed by the signal that it is given. It returns what the timeout results in.
 */
async function firstResult(
  { timeout, signal }: Exchange,
  begin: (settle: (result: Result) => void, closing: AbortSignal) => () => Failed,
): Promise<Result> {
  if (signal.aborted) return STOPPED;
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Result>((settle) => {
      signal.addEventListener('abort', () => settle(STOPPED), { signal: closing.signal });
      const timedOut = begin(settle, closing.signal);
      // After the turn in which sockets are read: a busy process may not have read the response yet.
      timer = setTimeout(() => setImmediate(() => settle(timedOut())), timeout);
    });
  } finally {
    clearTimeout(timer);
    closing.abort();
  }
}

/**
 * Sends a query over UDP, from a port of its own that the system chooses: a forger must guess it, too
 * (RFC 5452, section 9.2). The socket is connected: the system drops what comes from elsewhere, and reports a closed
 * port.
 */
export function exchangeByUdp(exchange: Exchange): Promise<Result> {
  const { server, question, withEdns } = exchange;
  return firstResult(exchange, (settle, signal) => {
    const id = randomInt(0x10000);
    const socket = createSocket({ type: isIPv6(server.address) ? 'udp6' : 'udp4', signal });
    let isMismatched = false;
    const fail = (error: Error | null) => {
      if (error !== null) settle(unreachable(server, error));
    };
    socket.on('error', fail);
    socket.on('connect', () => socket.send(encodeQuery(question, id, withEdns), fail));
    socket.on('message', (message) => {
      const response = responseTo(question, id, message);
      if (response === undefined) isMismatched = true;
      else settle(response);
    });
    socket.connect(server.port, server.address);
    return () => (isMismatched ? mismatched(server) : late(server));
  });
}

/** Sends a query over a TCP connection of its own (RFC 7766). */
export function exchangeByTcp(exchange: Exchange): Promise<Result> {
  const { server, question, withEdns } = exchange;
  return firstResult(exchange, (settle, signal) => {
    const id = randomInt(0x10000);
    const socket = connect({ host: server.address, port: server.port, noDelay: true, signal });
    const chunks: Buffer[] = [];
    let [received, end] = [0, Number.POSITIVE_INFINITY];
    socket.on('error', (error) => settle(unreachable(server, error)));
    socket.on('end', () => settle(endedEarly(server, received)));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      received += chunk.length;
      // The message has its length in two octets before it (RFC 1035, section 4.2.2).
      if (received >= 2 && !Number.isFinite(end)) end = 2 + Buffer.concat(chunks).readUInt16BE(0);
      if (received < end) return;
      // Only the server can write here: a response to something else is final.
      const message = Buffer.concat(chunks).subarray(2, end);
      settle(responseTo(question, id, message) ?? mismatched(server));
    });
    const query = encodeQuery(question, id, withEdns);
    socket.write(Buffer.concat([Buffer.of(query.length >> 8, query.length & 0xff), query]));
    return () => late(server);
  });
}

function late({ text }: NameServer): Failed {
  return failed('timeout', `no answer from ${text} in time`);
}

function mismatched({ text }: NameServer): Failed {
  return failed('mismatched', `only answers to something else came from ${text}`);
}

function unreachable({ text }: NameServer, error: Error): Failed {
  return failed('unreachable', `${text} cannot be reached (${errorCode(error) || error.message})`);
}

function endedEarly({ text }: NameServer, received: number): Failed {
  return received === 0
    ? failed('unreachable', `${text} cannot be reached (it closes the connection)`)
    : failed('malformed', `malformed answer from ${text}: the connection ends before it does`);
}
