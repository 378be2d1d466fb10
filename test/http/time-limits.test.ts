import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TIME_LIMITS } from '../../src/http/server.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
});
afterAll(() => service.stop());

/** The server, as Node.js names it to observers of requests. */
async function serverOf(url: string): Promise<Server> {
  const servers: unknown[] = [];
  const note = (message: unknown) => servers.push(Reflect.get(Object(message), 'server'));
  subscribe('http.server.request.start', note);
  await (await fetch(`${url}/livez`)).text();
  unsubscribe('http.server.request.start', note);
  const [server] = servers;
  if (!(server instanceof Server)) throw new Error('No server has told of the request.');
  return server;
}

// What each limit does is seen with shorter ones: server.test.ts.
test('clients of a service have the time limits of the program, unless told otherwise', async () => {
  const { headersTimeout, requestTimeout, timeout, keepAliveTimeout } = await serverOf(service.url);
  const { header, request, silence, idle } = TIME_LIMITS;
  expect([headersTimeout, requestTimeout, timeout, keepAliveTimeout]).toEqual([
    header,
    request,
    silence,
    idle,
  ]);
});

test('a connection waits longer for the next request than the 60 seconds of usual proxies, and says so', async () => {
  const { headers } = await fetch(`${service.url}/livez`);
  const [, seconds] = /^timeout=(\d+), max=1000$/.exec(headers.get('keep-alive') ?? '') ?? [];
  expect(Number(seconds)).toBeGreaterThan(60);
});
