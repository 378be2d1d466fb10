import { EventEmitter, once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { startHttpServer, TIME_LIMITS, type TimeLimits } from '../../src/http/server.js';
import { OperationError } from '../../src/model/errors.js';
import { createLogger } from '../../src/telemetry/logging.js';

const log = createLogger({ level: 'silent' });
const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of cleanUp.splice(0)) await end();
});

/** A server whose responses the test sends: `asked` gives the response to the first request. */
async function startAsked() {
  const requests = new EventEmitter();
  const asked = once(requests, 'request');
  const answer = (_request: unknown, response: unknown) => requests.emit('request', response);
  const server = await startHttpServer(answer, { host: '127.0.0.1', port: 0, log });
  return { server, asked };
}

describe('closing', () => {
  test('takes no more connections, and answers the request under way first', async () => {
    const { server, asked } = await startAsked();
    const socket = connect(server.port, '127.0.0.1');
    const received = text(socket);
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    const url = `http://127.0.0.1:${server.port}/`;
    const [response] = await asked;
    const closed = server.close();
    await expect(fetch(url)).rejects.toThrow();
    response.end('done');
    await closed;
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.|\s)*done/);
  });

  test('does not wait for connections that are kept alive', async () => {
    const server = await startHttpServer((_request, response) => response.end('done'), {
      host: '127.0.0.1',
      port: 0,
      log,
    });
    expect(await (await fetch(`http://127.0.0.1:${server.port}/`)).text()).toBe('done');
    await server.close();
  });
});

test('a connection ends after 1,000 requests: what is pipelined behind them is not handled', async () => {
  let handled = 0;
  const answer: RequestListener = (_request, response) => {
    handled += 1;
    response.end('done');
  };
  const timeLimits = { ...TIME_LIMITS, checkEvery: 50, idle: 500 };
  const server = await startHttpServer(answer, { host: '127.0.0.1', port: 0, log, timeLimits });
  cleanUp.push(() => server.close());
  const socket = connect(server.port, '127.0.0.1');
  const received = text(socket);
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1_200));
  const responses = (await received).split('HTTP/1.1 ').slice(1);
  expect(responses.filter((response) => response.startsWith('200 OK'))).toHaveLength(1_000);
  expect(handled).toBe(1_000);
});

describe('a connection is closed', () => {
  const start = (listener: RequestListener, limits: Partial<TimeLimits>) =>
    startHttpServer(listener, {
      host: '127.0.0.1',
      port: 0,
      log,
      timeLimits: { ...TIME_LIMITS, checkEvery: 50, ...limits },
    });

  test('when no request follows an answer', async () => {
    const server = await start((_request, response) => response.end('done'), { idle: 100 });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    expect(await text(socket)).toMatch(/done$/);
    await server.close();
  });

  test('without a second answer when the body of an answered request does not come to its end', async () => {
    const server = await start((_request, response) => response.end('done'), { header: 200, request: 200 });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
    const received = await text(socket);
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    await server.close();
  });

  test('with a 408 when the body of a request that waits for it does not come to its end', async () => {
    const server = await start(
      (request, response) => request.resume().on('end', () => response.end('done')),
      { header: 200, request: 200 },
    );
    const socket = connect(server.port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
    const received = await text(socket);
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 408']);
    await server.close();
  });

  test('when the client reads nothing of a long answer', async () => {
    const responses = new EventEmitter();
    const cut = once(responses, 'close');
    const server = await start(
      (_request, response) => {
        response.once('close', () => responses.emit('close'));
        // More than the buffers on the way hold.
        response.end(Buffer.alloc(50_000_000));
      },
      { silence: 200 },
    );
    const socket = connect(server.port, '127.0.0.1');
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await cut;
    socket.destroy();
    await server.close();
  });
});

test('a client that closes its side after the request counts as gone at once', async () => {
  const { server, asked } = await startAsked();
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  const received = text(socket);
  socket.end('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  const [response] = await asked;
  if (!response.destroyed) await once(response, 'close');
  expect([response.destroyed, await received]).toEqual([true, '']);
  await server.close();
});

describe('an address that is not available is an OperationError of one line that names the setting', () => {
  test('for a port in use', async () => {
    const occupant = createServer().listen(0, '127.0.0.1');
    cleanUp.push(() => once(occupant.close(), 'close'));
    await once(occupant, 'listening');
    const { port } = addressOf(occupant.address());
    await expect(startHttpServer(() => {}, { host: '127.0.0.1', port, log })).rejects.toThrow(
      new OperationError(
        `Port ${port} of 127.0.0.1 is in use: set PORT to a free one, such as PORT=${port + 1}.`,
      ),
    );
  });

  test('for a host that is not this machine', async () => {
    await expect(startHttpServer(() => {}, { host: '192.0.2.1', port: 0, log })).rejects.toThrow(
      new OperationError(
        'HOST is "192.0.2.1", which is not an address of this machine: set HOST to one, such as 127.0.0.1, or 0.0.0.0 for all of them.',
      ),
    );
  });
});

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new Error('It does not listen.');
  return address;
}
