import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientKey } from '../rates/client-key.js';

/** An open connection. */
export interface Connection {
  /** The responses that are not closed, in their requests' order. */
  readonly pending: ReadonlySet<ServerResponse>;
  /** That to the latest request, closed or not; undefined before the first. */
  readonly latest: ServerResponse | undefined;
}

/** The open connections, by their sockets. */
export type Connections = ReadonlyMap<Duplex, Connection>;

interface TrackedConnection extends Connection {
  readonly socket: Socket;
  readonly pending: Set<ServerResponse>;
  latest: ServerResponse | undefined;
  /** How many octets had been received when the latest response was closed. */
  received: number;
}

/** What trackConnections() gives. */
export interface ConnectionTracker {
  readonly connections: Connections;
  /**
   * Handles a request once the response before it on its connection is closed: one packet may have thousands of
   * requests (RFC 9112, section 9.3.2), which would all be handled in one turn of the event loop.
   */
  inOrder(response: ServerResponse, handle: () => void): void;
  /**
   * Closes the other connections of a client that attacks, and those that it opens in the next ten seconds: what it has
   * sent already would be parsed otherwise. Not where clients may share an address.
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
/** How long, in milliseconds, a blocked client stays so. */
const BLOCKED_FOR = 10_000;
/** Requests of one connection that are not responded to. No client pipelines as many. */
const MAX_PENDING = 256;

/**
 * Tracks the connections of a server and the responses on them, and closes every response with its connection.
 * To be called before anything else listens to its requests.
 *
 * @param perClient How many connections a client may have: an idle one takes some 15 kB.
 */
export function trackConnections(server: Server, perClient: number): ConnectionTracker {
  const connections = new Map<Duplex, TrackedConnection>();
  const clients = new Map<string, Set<Socket>>();
  const blocked = new Set<string>();
  const previous = new WeakMap<ServerResponse, ServerResponse>();
  server.on('connection', (socket: Socket) => {
    const client = clientKey(undefined, socket.remoteAddress);
    const sockets = clients.get(client) ?? new Set();
    if (sockets.size >= perClient || blocked.has(client)) {
      socket.destroy();
      return;
    }
    clients.set(client, sockets.add(socket));
    const pending = new Set<ServerResponse>();
    connections.set(socket, { socket, pending, latest: undefined, received: 0 });
    socket.once('close', () => {
      connections.delete(socket);
      sockets.delete(socket);
      if (sockets.size === 0 && clients.get(client) === sockets) clients.delete(client);
    });
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket);
    if (connection === undefined || socket.destroyed) return;
    const { pending, latest } = connection;
    if (latest !== undefined && pending.has(latest)) previous.set(response, latest);
    pending.add(response);
    connection.latest = response;
    response.once('close', () => {
      pending.delete(response);
      connection.received = socket.bytesRead;
    });
    if (pending.size > MAX_PENDING) socket.destroy();
  });
  return {
    connections,
    inOrder(response, handle) {
      const before = previous.get(response);
      if (before === undefined) return handle();
      before.once('close', () =>
        setImmediate(() => {
          if (!response.req.socket.destroyed) handle();
        }),
      );
    },
    block(socket) {
      const client = clientKey(undefined, socket.remoteAddress);
      if (!Number.isFinite(perClient) || blocked.has(client)) return;
      blocked.add(client);
      setTimeout(() => blocked.delete(client), BLOCKED_FOR).unref();
      for (const other of clients.get(client) ?? []) if (other !== socket) other.destroy();
    },
    close: (limit) => closeGracefully(server, connections, limit),
  };
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
