import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How often, in milliseconds, connections are looked for that have become idle. */
const SWEEP_EVERY = 50;
/** How long, in milliseconds, a request may take to arrive whose head was under way when the draining began. */
const LAST_HEADS = 1000;

/** Each connection, with its latest response. */
type Connections = ReadonlyMap<Socket, ServerResponse | null>;

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
  const follow = ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (draining) closeAfter(response, connections.get(socket) ?? null);
    connections.set(socket, response);
  };
  server.on('request', follow);
  server.on('checkExpectation', follow);
  spareUnsent(server, connections);
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

/**
 * Keeps connections open whose response has yet to leave, whenever the idle ones are closed: Node.js takes a
 * response for over once all of it was handed over, and its server.close() closes the idle ones, too. Which
 * connections have half a head is known to Node.js alone, so the choice is left to it otherwise.
 */
function spareUnsent(server: Server, connections: Connections): void {
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const spared = [...connections].filter(([, response]) => response?.writableFinished === false);
    for (const [socket] of spared) socket.destroy = () => socket;
    closeIdle();
    for (const [socket] of spared) Reflect.deleteProperty(socket, 'destroy');
  };
}

/** Of several requests on one connection, answered in their order, only the last response may close it. */
function closeAfter(response: ServerResponse, before: ServerResponse | null): void {
  if (before?.headersSent === false) before.removeHeader('connection');
  if (!response.headersSent) response.setHeader('connection', 'close');
}

/** Closes what has no request under way whose head has arrived. */
function closeUnasked(connections: Connections): void {
  for (const [socket, response] of connections) {
    if (response === null || response.writableFinished) socket.destroy();
  }
}
