import { createServer as createWebServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openRedisStore, type RedisStore } from '../../src/limits/redis-store.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis-server.js';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/web-certificate.js';

/** Opens what REDIS_URL says, and gives it to the work with the reasons that are logged. */
async function withStore(
  url: string,
  work: (store: RedisStore, reasons: () => readonly unknown[]) => Promise<void> | void,
): Promise<void> {
  const lines: string[] = [];
  const store = await openRedisStore(
    url,
    createLogger({ level: 'info', stream: { write: (line) => lines.push(line) } }),
  );
  try {
    await work(store, () => lines.map((line) => JSON.parse(line).reason));
  } finally {
    store.close();
  }
}

const reasonsOf = async (url: string) => {
  let found: readonly unknown[] = [];
  await withStore(url, (store, reasons) => {
    expect(store.client.status).not.toBe('ready');
    found = reasons();
  });
  return found;
};

describe('what answers is no Redis: one reason says what to write', () => {
  const servers = new Map<string, Server>();
  beforeAll(async () => {
    servers.set(
      'a web server',
      createWebServer((_request, response) => response.end('no')),
    );
    servers.set(
      'TLS',
      createTlsServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }).on('tlsClientError', ignore),
    );
    servers.set(
      'nothing but an end',
      createServer((socket) => socket.destroy()),
    );
    for (const server of servers.values()) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    }
  });
  afterAll(() => {
    for (const server of servers.values()) server.close();
  });

  const CHECK = 'check the host, the port and the scheme, rediss:// with TLS, in REDIS_URL';
  test.each([
    ['a web server', 'redis', `the connection was closed: ${CHECK}`],
    ['a web server', 'rediss', expect.stringMatching(`^ERR_SSL_[A-Z_]+: ${CHECK}$`)],
    ['TLS', 'redis', expect.stringMatching(` ${CHECK}$`)],
    ['nothing but an end', 'redis', expect.stringMatching(`: ${CHECK}$`)],
    ['nothing but an end', 'rediss', expect.stringMatching(`: ${CHECK}$`)],
  ])('%s, connected by %s', async (name, scheme, reason) => {
    const address = servers.get(name)?.address();
    expect(isInternet(address)).toBe(true);
    if (!isInternet(address)) return;
    expect(await reasonsOf(`${scheme}://user:password@127.0.0.1:${address.port}`)).toEqual([reason]);
  });
});

describe.skipIf(!HAS_REDIS)('a Redis rejects: one reason says what to write', () => {
  const CHECK = "check the user, the password and the database's number in REDIS_URL";
  let open: RedisServer;
  let guarded: RedisServer;
  beforeAll(async () => {
    [open, guarded] = await Promise.all([startRedis(), startRedis({ password: 'right-w0rd' })]);
  });
  afterAll(() => Promise.all([open.close(), guarded.close()]));

  test('to go on without a password', async () => {
    expect(await reasonsOf(`redis://127.0.0.1:${guarded.port}`)).toEqual([
      `Redis responds with NOAUTH: ${CHECK}`,
    ]);
  });

  test('the password, or the user', async () => {
    for (const user of [':wr0ng-word', 'someone:right-w0rd']) {
      expect(await reasonsOf(`redis://${user}@127.0.0.1:${guarded.port}`)).toEqual([
        `Redis responds with WRONGPASS: ${CHECK}`,
      ]);
    }
  });

  test('to speak TLS', async () => {
    expect(await reasonsOf(`rediss://127.0.0.1:${open.port}`)).toEqual([
      expect.stringMatching(
        /^connect ETIMEDOUT: check the host, the port and the scheme, rediss:\/\/ with TLS/,
      ),
    ]);
  });

  test('a database that it does not have, and no other is used in its place', async () => {
    await withStore(`redis://127.0.0.1:${open.port}/99`, async (store, reasons) => {
      expect(reasons()).toEqual([`Redis responds with ERR: ${CHECK}`]);
      const seen: string[] = [];
      for (const name of ['ready', 'close']) store.client.on(name, () => seen.push(name));
      await vi.waitFor(() => expect(seen.length).toBeGreaterThan(2), { timeout: 60_000 });
      expect(new Set(seen)).toEqual(new Set(['close']));
      expect(store.client.status).not.toBe('ready');
    });
    await withStore(`redis://127.0.0.1:${open.port}/15`, (store, reasons) => {
      expect(reasons()).toEqual([]);
      expect(store.client.status).toBe('ready');
    });
  });

  test('what counting needs', async () => {
    const administrator = new Redis(open.port, '127.0.0.1');
    try {
      await administrator.call(
        'ACL',
        'SETUSER',
        'reader',
        'on',
        '>right-w0rd',
        '~*',
        '+@all',
        '-eval',
        '-evalsha',
      );
      await withStore(`redis://reader:right-w0rd@127.0.0.1:${open.port}`, async (store, reasons) => {
        expect(store.client.status).toBe('ready');
        expect(await store.attempt(() => store.client.eval('return 1', 0))).toBeUndefined();
        expect(reasons()).toEqual([`Redis responds with NOPERM: ${CHECK}`]);
      });
    } finally {
      administrator.disconnect();
    }
  });
});

function ignore(): void {}

function isInternet(address: AddressInfo | string | null | undefined): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}
