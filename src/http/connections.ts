import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientKey } from '../limits/client-key.js';

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
  readonly pending: Set<ServerResponse>;
  latest: ServerResponse | undefined;
  /** How many octets had been received when the latest response was closed. */
  received: number;
}

/** What trackConnections() gives. */
export interface ConnectionTracker {
  readonly connections: Connections;
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

/**
 * Tracks the connections of a server and the responses on them, and closes every response with its connection.
 * To be called before anything else listens to its requests.
 *
 * @param perClient How many connections one address, or one network of IPv6, may have. Infinity: clients may share an address.
 */
export function trackConnections(server: Server, perClient: number): ConnectionTracker {
  const connections = new Map<Duplex, TrackedConnection>();
  const clients = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const key = clientKey(undefined, socket.remoteAddress);
    const ofClient = clients.get(key) ?? 0;
    if (ofClient >= perClient) {
      socket.destroy();
      return;
    }
    clients.set(key, ofClient + 1);
    connections.set(socket, { socket, pending: new Set(), latest: undefined, received: 0 });
    socket.once('close', () => {
      connections.delete(socket);
      const left = (clients.get(key) ?? 0) - 1;
      if (left > 0) clients.set(key, left);
      else clients.delete(key);
    });
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined || socket.destroyed) return;
    const { pending } = connection;
    pending.add(response);
    connection.latest = response;
    const forget = () => {
      if (connection.latest === response) connection.latest = undefined;
    };
    response.once('close', () => {
      pending.delete(response);
      connection.received = socket.bytesRead;
      if (request.complete) forget();
      else request.once('close', forget);
    });
  });
  return { connections, close: (limit) => closeGracefully(server, connections, limit) };
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
