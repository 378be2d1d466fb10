import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** What a connection is at. */
export interface Connection {
  readonly socket: Socket;
  /** The responses that are not over, in their requests' order. */
  readonly unanswered: ReadonlySet<ServerResponse>;
  /** That to the latest request, over or not; undefined before the first. */
  readonly latest: ServerResponse | undefined;
}

/** The connections that are open now, by their sockets. */
export type Connections = ReadonlyMap<Duplex, Connection>;

interface FollowedConnection extends Connection {
  readonly unanswered: Set<ServerResponse>;
  latest: ServerResponse | undefined;
}

/**
 * Follows what each connection of a server is at, and sees to it that every response is closed with its
 * connection. To be called before anything answers or looks at what is followed.
 */
export function followConnections(server: Server): Connections {
  const connections = new Map<Duplex, FollowedConnection>();
  server.on('connection', (socket: Socket) => {
    const unanswered = new Set<ServerResponse>();
    connections.set(socket, { socket, unanswered, latest: undefined });
    socket.once('close', () => {
      connections.delete(socket);
      closeQueued(unanswered);
    });
  });
  const follow = ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.unanswered.add(response);
    connection.latest = response;
    response.once('close', () => connection.unanswered.delete(response));
  };
  server.on('request', follow);
  server.on('checkExpectation', follow);
  return connections;
}

/**
 * Closes the responses that have waited for others. Of several requests that are sent at once on one
 * connection, Node.js gives the socket to the first response, and up to version 22 never tells the others,
 * which wait in its queue, that the client has gone.
 */
function closeQueued(unanswered: ReadonlySet<ServerResponse>): void {
  const unsent = [...unanswered].filter((response) => response.socket === null);
  for (const response of unsent) response.destroy();
  // Node.js 24 closes them itself, before this comes.
  setImmediate(() => {
    for (const response of unsent) if (unanswered.has(response)) response.emit('close');
  });
}
