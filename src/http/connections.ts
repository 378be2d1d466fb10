import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientKey } from '../rates/client-key.js';
import { fairTurns } from '../rates/fair-turns.js';

/** An open connection. */
export interface Connection {
  /** The responses that are not closed, in their requests' order. */
  readonly pending: ReadonlySet<ServerResponse>;
  /** That to the latest request, closed or not, while the request is incomplete or the response is not closed. */
  readonly latest: ServerResponse | undefined;
}

/** The open connections, by their sockets. */
export type Connections = ReadonlyMap<Duplex, Connection>;

interface TrackedConnection extends Connection {
  readonly socket: Socket;
  readonly client: Client;
  readonly pending: Set<ServerResponse>;
  latest: ServerResponse | undefined;
  /** What waits for the request before it. */
  readonly waiting: Waiting[];
  /** The response of the request that is handled, or whose turn comes next. */
  current: ServerResponse | undefined;
  /** Octets of the requests that are incomplete or not responded to: Node.js and the response keep their header sections. */
  held: number;
  /** How many octets had been received when the latest response was closed. */
  received: number;
}

/** Whoever has one address, or one network of IPv6. */
interface Client {
  readonly key: string;
  readonly sockets: Set<Socket>;
  /** How many more it has, from which nothing is read. */
  unread: number;
  /** Of requests on all its connections, how many wait for the one before them. */
  waiting: number;
  /** The sum of its connections' octets. */
  held: number;
}

interface Waiting {
  readonly response: ServerResponse;
  /** Whose turn of the event loop it takes: its client's, by the address, since its token is not examined yet. */
  readonly turnOf: string | (() => string);
  handle(): void;
}

/** What trackConnections() gives. */
export interface ConnectionTracker {
  readonly connections: Connections;
  /**
   * Handles a request once the response before it on its connection is closed, and in a turn of the event loop that is
   * divided between clients: one packet may have thousands of requests (RFC 9112, section 9.3.2), and many come at once.
   */
  inOrder(response: ServerResponse, handle: () => void): void;
  /**
   * Closes the connections of a client that attacks, and reads nothing from those that it opens in the next ten seconds:
   * what it has sent already would be parsed otherwise. Not where clients may share an address.
   *
   * @param socket On which it attacks; it stays open.
   */
  block(socket: Socket): void;
  /**
   * Closes the server without cutting a request off: connections without a request are closed at once, each of
   * the others after its last response, which says so (`Connection: close`, RFC 9112, section 9.6).
   *
   * @param limit After how many milliseconds what is left is cut off.
   */
  close(limit: number): Promise<void>;
}

/** How often, in milliseconds, idle connections of a closing server are looked for. */
const SWEEP_EVERY = 50;
/** How long, in milliseconds, the rest of a header section may take to arrive at a closing server. */
const LAST_HEADERS = 1_000;
/** How long, in milliseconds, a blocked client stays so, and one connection too many is open. */
const BLOCKED_FOR = 10_000;
/** How many connections too many of a client are open; others are closed at once. Each takes some 10 kB. */
const MAX_UNREAD = 1_000;
/** How many requests of a client may wait for those before them. No client pipelines as many. */
const MAX_PIPELINED = 100;
/** In octets, what the header sections of a client's requests may take together: 250 connections with 8 kB each. */
const MAX_HELD_OF_CLIENT = 2 * 1024 ** 2;
/** What the name or the value of a header field takes besides its characters, in octets. */
const OCTETS_OF_STRING = 50;
/** The part of a turn that handling a request takes, in milliseconds. */
const MILLISECONDS_OF_REQUEST = 0.5;

/**
 * Tracks the connections of a server and the responses on them, and closes every response with its connection.
 * To be called before anything else listens to its requests.
 *
 * @param perClient How many connections a client may have: an idle one takes some 15 kB. Infinity: clients may share an
 *   address.
 * @param clientOf The key of the client of a request; absent: that of the connection's address.
 */
