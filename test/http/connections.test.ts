import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
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

test('an address has so many connections at most: others are closed, and each that ends makes room', async () => {
  const first = await open((_request, response) => response.end('done'), { connectionsPerClient: 2 });
  const port = server?.port ?? 0;
  const second = connect(port, '127.0.0.1');
  await Promise.all([once(first, 'connect'), once(second, 'connect')]);
  const third = connect(port, '127.0.0.1').on('error', () => {});
  third.write(REQUEST);
  await new Promise((closed) => third.resume().once('close', closed));
  expect(third.bytesRead).toBe(0);
  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  other.write(REQUEST);
  expect(String((await once(other, 'data'))[0])).toContain('done');
  first.destroy();
  await expect.poll(isAnswered).toBe(true);
  for (const socket of [second, other]) socket.destroy();
});

/** Whether a new connection is. */
async function isAnswered(): Promise<boolean> {
  const socket = connect(server?.port ?? 0, '127.0.0.1').on('error', () => {});
  socket.write(REQUEST);
  const data = await new Promise((ended) => socket.once('data', ended).once('close', ended));
  socket.destroy();
  return String(data).includes('done');
}

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
