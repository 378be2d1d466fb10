import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { type HttpServer, type ListenOptions, startHttpServer } from '../../src/http/server.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { followRequests } from '../support/kept-requests.js';
import { startTestService } from '../support/service.js';

const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

let server: HttpServer | undefined;
afterEach(() => server?.close());

async function open(listener: RequestListener, options: Partial<ListenOptions> = {}): Promise<Socket> {
  const log = createLogger({ level: 'silent' });
  server = await startHttpServer(listener, { host: '127.0.0.1', port: 0, log, ...options });
  return connect(server.port, '127.0.0.1');
}

/** Also by a reset, as where the server has not read all. */
function closing(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once('close', resolve));
}

describe('requests that are pipelined on one connection', () => {
  test('are handled one after another, and each response is closed once', async () => {
    const events: string[] = [];
    let handled = 0;
    const socket = await open(async (_request, response) => {
      const place = handled;
      handled += 1;
      events.push(`begin ${place}`);
      response.on('close', () => events.push(`end ${place}`));
      await pause(5);
      response.end(`answer ${place}`);
    });
    const received = text(socket);
    socket.write(REQUEST.repeat(2) + REQUEST.replace(/\r\n$/, 'connection: close\r\n\r\n'));
    expect((await received).match(/answer \d/g)).toEqual(['answer 0', 'answer 1', 'answer 2']);
    await expect.poll(() => events).toHaveLength(6);
    expect(events).toEqual(['begin 0', 'end 0', 'begin 1', 'end 1', 'begin 2', 'end 2']);
  });

  test('are not handled any more when the client has gone', async () => {
    const responses: ServerResponse[] = [];
    const socket = await open((_request, response) => responses.push(response));
    socket.write(REQUEST.repeat(3));
    await expect.poll(() => responses.length).toBe(1);
    const closed = once(responses[0] ?? socket, 'close');
    socket.destroy();
    await closed;
    await pause(20);
    expect(responses).toHaveLength(1);
  });

  test('are handled one in a turn of the event loop, also where their bodies are not read', async () => {
    const turns: number[] = [];
    const socket = await open((_request, response) => {
      turns.push(turn);
      response.end('done');
    });
    let turn = 0;
    const count = () => {
      turn += 1;
      if (turns.length < 50) setImmediate(count);
    };
    setImmediate(count);
    const received = text(socket);
    const request = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}';
    socket.write(request.repeat(49) + request.replace('length: 2', 'length: 2\r\nconnection: close'));
    expect((await received).match(/done/g)).toHaveLength(50);
    expect(new Set(turns).size).toBe(50);
  });

  test('are 100 at most: of an address with more, all connections are closed, and nothing is read from it for ten seconds', async () => {
    const held: ServerResponse[] = [];
    const first = await open((_request, response) => held.push(response));
    const port = server?.port ?? 0;
    const second = connect(port, '127.0.0.1');
    const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    for (const socket of [first, second, other]) socket.on('error', () => {}).resume();
    for (const socket of [first, second]) socket.write(REQUEST.repeat(51));
    other.write(REQUEST);
    await expect.poll(() => held.length).toBe(3);
    expect([first.closed, second.closed]).toEqual([false, false]);
    const closed = [first, second].map(closing);
    first.write(REQUEST);
    await Promise.all(closed);
    expect(held).toHaveLength(3);
    expect(other.closed).toBe(false);
    const next = connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume();
    next.write(REQUEST);
    other.destroy();
    await closing(next);
    expect(held).toHaveLength(3);
    const afterwards = connect(port, '127.0.0.1');
    afterwards.write(REQUEST);
    await expect.poll(() => held.length).toBe(4);
    afterwards.destroy();
  });

  test('are 100 on each connection where clients may share an address, of which the others stay', async () => {
    const held: ServerResponse[] = [];
    const first = await open((_request, response) => held.push(response), {
      connectionsPerClient: Number.POSITIVE_INFINITY,
    });
    const second = connect(server?.port ?? 0, '127.0.0.1');
    for (const socket of [first, second]) socket.on('error', () => {}).resume();
    for (const socket of [first, second]) socket.write(REQUEST.repeat(101));
    await expect.poll(() => held.length).toBe(2);
    const closed = closing(first);
    first.write(REQUEST);
    await closed;
    await pause(20);
    expect(second.closed).toBe(false);
    second.destroy();
  });
});