export function trackConnections(
  server: Server,
  perClient: number,
  clientOf?: (request: IncomingMessage) => string,
): ConnectionTracker {
  const connections = new Map<Duplex, TrackedConnection>();
  const clients = new Map<string, Client>();
  const blocked = new Set<string>();
  const unread = new Set<Socket>();
  const sharesAddress = !Number.isFinite(perClient);
  server.on('connection', (socket: Socket) => {
    fairTurns.accepted();
    const key = clientKey(undefined, socket.remoteAddress);
    const client = clients.get(key) ?? { key, sockets: new Set(), unread: 0, waiting: 0, held: 0 };
    if (client.sockets.size >= perClient) {
      closeLater(socket, client, unread);
      return;
    }
    if (blocked.has(key)) leaveUnread(socket);
    clients.set(key, client);
    client.sockets.add(socket);
    const waiting: Waiting[] = [];
    connections.set(socket, {
      ...{ socket, client, waiting, current: undefined },
      ...{ pending: new Set(), latest: undefined, held: 0, received: 0 },
    });
    socket.once('close', () => {
      client.held -= connections.get(socket)?.held ?? 0;
      client.waiting -= waiting.splice(0).length;
      connections.delete(socket);
      client.sockets.delete(socket);
      if (client.sockets.size === 0 && clients.get(key) === client) clients.delete(key);
    });
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined || socket.destroyed) return;
    const { client, pending } = connection;
    const octets = octetsOfHeaderSection(request);
    const count = (more: number) => {
      if (!connections.has(socket)) return;
      connection.held += more;
      client.held += more;
    };
    const forget = () => {
      count(-octets);
      if (connection.latest === response) connection.latest = undefined;
    };
    count(octets);
    pending.add(response);
    connection.latest = response;
    response.once('close', () => {
      pending.delete(response);
      connection.received = socket.bytesRead;
      // What came in the same packet, and is parsed after the response is closed, waits for the next turn.
      if (connection.current === response) setImmediate(handleNext, connection);
      if (request.complete) forget();
      else request.once('close', forget);
    });
    if (client.held <= MAX_HELD_OF_CLIENT) return;
    block(socket);
    socket.destroy();
  });
  const block = (socket: Socket) => {
    const client = connections.get(socket)?.client;
    if (sharesAddress || client === undefined || blocked.has(client.key)) return;
    blocked.add(client.key);
    setTimeout(() => {
      blocked.delete(client.key);
      for (const other of clients.get(client.key)?.sockets ?? []) other.destroy();
    }, BLOCKED_FOR).unref();
    for (const other of client.sockets) if (other !== socket) other.destroy();
  };
  return {
    connections,
    inOrder(response, handle) {
      const { socket } = response.req;
      const connection = connections.get(socket);
      if (connection === undefined) return;
      const { client, waiting, current } = connection;
      const turnOf = clientOf === undefined ? client.key : () => clientOf(response.req);
      waiting.push({ response, turnOf, handle });
      client.waiting += 1;
      if (current === undefined) handleNext(connection);
      if ((sharesAddress ? waiting.length : client.waiting) <= MAX_PIPELINED) return;
      block(socket);
      socket.destroy();
    },
    block,
    close: (limit) => {
      for (const socket of unread) socket.destroy();
      return closeGracefully(server, connections, limit);
    },
  };
}

/** Closes a connection after a while: closed at once, it would be opened again. */
function closeLater(socket: Socket, client: Client, unread: Set<Socket>): void {
  if (client.unread >= MAX_UNREAD) {
    socket.destroy();
    return;
  }
  client.unread += 1;
  unread.add(socket);
  leaveUnread(socket);
  const timer = setTimeout(() => socket.destroy(), BLOCKED_FOR).unref();
  socket.once('close', () => {
    clearTimeout(timer);
    client.unread -= 1;
    unread.delete(socket);
  });
}

/** Reads nothing from a new connection. The server resumes it in the next tick. */
function leaveUnread(socket: Socket): void {
  process.nextTick(() => socket.pause());
}

function octetsOfHeaderSection({ url = '', rawHeaders }: IncomingMessage): number {
  let octets = url.length;
  for (const text of rawHeaders) octets += text.length + OCTETS_OF_STRING;
  return octets;
}

/** Handles the next request of a connection, in its turn, and those after it. Without promises: each request passes here. */
function handleNext(connection: TrackedConnection): void {
  const { client, waiting, socket } = connection;
  const next = waiting.shift();
  connection.current = next?.response;
  if (next === undefined) return;
  client.waiting -= 1;
  const begin = () => {
    if (!socket.destroyed) next.handle();
  };
  const turn = fairTurns.take(next.turnOf, MILLISECONDS_OF_REQUEST);
  if (turn === undefined) begin();
  else void turn.then(begin);
}

async function closeGracefully(
  server: Server,
  connections: ReadonlyMap<Duplex, TrackedConnection>,
  limit: number,
): Promise<void> {
  const closed = once(server, 'close');
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    announceClose(response, [...(connections.get(socket)?.pending ?? [])].at(-1));
  });
  for (const { pending } of connections.values()) announceClose([...pending].at(-1));
  const closeUnless = (isBusy: (connection: TrackedConnection) => boolean) => {
    for (const each of connections.values())
      if (each.pending.size === 0 && !isBusy(each)) each.socket.destroy();
  };
  // The close() of http.Server would also cut responses off that were handed over and have not left yet.
  TcpServer.prototype.close.call(server);
  const closeIdle = () => closeUnless(({ socket, received }) => socket.bytesRead > received);
  closeIdle();
  const timers = [
    setInterval(closeIdle, SWEEP_EVERY),
    setTimeout(() => closeUnless(() => false), LAST_HEADERS),
    setTimeout(() => server.closeAllConnections(), limit),
  ];
  await closed;
  for (const timer of timers) clearTimeout(timer);
}

/** Of the responses to pipelined requests, only the last may close the connection. */
function announceClose(response: ServerResponse | undefined, before?: ServerResponse): void {
  if (before?.headersSent === false) before.removeHeader('connection');
  if (response?.headersSent === false) response.setHeader('connection', 'close');
}
