import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import express, { type Response } from 'express';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { observeRequests } from '../../src/http/log-requests.js';
import { requestKinds } from '../../src/http/request-kind.js';
import { type HttpServer, startHttpServer } from '../../src/http/server.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { redactSecrets } from '../../src/telemetry/redact.js';
import { createRequestMetrics } from '../../src/telemetry/request-metrics.js';

/** More than the buffers on the way hold. */
const LONG = Buffer.alloc(50_000_000);

let server: HttpServer;
let registry: Registry;
let lines: Record<string, unknown>[];
let sockets: Socket[];
let waiting: Response[];

beforeEach(async () => {
  [registry, lines, sockets, waiting] = [new Registry(), [], [], []];
  const log = createLogger({ level: 'info', stream: { write: (line) => lines.push(JSON.parse(line)) } });
  const app = express();
  const metrics = createRequestMetrics(registry);
  const parts = { log, metrics, tracing: null, redact: redactSecrets };
  app.use(observeRequests(requestKinds(''), () => 'http', parts));
  app.get('/short', (_request, response) => void response.end('done'));
  app.get('/long', (_request, response) => void response.end(LONG));
  app.get('/cut', (_request, response) => {
    response.end(LONG);
    response.socket?.destroy();
  });
  app.post('/body', express.json(), (_request, response) => void response.end('done'));
  app.get('/waiting', (_request, response) => void waiting.push(response));
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0, log });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close();
});

function send(octets: string): Socket {
  const socket = connect(server.port, '127.0.0.1');
  sockets.push(socket);
  socket.write(octets);
  return socket;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

async function counted(series: string): Promise<string | undefined> {
  const all = (await registry.metrics()).split('\n');
  return all.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1);
}

test('an answer whose client goes in the midst of it is logged as aborted', async () => {
  const socket = send(get('/long'));
  await once(socket, 'readable');
  socket.destroy();
  await expect.poll(() => lines).toMatchObject([{ path: '/long', status: 200, aborted: true }]);
});

test('an answer that the service cuts off in the midst of it is logged as aborted', async () => {
  send(get('/cut')).resume();
  await expect.poll(() => lines).toMatchObject([{ path: '/cut', status: 200, aborted: true }]);
});

test('the rejection of a body that never came, when its connection is gone, is logged without a status', async () => {
  const fields = 'host: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n';
  const socket = send(`POST /body HTTP/1.1\r\n${fields}\r\n{`);
  await expect.poll(() => counted('dms_http_requests_in_flight')).toBe('1');
  socket.resetAndDestroy();
  await expect.poll(() => lines).toMatchObject([{ path: '/body', status: 0, aborted: true }]);
});

test('responses that were never sent are logged and counted without a status', async () => {
  const socket = send(get('/waiting') + get('/short'));
  await expect.poll(() => counted('dms_http_requests_in_flight')).toBe('2');
  socket.destroy();
  await expect.poll(() => lines).toHaveLength(2);
  for (const line of lines) expect(line).toMatchObject({ status: 0, aborted: true });
  expect(await counted('dms_http_requests_in_flight')).toBe('0');
  expect(await counted('dms_http_requests_total{api="page",operation="page",status="0"}')).toBe('2');
});