test('requests that come at once on many connections are handled few in a turn, and those of each client in turn', async () => {
  const handled: { turn: number; client: string | undefined }[] = [];
  let turn = 0;
  const first = await open((request, response) => {
    handled.push({ turn, client: request.socket.remoteAddress });
    response.end('done');
  });
  const sockets = Array.from({ length: 40 }, () => connect(server?.port ?? 0, '127.0.0.1'));
  const other = connect({ port: server?.port ?? 0, host: '127.0.0.1', localAddress: '127.0.0.2' });
  const all = [...sockets, other];
  // Each is accepted once it has a response.
  for (const socket of all) socket.write(REQUEST);
  await Promise.all(all.map((socket) => once(socket, 'data')));
  handled.length = 0;
  const count = () => {
    turn += 1;
    if (handled.length < 41) setImmediate(count);
  };
  setImmediate(count);
  for (const socket of all) socket.write(REQUEST);
  // They lie in the sockets, and are all read in one turn.
  for (const end = performance.now() + 50; performance.now() < end; );
  await Promise.all(all.map((socket) => once(socket, 'data')));
  const inTurn = (at: number) => handled.filter((each) => each.turn === at).length;
  expect(Math.max(...handled.map((each) => inTurn(each.turn)))).toBeLessThanOrEqual(10);
  const place = handled.findIndex(({ client }) => client === '127.0.0.2');
  expect(place).toBeLessThanOrEqual(20);
  for (const socket of [first, ...all]) socket.destroy();
});

test('behind a proxy, requests that come at once are handled in turns between the clients that it names, whatever its connections', async () => {
  const service = await startTestService({ trustProxy: 1 });
  onTestFinished(() => service.stop());
  const requestOf = (client: string) =>
    `GET /of/${client} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 198.51.100.1, ${client}\r\n\r\n`;
  const requests = [...Array(40).fill(requestOf('192.0.2.1')), requestOf('192.0.2.2')];
  const sockets = requests.map(() => connect(service.port, '127.0.0.1'));
  const exchange = async () => {
    for (const [at, socket] of sockets.entries()) socket.write(requests[at]);
    // They lie in the sockets, and are all read in one turn.
    for (const end = performance.now() + 50; performance.now() < end; );
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
  };
  const handled = () => service.logged.flatMap(({ path }) => (typeof path === 'string' ? path : []));
  // Each is accepted once it has a response.
  await exchange();
  await expect.poll(handled).toHaveLength(41);
  await exchange();
  await expect.poll(handled).toHaveLength(82);
  expect(handled().slice(41).indexOf('/of/192.0.2.2')).toBeLessThanOrEqual(20);
  for (const socket of sockets) socket.destroy();
});

describe('the header sections of the requests of an address take 2 MB together', () => {
  const request = REQUEST.replace('\r\n\r\n', `\r\n${'a:\r\n'.repeat(1_899)}\r\n`);
  const connected = () =>
    connect(server?.port ?? 0, '127.0.0.1')
      .on('error', () => {})
      .resume();

  /** Ten requests that are not responded to; one more would be too much. */
  async function hold(options: Partial<ListenOptions> = {}) {
    const held: ServerResponse[] = [];
    await open((_request, response) => held.push(response), options).then((socket) => socket.destroy());
    const sockets = Array.from({ length: 10 }, connected);
    for (const socket of sockets) socket.write(request);
    await expect.poll(() => held.length).toBe(10);
    const over = connected();
    over.write(request);
    await closing(over);
    return { held, sockets };
  }

  test('with more, all its connections are closed, and nothing is read from it for ten seconds', async () => {
    const { held, sockets } = await hold();
    await expect.poll(() => sockets.every(({ closed }) => closed)).toBe(true);
    const next = connected();
    next.write(request);
    await closing(next);
    const afterwards = connected();
    afterwards.write(request);
    await expect.poll(() => held.length).toBe(11);
    afterwards.destroy();
  });

  test('where clients may share an address, the connection with more is closed, and there is room again later', async () => {
    const { held, sockets } = await hold({ connectionsPerClient: Number.POSITIVE_INFINITY });
    expect(sockets.some(({ closed }) => closed)).toBe(false);
    for (const response of held.splice(0)) response.end();
    const again = connected();
    again.write(request);
    await expect.poll(() => held.length).toBe(1);
    for (const socket of [...sockets, again]) socket.destroy();
  });
});

