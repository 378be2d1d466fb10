import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How often, in milliseconds, connections are looked for that have become idle. */
const SWEEP_EVERY = 50;
/** How long, in milliseconds, a request may take to arrive whose head was under way when the draining began. */
const LAST_HEADS = 1000;

/**
 * Follows what each connection of a server is at, so that it can be closed without cutting a request off.
 * To be called before anything answers: what it sets is set before a response begins.
 *
 * @returns closes the server: no more connections are taken, those without a request are closed at once,
 * and each of the others after its next response, which says so (`Connection: close`, RFC 9112, section
 * 9.6). What is not over by then is cut off after `limit` milliseconds.
 */
export function drainable(server: Server): (limit: number) => Promise<void> {
  const connections = new Map<Socket, ServerResponse | null>();
  let draining = false;
  server.on('connection', (socket: Socket) => {
    connections.set(socket, null);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (draining) closeAfter(response, connections.get(socket) ?? null);
    connections.set(socket, response);
  });
  return async (limit) => {
    draining = true;
    const closed = once(server, 'close');
    server.close();
    for (const [socket, response] of connections) {
      // Node.js takes a connection that has never sent anything for one with a request under way.
      if (response === null && socket.bytesRead === 0) socket.destroy();
      else if (response !== null) closeAfter(response, null);
    }
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_EVERY);
    const heads = setTimeout(() => closeUnasked(connections), LAST_HEADS);
    const end = setTimeout(() => server.closeAllConnections(), limit);
    await closed;
    clearInterval(sweep);
    clearTimeout(heads);
    clearTimeout(end);
  };
}

/** Of several requests on one connection, answered in their order, only the last response may close it. */
function closeAfter(response: ServerResponse, before: ServerResponse | null): void {
  if (before?.headersSent === false) before.removeHeader('connection');
  if (!response.headersSent) response.setHeader('connection', 'close');
}

/** Closes what has no request under way whose head has arrived. */
function closeUnasked(connections: ReadonlyMap<Socket, ServerResponse | null>): void {
  for (const [socket, response] of connections) {
    if (response === null || response.writableFinished) socket.destroy();
  }
}
