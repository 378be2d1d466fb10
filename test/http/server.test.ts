import { spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type HttpServer, type ListenOptions, startHttpServer, TIME_LIMITS } from '../../src/http/server.js';
import { OperationError } from '../../src/model/errors.js';
import { createLogger } from '../../src/telemetry/logging.js';

const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
const HALF = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf';

const log = createLogger({ level: 'silent' });
let server: HttpServer;
let requests: EventEmitter<{ request: [IncomingMessage, ServerResponse] }>;

beforeEach(() => {
  requests = new EventEmitter();
});

/** @param listener Absent: the test answers what `requests` emit. */
async function start(listener?: RequestListener, options: Partial<ListenOptions> = {}): Promise<void> {
  const answer = listener ?? ((request, response) => requests.emit('request', request, response));
  // No request is cut off while the server closes: that takes longer than any test.
  const lastRequests = 600_000;
  server = await startHttpServer(answer, { host: '127.0.0.1', port: 0, log, lastRequests, ...options });
  onTestFinished(() => server.close().catch(() => {}));
}

const done: RequestListener = (_request, response) => response.end('done');

/** Limits that a test sees, in milliseconds. */
const limited = (limits: object) => ({ timeLimits: { ...TIME_LIMITS, checkEvery: 50, ...limits } });

async function send(octets: string): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(octets);
  return socket;
}

/** A request that waits for the test: its connection, what comes there, and its response. */
async function ask(octets: string) {
  const asked = once(requests, 'request');
  const socket = await send(octets);
  const [request, response] = await asked;
  return { socket, request, response };
}

test('a server that closes says so to a kept connection with its last response', async () => {
  await start();
  const { socket, response } = await ask(GET);
  const received = text(socket);
  const closed = server.close();
  response.end('done');
  await closed;
  expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\nconnection: close\r\n(?:.|\s)*done/i);
});

test('a server that closes finishes a response that has begun, and then closes its connection', async () => {
  await start();
  const { socket, response } = await ask(GET);
  const received = text(socket);
  response.write('be');
  const closed = server.close();
  response.end('gun');
  await closed;
  // What is written in one turn of the event loop is one chunk since Node.js 26, and was two before.
  expect(await received).toMatch(/\r\nbe(?:\r\n3\r\n)?gun\r\n0\r\n\r\n$/);
});

test.each(['', 'expect: a-pony\r\n'])(
  'a server that closes sends all of a response that its client is slow to read, of a request with "%s"',
  async (field) => {
    const size = 20_000_000;
    await start();
    const { socket, response } = await ask(`GET / HTTP/1.1\r\nhost: a\r\n${field}\r\n`);
    socket.pause();
    response.end(Buffer.alloc(size, 'a'));
    const closed = server.close();
    const received = await text(socket);
    await closed;
    expect(received.length - received.indexOf('\r\n\r\n') - 4).toBe(size);
  },
);

test('a server that closes takes the rest of a body that is under way, and answers', async () => {
  await start();
  const { socket, request, response } = await ask(HALF);
  const received = text(socket);
  const closed = server.close();
  socket.write('more');
  response.end(await text(request));
  await closed;
  expect(await received).toMatch(/\r\n\r\nhalfmore$/);
});

test('a server that closes waits for no connection that has sent nothing, is idle, or stops in the middle of a head', async () => {
  await start(done);
  await send('');
  await send('GET / HTTP/1.1\r\nhost: a\r\n');
  await once(await send(GET), 'data');
  await server.close();
});

test('a server that closes takes no more connections at once', async () => {
  await start();
  const { response } = await ask(GET);
  const closed = server.close();
  await expect(fetch(`http://127.0.0.1:${server.port}/`)).rejects.toThrow();
  response.end();
  await closed;
});

test('a request that never ends is cut off when the time of a server that closes is over', async () => {
  await start(undefined, { lastRequests: 200 });
  const { socket } = await ask(GET);
  const received = text(socket);
  await server.close();
  expect(await received).toBe('');
});

test('a connection ends after 1,000 requests: what is pipelined behind them is not handled', async () => {
  let handled = 0;
  await start(
    (_request, response) => {
      handled += 1;
      response.end('done');
    },
    limited({ idle: 500 }),
  );
  const received = await text(await send(GET.repeat(1_200)));
  expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1_000);
  expect(handled).toBe(1_000);
});

test('a connection waits longer for the next request than the 60 seconds of usual proxies, and says so', async () => {
  await start(done);
  const { headers } = await fetch(`http://127.0.0.1:${server.port}/`);
  const [, seconds] = /^timeout=(\d+), max=1000$/.exec(headers.get('keep-alive') ?? '') ?? [];
  expect(Number(seconds)).toBeGreaterThan(60);
});

test('a connection is closed when no request follows an answer', async () => {
  await start(done, limited({ idle: 100 }));
  expect(await text(await send(GET))).toMatch(/done$/);
});

const doneAtEnd: RequestListener = (request, response) =>
  request.resume().on('end', () => response.end('done'));

test.each([
  ['which was answered before, as it is', done, 200],
  ['which waits for it, with a 408', doneAtEnd, 408],
])('a connection is closed whose request has a body without an end, %s', async (_how, listener, status) => {
  await start(listener, limited({ header: 200, request: 200 }));
  expect((await text(await send(HALF))).match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
});

test('a connection is closed when the client reads nothing of a long answer', async () => {
  await start(undefined, limited({ silence: 200 }));
  const { socket, response } = await ask(GET);
  socket.pause();
  // More than the buffers on the way hold.
  response.end(Buffer.alloc(50_000_000));
  await once(response, 'close');
});

test('a client that closes its side after the request counts as gone at once', async () => {
  await start();
  const asked = once(requests, 'request');
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  const received = text(socket);
  socket.end(GET);
  const [, response] = await asked;
  if (!response.destroyed) await once(response, 'close');
  expect([response.destroyed, await received]).toEqual([true, '']);
});

test('an address has so many connections at most: others are closed, and each that ends makes room', async () => {
  await start(done, { connectionsPerClient: 2 });
  const first = await send('');
  await send('');
  const isAnswered = async (localAddress = '127.0.0.1') => {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress }).on('error', () => {});
    socket.write(GET);
    const data = await new Promise((ended) => socket.once('data', ended).once('close', ended));
    socket.destroy();
    return String(data).includes('done');
  };
  expect([await isAnswered(), await isAnswered('127.0.0.2')]).toEqual([false, true]);
  first.destroy();
  await expect.poll(() => isAnswered()).toBe(true);
});

test('1,000 connections at once are open while the service has no time to accept them', async () => {
  await start(done);
  const client = `
    let connected = 0;
    const end = () => { console.log(connected); process.exit(); };
    setTimeout(end, 10_000);
    for (let at = 0; at < 1000; at += 1)
      require('node:net').connect(${server.port}, '127.0.0.1', () => ++connected === 1000 && end());`;
  // This process, with the server, waits until that one has ended.
  const { stdout } = spawnSync(process.execPath, ['-e', client], { encoding: 'utf8' });
  expect(Number(stdout)).toBe(1_000);
});

test('a host that is not this machine is an OperationError of one line that names the setting', async () => {
  await expect(startHttpServer(() => {}, { host: '192.0.2.1', port: 0, log })).rejects.toThrow(
    new OperationError(
      'HOST is "192.0.2.1", which is not an address of this machine: set HOST to one, such as 127.0.0.1, or 0.0.0.0 for all of them.',
    ),
  );
});
