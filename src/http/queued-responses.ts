import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Sees to it that every response is closed with its connection. Of several requests that are sent at once
 * on one connection, Node.js gives the socket to the first response, and up to version 22 never tells the
 * others, which wait in its queue, that the client has gone.
 */
export function closeQueuedResponses(server: Server): void {
  const queues = new WeakMap<Socket, Set<ServerResponse>>();
  const follow = ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (response.socket !== null) return;
    const queue = queues.get(socket) ?? newQueue(socket);
    queues.set(socket, queue.add(response));
    response.once('close', () => queue.delete(response));
  };
  server.on('request', follow);
  server.on('checkExpectation', follow);
}

function newQueue(socket: Socket): Set<ServerResponse> {
  const queue = new Set<ServerResponse>();
  socket.once('close', () => {
    const unsent = [...queue].filter((response) => response.socket === null);
    for (const response of unsent) response.destroy();
    // Node.js 24 closes them itself, before this comes.
    setImmediate(() => {
      for (const response of unsent) if (queue.has(response)) response.emit('close');
    });
  });
  return queue;
}
