import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { type HttpServer, type ListenOptions, startHttpServer } from '../../src/http/server.js';
import { createLogger } from '../../src/telemetry/logging.js';

const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

let server: HttpServer | undefined;
afterEach(() => server?.close());

async function open(listener: RequestListener, options: Partial<ListenOptions> = {}): Promise<Socket> {
  const log = createLogger({ level: 'silent' });
  server = await startHttpServer(listener, { host: '127.0.0.1', port: 0, log, ...options });
  return connect(server.port, '127.0.0.1');
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

  test('are 256 at most: a connection with more is closed', async () => {
    const held: ServerResponse[] = [];
    const socket = await open((_request, response) => held.push(response));
    socket.on('error', () => {}).resume();
    socket.write(REQUEST.repeat(256));
    await expect.poll(() => held.length).toBe(1);
    expect(socket.closed).toBe(false);
    const closed = once(socket, 'close');
    socket.write(REQUEST);
    await closed;
    expect(held).toHaveLength(1);
  });
});

test('an address has so many connections at most, and gets others when it has closed some', async () => {
  const first = await open((_request, response) => response.end('done'), { connectionsPerClient: 2 });
  const port = server?.port ?? 0;
  const second = connect(port, '127.0.0.1');
  await Promise.all([once(first, 'connect'), once(second, 'connect')]);
  const third = connect(port, '127.0.0.1').resume();
  await once(third, 'close');
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
  fourth.destroy();
  second.destroy();
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
  const next = connect(server?.port ?? 0, '127.0.0.1').resume();
  await once(next, 'close');
});