test('what an answered request has sent is not kept while its connection is idle, nor counted', async () => {
  const requests = followRequests();
  onTestFinished(() => requests.stop());
  await open((_request, response) => response.end('done')).then((socket) => socket.destroy());
  const sockets = Array.from({ length: 60 }, () => connect(server?.port ?? 0, '127.0.0.1'));
  // Two in turn on each: more than 2 MB in all.
  for (let time = 0; time < 2; time += 1) {
    for (const socket of sockets) {
      socket.write(REQUEST.replace('\r\n\r\n', `\r\n${'a:\r\n'.repeat(1_000)}content-length: 1\r\n\r\nx`));
      expect(String((await once(socket, 'data'))[0])).toContain('done');
    }
  }
  await expect.poll(() => requests.count()).toBeLessThan(5);
  for (const socket of sockets) socket.destroy();
});

test('an address has so many connections at most: nothing is read from others, and the server stops without them', async () => {
  const first = await open((_request, response) => response.end('done'), { connectionsPerClient: 2 });
  const port = server?.port ?? 0;
  const second = connect(port, '127.0.0.1');
  await Promise.all([once(first, 'connect'), once(second, 'connect')]);
  const third = connect(port, '127.0.0.1');
  third.write(REQUEST);
  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  other.write(REQUEST);
  expect(String((await once(other, 'data'))[0])).toContain('done');
  other.destroy();
  const gone = once(first, 'close');
  first.destroy();
  await gone;
  await pause(20);
  const fourth = connect(port, '127.0.0.1');
  fourth.write(REQUEST);
  expect(String((await once(fourth, 'data'))[0])).toContain('done');
  expect(third.bytesRead).toBe(0);
  const closed = closing(third);
  third.on('error', () => {}).resume();
  await server?.close();
  await closed;
  for (const socket of [second, fourth]) socket.destroy();
});

test('a body in hundreds of packets of one octet is rejected', async () => {
  const socket = await open((request) => request.resume());
  socket.setNoDelay();
  const received = text(socket).catch(() => 'reset');
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n');
  let sent = 0;
  for (; sent < 1_000 && !socket.closed; sent += 1) {
    socket.write('x');
    // Each arrives by itself.
    await pause(1);
  }
  expect(await received).toMatch(/^HTTP\/1\.1 413 (?:.|\s)*too many small chunks|^reset$/);
  expect(sent).toBeLessThan(1_000);
});

test('a body in thousands of chunks of one octet is rejected, with all connections of its address, and one in larger chunks is read', async () => {
  const socket = await open((request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(String(length)));
  });
  const body = (count: number, chunk: string) =>
    `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${`${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(count)}0\r\n\r\n`;
  socket.write(body(5_000, 'x'.repeat(32)));
  expect(String((await once(socket, 'data'))[0])).toContain('\r\n160000');
  const received = text(socket).catch(() => 'reset');
  const other = connect(server?.port ?? 0, '127.0.0.1').resume();
  await once(other, 'connect');
  const gone = once(other, 'close');
  socket.write(body(5_000, 'x'));
  expect(await received).toMatch(/^HTTP\/1\.1 413 (?:.|\s)*too many small chunks|^reset$/);
  await gone;
});

test('1,000 connections at once are open while the service has no time to accept them', async () => {
  const socket = await open((_request, response) => response.end());
  socket.destroy();
  const client = `
    let connected = 0;
    const end = () => { console.log(connected); process.exit(); };
    setTimeout(end, 10_000);
    for (let at = 0; at < 1000; at += 1)
      require('node:net').connect(${server?.port}, '127.0.0.1', () => ++connected === 1000 && end());`;
  // This process, with the server, waits until that one has ended.
  const { stdout } = spawnSync(process.execPath, ['-e', client], { encoding: 'utf8' });
  expect(Number(stdout)).toBe(1_000);
});
