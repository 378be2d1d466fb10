import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientKey } from '../limits/client-key.js';

/** The open connections, each with its exchanges in order: response not closed, or request not complete. */
export type Connections = ReadonlyMap<Duplex, ReadonlySet<ServerResponse>>;

/**
 * To be called before all that listens to requests.
 *
 * @param perClient How many one address, or network of IPv6, may have. Infinity: clients may share an address.
 */
export function trackConnections(server: Server, perClient: number) {
  const connections = new Map<Duplex, Set<ServerResponse>>();
  const counts = new Map<string, number>();
  let closing = false;
  server.on('connection', (socket: Socket) => {
    const client = clientKey(undefined, socket.remoteAddress);
    const others = counts.get(client) ?? 0;
    if (others >= perClient) return socket.destroy();
    counts.set(client, others + 1);
    const exchanges = new Set<ServerResponse>();
    connections.set(socket, exchanges);
    return socket.once('close', () => {
      connections.delete(socket);
      counts.set(client, (counts.get(client) ?? 1) - 1);
      if (counts.get(client) === 0) counts.delete(client);
      // Node.js closes that which had the socket, and none that waited behind it.
      for (const response of exchanges)
        if (response.socket === null && !response.closed) response.emit('close');
    });
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const exchanges = connections.get(socket);
    if (exchanges === undefined) return;
    exchanges.add(response);
    if (closing) response.setHeader('connection', 'close');
    response.once('close', () => {
      if (closing && lastOf(exchanges) === undefined) socket.destroySoon();
      if (request.complete) exchanges.delete(response);
      else request.once('close', () => exchanges.delete(response));
    });
  });
  return {
    connections,
    /**
     * Closes the server without cutting a response off: connections without one are closed at once, each of the
     * others after its last, which says so (`Connection: close`, RFC 9112, section 9.6).
     *
     * @param limit After how many milliseconds what is left is cut off.
     */
    async close(limit: number): Promise<void> {
      closing = true;
      const closed = once(server, 'close');
      // The close() of http.Server would also cut responses off that were handed over and have not left yet.
      TcpServer.prototype.close.call(server);
      for (const [socket, exchanges] of connections) {
        const last = lastOf(exchanges);
        if (last === undefined) socket.destroy();
        else if (!last.headersSent) last.setHeader('connection', 'close');
      }
      const timer = setTimeout(() => server.closeAllConnections(), limit);
      await closed;
      clearTimeout(timer);
    },
  };
}

function lastOf(exchanges: ReadonlySet<ServerResponse>): ServerResponse | undefined {
  return [...exchanges].findLast(({ writableFinished }) => !writableFinished);
}
