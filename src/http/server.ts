import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientKey } from '../limits/client-key.js';
import { errorCode, OperationError } from '../model/errors.js';
import {
  handleClientErrors,
  MAX_HEADER_FIELDS,
  type RejectionObserver,
  rejectRequest,
} from './client-errors.js';

/** How long a client may take, in milliseconds: enough for a distant one on a slow line. */
export const TIME_LIMITS = {
  /** From the connection, or the request's first byte, to the end of its header section. */
  header: 10_000,
  /** From the same to the end of its body. */
  request: 30_000,
  /** Between two requests: longer than usual proxies (60 s), so that none sends one as it is being closed. */
  idle: 65_000,
  /** Without a byte in either direction. */
  silence: 60_000,
  /** How often the first two are checked. */
  checkEvery: 1_000,
};

export type TimeLimits = Readonly<typeof TIME_LIMITS>;

export interface ListenOptions extends RejectionObserver {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly timeLimits?: TimeLimits | undefined;
  /** How long, in milliseconds, requests in progress may take once the server is closing; 10,000 if absent. */
  readonly lastRequests?: number | undefined;
  /** How many connections one address may have; 250 if absent. */
  readonly connectionsPerClient?: number | undefined;
  /** The settings that host and port come from, for errors; HOST and PORT if absent. */
  readonly settings?: typeof SETTINGS | undefined;
}

export type HttpServer = Awaited<ReturnType<typeof startHttpServer>>;

const SETTINGS = { host: 'HOST', port: 'PORT' };

/** @throws OperationError, one line that names the setting, if it cannot listen there. */
export async function startHttpServer(listener: RequestListener, options: ListenOptions) {
  const { host, port, timeLimits = TIME_LIMITS, lastRequests = 10_000, connectionsPerClient = 250 } = options;
  const server = createServer({
    headersTimeout: timeLimits.header,
    requestTimeout: timeLimits.request,
    keepAliveTimeout: timeLimits.idle,
    connectionsCheckingInterval: timeLimits.checkEvery,
    // beginResponses() rejects what has none, with the body that all errors have.
    requireHostHeader: false,
  });
  // Node.js 20 drops the fields beyond without an error, and they must not count as absent: one more than
  // allowed shows that there were too many.
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  server.setTimeout(timeLimits.silence);
  // As nginx has it (keepalive_requests): what is pipelined behind the last gets 503.
  server.maxRequestsPerSocket = 1_000;
  const { connections, close } = trackConnections(server, connectionsPerClient);
  server.on('request', (request, response) => {
    if (request.socket.destroyed) return;
    readTarget(request);
    // A name and a value each. Later versions of Node.js than 20 give this error themselves.
    if (request.rawHeaders.length <= 2 * MAX_HEADER_FIELDS) listener(request, response);
    else rejectRequest(response, 'HPE_HEADER_OVERFLOW', options);
  });
  // An expectation that is not known may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  handleClientErrors(server, (socket) => connections.get(socket) ?? new Set(), options);
  // As Linux allows: beyond Node.js' 511 connections not accepted yet, clients try again after a second.
  server.listen({ port, host, backlog: 4_096 });
  await once(server, 'listening').catch((error: Error) => {
    throw new OperationError(explain(error, host, port, options.settings ?? SETTINGS), { cause: error });
  });
  return {
    // Of a server on a path, the address would be a text.
    port: (server.address() as AddressInfo).port,
    close: () => close(lastRequests),
  };
}

/** Before all that listens to requests. @param perClient How many one address, or network of IPv6, may have. */
function trackConnections(server: Server, perClient: number) {
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

/**
 * Brings every form of a request's target (RFC 9112, section 3.2) into the one that is routed: the path. A
 * fragment has no place in a target, and is ignored. A router remembers the first form that it sees.
 */
function readTarget(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.startsWith('/')) {
    request.url = url.replace(/#.*/s, '');
  } else if (URL.canParse(url)) {
    const { pathname, search } = new URL(url);
    request.url = pathname + search;
  }
}

function explain(error: Error, host: string, port: number, names: typeof SETTINGS): string {
  const code = errorCode(error);
  const next = port === 65_535 ? 4000 : port + 1;
  if (code === 'EADDRINUSE')
    return `Port ${port} of ${host} is in use: set ${names.port} to a free one, such as ${names.port}=${next}.`;
  if (code === 'EACCES')
    return `Port ${port} needs privileges that this user lacks: set ${names.port} above 1023, such as ${names.port}=4000.`;
  if (['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code))
    return `${names.host} is ${JSON.stringify(host)}, which is not an address of this machine: set ${names.host} to one, such as 127.0.0.1, or 0.0.0.0 for all of them.`;
  return `Cannot listen on port ${port} of ${host}: ${error.message}.`;
}

/** An address that a client on this machine can open, without a slash at the end. */
export function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
