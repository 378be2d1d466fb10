import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HttpServer, startHttpServer } from '../../src/http/server.js';
import { createLogger } from '../../src/telemetry/logging.js';

const log = createLogger({ level: 'silent' });
/** Longer than any test may take. */
const NEVER = 600_000;

let server: HttpServer;
let requests: EventEmitter<{ request: [IncomingMessage, ServerResponse] }>;

async function start(lastRequests: number): Promise<void> {
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    requests.emit('request', request, response);
  server = await startHttpServer(listener, { host: '127.0.0.1', port: 0, log, lastRequests });
}

beforeEach(async () => {
  requests = new EventEmitter();
  await start(NEVER);
});
afterEach(() => server.close().catch(() => {}));

/** Opens a connection and sends bytes on it as they are. */
async function send(bytes: string): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

describe('a server that closes', () => {
  test('says to a kept connection with its last response that it closes', async () => {
    const asked = once(requests, 'request');
    const socket = await send(GET);
    const received = text(socket);
    const [, response] = await asked;
    const closed = server.close();
    response.end('done');
    await closed;
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\nconnection: close\r\n(?:.|\s)*done/i);
  });

  test('finishes a response that has begun, and then closes its connection', async () => {
    const asked = once(requests, 'request');
    const socket = await send(GET);
    const received = text(socket);
    const [, response] = await asked;
    response.write('be');
    const closed = server.close();
    response.end('gun');
    await closed;
    // What is written in one turn of the event loop is one chunk since Node.js 26, and was two before.
    expect(await received).toMatch(/\r\nbe(?:\r\n3\r\n)?gun\r\n0\r\n\r\n$/);
  });

  test.each([
    ['of whatever kind', ''],
    ['also where an expectation is passed over', 'expect: the-unexpected\r\n'],
  ])('sends all of a response that its client is slow to read, %s', async (_which, field) => {
    const size = 20_000_000;
    const asked = once(requests, 'request');
    const socket = await send(`GET / HTTP/1.1\r\nhost: a\r\n${field}\r\n`);
    socket.pause();
    const [, response] = await asked;
    response.end(Buffer.alloc(size, 'a'));
    const closed = server.close();
    const received = await text(socket);
    await closed;
    expect(received.length - received.indexOf('\r\n\r\n') - 4).toBe(size);
  });

  test('takes the rest of a body that is under way, and answers', async () => {
    const asked = once(requests, 'request');
    const socket = await send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf');
    const received = text(socket);
    const [request, response] = await asked;
    const closed = server.close();
    socket.write('more');
    response.end(await text(request));
    await closed;
    expect(await received).toMatch(/\r\n\r\nhalfmore$/);
  });

  test('waits for no connection that has sent nothing, is idle, or stops in the middle of a head', async () => {
    requests.on('request', (_request, response) => response.end('done'));
    const silent = await send('');
    const half = await send('GET / HTTP/1.1\r\nhost: a\r\n');
    const idle = await send(GET);
    await once(idle, 'data');
    await server.close();
    for (const socket of [silent, half, idle]) socket.destroy();
  });

  test('takes no more connections at once', async () => {
    const asked = once(requests, 'request');
    await send(GET);
    const [, response] = await asked;
    const closed = server.close();
    await expect(fetch(`http://127.0.0.1:${server.port}/`)).rejects.toThrow();
    response.end();
    await closed;
  });
});

test('a request that never ends is cut off when its time is over', async () => {
  await server.close();
  await start(200);
  const asked = once(requests, 'request');
  const received = text(await send(GET));
  await asked;
  await server.close();
  expect(await received).toBe('');
});
