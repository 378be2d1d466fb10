import { once } from 'node:events';
import { createServer as createWebServer } from 'node:http';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openRedisStore, type RedisStore } from '../../src/limits/redis-store.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis-server.js';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/web-certificate.js';

/** Opens what REDIS_URL says, and gives it to the work with the reasons that are logged. */
async function withStore<Result>(
  url: string,
  work: (store: RedisStore, reasons: () => readonly unknown[]) => Promise<Result> | Result,
): Promise<Result> {
  const logged: unknown[] = [];
  const stream = { write: (line: string) => logged.push(JSON.parse(line).reason) };
  const store = await openRedisStore(url, createLogger({ level: 'info', stream }));
  try {
    return await work(store, () => logged);
  } finally {
    store.close();
  }
}

const reasonsOf = (url: string) =>
  withStore(url, (store, reasons) => {
    expect(store.client.status).not.toBe('ready');
    return reasons();
  });

const CHECK_ADDRESS = 'check the host, the port and the scheme, rediss:// with TLS, in REDIS_URL';

const OTHERS = {
  'a web server': () => createWebServer((_request, response) => response.end('no')),
  TLS: () => createTlsServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }).on('tlsClientError', () => {}),
  'nothing but an end': () => createServer((socket) => socket.destroy()),
};

test.each([
  ['a web server', 'redis', `the connection was closed: ${CHECK_ADDRESS}`],
  ['a web server', 'rediss', expect.stringMatching(`^ERR_SSL_[A-Z_]+: ${CHECK_ADDRESS}$`)],
  ['TLS', 'redis', expect.stringMatching(` ${CHECK_ADDRESS}$`)],
  ['nothing but an end', 'redis', expect.stringMatching(`: ${CHECK_ADDRESS}$`)],
  ['nothing but an end', 'rediss', expect.stringMatching(`: ${CHECK_ADDRESS}$`)],
] as const)('where %s answers by %s, one reason says what to write', async (name, scheme, reason) => {
  const server = OTHERS[name]().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = Object(server.address());
  expect(await reasonsOf(`${scheme}://user:password@127.0.0.1:${port}`)).toEqual([reason]);
});

describe.skipIf(!HAS_REDIS)('where a Redis rejects', () => {
  const CHECK = "check the user, the password and the database's number in REDIS_URL";
  let open: RedisServer;
  let guarded: RedisServer;
  beforeAll(async () => {
    [open, guarded] = await Promise.all([startRedis(), startRedis({ password: 'right-w0rd' })]);
  });
  afterAll(() => Promise.all([open.close(), guarded.close()]));

  test.each([
    ['NOAUTH', ''],
    ['WRONGPASS', ':wr0ng-word@'],
    ['WRONGPASS', 'someone:right-w0rd@'],
  ])('a Redis that rejects with %s has one reason, which says what to write', async (code, credentials) => {
    const reasons = await reasonsOf(`redis://${credentials}127.0.0.1:${guarded.port}`);
    expect(reasons).toEqual([`Redis responds with ${code}: ${CHECK}`]);
  });

  test('a Redis without TLS, connected by rediss, has one reason, which says what to write', async () => {
    const reason = expect.stringMatching(`^connect ETIMEDOUT: ${CHECK_ADDRESS.slice(0, 40)}`);
    expect(await reasonsOf(`rediss://127.0.0.1:${open.port}`)).toEqual([reason]);
  });

  test('a database that a Redis does not have is one reason, and no other is used in its place', async () => {
    await withStore(`redis://127.0.0.1:${open.port}/99`, async (store, reasons) => {
      expect(reasons()).toEqual([`Redis responds with ERR: ${CHECK}`]);
      const seen: string[] = [];
      for (const name of ['ready', 'close']) store.client.on(name, () => seen.push(name));
      await vi.waitFor(() => expect(seen.length).toBeGreaterThan(2), { timeout: 60_000 });
      expect(new Set(seen)).toEqual(new Set(['close']));
      expect(store.client.status).not.toBe('ready');
    });
    await withStore(`redis://127.0.0.1:${open.port}/15`, (store, reasons) => {
      expect([store.client.status, reasons()]).toEqual(['ready', []]);
    });
  });

  test('a Redis that rejects what counting needs has one reason, which says what to write', async () => {
    const administrator = new Redis(open.port, '127.0.0.1');
    onTestFinished(() => administrator.disconnect());
    const rule = 'on >right-w0rd ~* +@all -eval -evalsha'.split(' ');
    await administrator.call('ACL', 'SETUSER', 'reader', ...rule);
    await withStore(`redis://reader:right-w0rd@127.0.0.1:${open.port}`, async (store, reasons) => {
      expect(store.client.status).toBe('ready');
      expect(await store.attempt(() => store.client.eval('return 1', 0))).toBeUndefined();
      expect(reasons()).toEqual([`Redis responds with NOPERM: ${CHECK}`]);
    });
  });
});
