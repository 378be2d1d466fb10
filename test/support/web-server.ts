import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { TLSSocket, type TlsOptions } from 'node:tls';
import { TEST_CERTIFICATE, TEST_KEY } from './web-certificate.js';

/** A port where nobody listens: connections to it are rejected on every loopback address. */
export const REJECTING_PORT = 1;

/** Settings by which domains are observed on loopback, and their sites over HTTP alone. */
export function settingsToObserve(dnsPort: number, sitePort: number): Record<string, string> {
  return {
    DNS_SERVERS: `127.0.0.1:${dnsPort}`,
    OBSERVE_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
    OBSERVE_HTTP_PORT: String(sitePort),
  };
}

/** What a web server answers, octet for octet: it adds no field of its own. */
export interface ServedResponse {
  /** 200 unless given. */
  readonly status?: number;
  /** Names and values in order; a name may come twice. One octet a character (ISO 8859-1). */
  readonly fields?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The name in the TLS handshake; undefined over plain TCP. */
  readonly serverName: string | undefined;
}

/** Where a server listens: 127.0.0.1 unless given, and a free port. Any of 127.0.0.0/8 is an address. */
export interface Place {
  readonly address?: string;
  readonly port?: number;
}

export type LoopbackServer = Awaited<ReturnType<typeof listen>>;

/** A real web server that answers every request with one response, which can be replaced at any time. */
export type WebServer = Awaited<ReturnType<typeof startWebServer>>;

/** Starts a web server over plain TCP. Its first response is an empty 200 without fields. */
export function startHttpServer(place: Place = {}) {
  return startWebServer(createHttpServer(), place);
}

/**
 * Starts a web server over TLS, with a certificate for `web-server.test` that nobody has signed.
 *
 * @param tls Replaces the certificate, versions, ciphers.
 */
export function startHttpsServer(place: Place = {}, tls: TlsOptions = {}) {
  return startWebServer(createHttpsServer({ key: TEST_KEY, cert: TEST_CERTIFICATE, ...tls }), place);
}

export type OnStream = (stream: ServerHttp2Stream, fields: readonly string[]) => void;

/** Starts a server over TLS that speaks HTTP/2 alone: to clients that offer only other protocols it sends an alert. */
export async function startHttp2Server(onStream: OnStream, place: Place = {}): Promise<LoopbackServer> {
  const certificate = { key: TEST_KEY, cert: TEST_CERTIFICATE };
  const server = createSecureServer({ ...certificate, maxSendHeaderBlockLength: 2 ** 30 });
  server.on('stream', (stream: ServerHttp2Stream, _headers: unknown, _flags: unknown, fields: string[]) => {
    // What a client that goes away at once leaves behind.
    stream.on('error', () => undefined);
    onStream(stream, fields);
  });
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', () => undefined);
  return listen(server, place);
}

/** Starts a server that does with each connection what the function does. Errors of sockets are dropped. */
export async function startRawServer(onConnection: (socket: Socket) => void, place: Place = {}) {
  return listen(createTcpServer(onConnection), place);
}

async function startWebServer(server: HttpServer, place: Place) {
  const requests: SeenRequest[] = [];
  let answer: (request: SeenRequest) => ServedResponse = () => ({});
  server.on('request', (message: IncomingMessage) => {
    const request = seen(message);
    requests.push(request);
    message.socket.end(responseOctets(answer(request)));
  });
  // What a client that goes away at once leaves behind.
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('tlsClientError', () => undefined);
  return Object.assign(await listen(server, place), {
    requests,
    /** Replaces the response, from the next request on; a function gives one for each request. */
    serve(response: ServedResponse | typeof answer) {
      answer = typeof response === 'function' ? response : () => response;
    },
  });
}

/** Lets a server listen, whose connections end when it is closed. */
export async function listen(server: Server, { address = '127.0.0.1', port = 0 }: Place = {}) {
  const open = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
  });
  await once(server.listen({ host: address, port }), 'listening');
  // A server on a port has such an address.
  const { port: taken } = server.address() as AddressInfo;
  return {
    address,
    port: taken,
    get connections() {
      return connections;
    },
    async idle() {
      await Promise.all([...open].map((socket) => new Promise((closed) => socket.once('close', closed))));
    },
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function seen({ method = '', url = '', rawHeaders, socket }: IncomingMessage): SeenRequest {
  const fields: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    fields.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
  }
  const serverName = socket instanceof TLSSocket ? socket.servername : undefined;
  return { method, path: url, fields, serverName: typeof serverName === 'string' ? serverName : undefined };
}

function responseOctets({ status = 200, fields = [], body = '' }: ServedResponse): Buffer {
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} Served\r\n${lines.join('')}\r\n${body}`, 'latin1');
}
