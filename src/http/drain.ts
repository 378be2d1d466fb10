import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Connections } from './connections.js';

/** How often, in milliseconds, connections are looked for that have become idle. */
const SWEEP_EVERY = 50;
/** How long, in milliseconds, a request may take to arrive whose head was under way when the draining began. */
const LAST_HEADS = 1000;

/**
 * Makes a server that can be closed without cutting a request off. To be called before anything answers: what
 * it sets is set before a response begins.
 *
 * @returns closes the server: no more connections are taken, those without a request are closed at once,
 * and each of the others after its next response, which says so (`Connection: close`, RFC 9112, section
 * 9.6). What is not over by then is cut off after `limit` milliseconds.
 */
export function drainable(server: Server, connections: Connections): (limit: number) => Promise<void> {
  let draining = false;
  const announce = ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (!draining) return;
    const before = [...(connections.get(socket)?.unanswered ?? [])].at(-2);
    closeAfter(response, before);
  };
  server.on('request', announce);
  server.on('checkExpectation', announce);
  spareUnsent(server, connections);
  return async (limit) => {
    draining = true;
    const closed = once(server, 'close');
    server.close();
    for (const { socket, latest } of connections.values()) {
      // Node.js takes a connection that has never sent anything for one with a request under way.
      if (latest === undefined && socket.bytesRead === 0) socket.destroy();
      else if (latest !== undefined) closeAfter(latest, undefined);
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
    const unsent = [...connections.values()].filter(({ latest }) => latest?.writableFinished === false);
    const spared = unsent.map(({ socket }) => socket);
    for (const socket of spared) socket.destroy = () => socket;
    closeIdle();
    for (const socket of spared) Reflect.deleteProperty(socket, 'destroy');
  };
}

/** Of several requests on one connection, answered in their order, only the last response may close it. */
function closeAfter(response: ServerResponse, before: ServerResponse | undefined): void {
  if (before?.headersSent === false) before.removeHeader('connection');
  if (!response.headersSent) response.setHeader('connection', 'close');
}

/** Closes what has no request under way whose head has arrived. */
function closeUnasked(connections: Connections): void {
  for (const { socket, latest } of connections.values()) {
    if (latest === undefined || latest.writableFinished) socket.destroy();
  }
}
