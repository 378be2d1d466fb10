import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HttpServer, startHttpServer } from '../../src/http/server.js';
import { createLogger } from '../../src/telemetry/logging.js';

const THREE = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(3);

let server: HttpServer;
let responses: ServerResponse[];
let closings: number[];
let arrived: Promise<void>;

beforeEach(async () => {
  responses = [];
  closings = [0, 0, 0];
  let resolve = () => {};
  arrived = new Promise((settle) => {
    resolve = settle;
  });
  server = await startHttpServer(
    (_request, response) => {
      const place = responses.push(response) - 1;
      response.on('close', () => {
        closings[place] = (closings[place] ?? 0) + 1;
      });
      if (responses.length === 3) resolve();
    },
    { host: '127.0.0.1', port: 0, log: createLogger({ level: 'silent' }) },
  );
});
afterEach(() => server.close());

test('a client that goes away is seen by each of the requests that it has sent at once', async () => {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(THREE);
  await arrived;
  // It is handed over, and has to wait for those before it.
  responses[2]?.end('done');
  const closed = Promise.all(responses.map((response) => once(response, 'close')));
  socket.destroy();
  await closed;
  await server.close();
  expect(responses.map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
  expect(closings).toEqual([1, 1, 1]);
});

test('requests that are sent at once and answered are each closed once', async () => {
  const socket = connect(server.port, '127.0.0.1');
  const received = text(socket);
  socket.write(THREE.replace(/\r\n\r\n$/, '\r\nconnection: close\r\n\r\n'));
  await arrived;
  for (const [place, response] of [...responses.entries()].reverse()) response.end(`answer ${place}`);
  expect((await received).match(/answer \d/g)).toEqual(['answer 0', 'answer 1', 'answer 2']);
  await server.close();
  expect(closings).toEqual([1, 1, 1]);
});
