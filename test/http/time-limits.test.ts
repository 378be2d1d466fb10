import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
});
afterAll(() => service.stop());

/** The server that answers, as Node.js names it to whoever watches requests. */
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

test('a header section may take 10 seconds, a request 30, silence 60, and the next request 65, unless told otherwise', async () => {
  const { headersTimeout, requestTimeout, timeout, keepAliveTimeout } = await serverOf(service.url);
  expect({ headersTimeout, requestTimeout, timeout, keepAliveTimeout }).toEqual({
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    timeout: 60_000,
    keepAliveTimeout: 65_000,
  });
  const response = await fetch(`${service.url}/livez`);
  expect(response.headers.get('keep-alive')).toBe('timeout=65');
});
