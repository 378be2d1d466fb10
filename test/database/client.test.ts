import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { isDatabaseFailure } from '../../src/database/database-failure.js';
import { createWritingPool } from '../../src/database/pool.js';
import { OperationError } from '../../src/model/errors.js';
import {
  emptyTestDatabase,
  IS_POOLED,
  openTestDatabase,
  TEST_SERVER,
  type TestDatabase,
} from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(async () => {
  await emptyTestDatabase(database);
});

afterAll(async () => {
  await database.close();
});

const domain = {
  name: 'example.com',
  version: 9_007_199_254_740_993n,
  recordedAt: 253_402_300_799_999_999n,
  created: -62_167_219_200_000_000n,
  lastUpdate: 0n,
  lastChange: 1n,
  dnsTypes: {},
};

describe('an open database', () => {
  test('says where it is', () => {
    const { databaseUrl, dataDirectory } = database.options;
    const { hostname, port, pathname } = new URL(databaseUrl ?? 'postgresql://none');
    expect(database.place).toBe(
      databaseUrl === undefined
        ? `embedded, in ${dataDirectory}`
        : `PostgreSQL ${pathname.slice(1)} at ${hostname}:${port || 5432}`,
    );
    expect([database.createdNow, database.unseeded]).toEqual([false, false]);
  });

  test('returns times digit for digit, through Prisma and through SQL', async () => {
    await database.prisma.domain.create({ data: domain });
    expect(await database.prisma.domain.findMany()).toMatchObject([domain]);
    const { rows } = await database.pool.query('SELECT version, recorded_at, created FROM domain');
    expect(rows).toEqual([
      { version: domain.version, recorded_at: domain.recordedAt, created: domain.created },
    ]);
    expect(await database.prisma.$queryRaw`SELECT recorded_at FROM domain`).toEqual([
      { recorded_at: domain.recordedAt },
    ]);
  });

  test('returns arrays of bigint as BigInt, with their nulls', async () => {
    const { rows } = await database.pool.query(
      `SELECT array[9007199254740993, NULL, -1] AS flat, '{{1,2},{3,4}}'::bigint[] AS nested, '{}'::bigint[] AS empty`,
    );
    expect(rows).toEqual([
      {
        flat: [9_007_199_254_740_993n, null, -1n],
        nested: [
          [1n, 2n],
          [3n, 4n],
        ],
        empty: [],
      },
    ]);
  });

  test('takes bigint and lists as parameters of SQL', async () => {
    const { rows } = await database.pool.query(
      'SELECT * FROM unnest($1::bigint[], $2::text[]) AS pair (number, text)',
      [
        [1n, 9_007_199_254_740_993n],
        ['a', null],
      ],
    );
    expect(rows).toEqual([
      { number: 1n, text: 'a' },
      { number: 9_007_199_254_740_993n, text: null },
    ]);
  });

  test('can be closed twice, and by a second opening without disturbing the first', async () => {
    const second = await openDatabase(database.options);
    await second.pool.query('SELECT 1');
    await Promise.all([second.close(), second.close()]);
    await expect(second.pool.query('SELECT 1')).rejects.toThrow();
    expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });
});

test('responses do not wait for searches, which have four of ten connections', async () => {
  const { prisma, searchPool, readPool } = database;
  expect([readPool.options.max, searchPool.options.max]).toEqual([6, 4]);
  const held = await Promise.all(Array.from({ length: 4 }, () => searchPool.connect()));
  const search = database.searchPrisma.$queryRaw`SELECT 1 AS one`.then((rows) => rows);
  await expect.poll(() => searchPool.waitingCount).toBe(1);
  expect(await prisma.$queryRaw`SELECT 2 AS two`).toEqual([{ two: 2 }]);
  for (const client of held) client.release();
  expect(await search).toEqual([{ one: 1 }]);
});

describe.skipIf(TEST_SERVER === undefined)('on a server', () => {
  test('a search that takes too long fails as a database that is away, as any response does', async () => {
    const impatient = await openDatabase({ ...database.options, queryMilliseconds: 200 });
    for (const pool of [impatient.readPool, impatient.searchPool]) {
      // The server cancels it as soon as the pool gives it up: either of the two may be the first to be heard of.
      const error: unknown = await pool.query('SELECT pg_sleep(1000)').catch((reason: unknown) => reason);
      expect(isDatabaseFailure(error)).toBe(true);
    }
    await impatient.close();
  });

  test.skipIf(IS_POOLED)(
    'each SQL text is prepared once for a connection, under a name of its own',
    async () => {
      const one = await openDatabase({ ...database.options, poolSize: 1 });
      for (let number = 0; number < 3; number += 1) {
        await one.prisma.$queryRaw`SELECT ${number}::int`;
      }
      await one.prisma.$queryRaw`SELECT 'other'`;
      const rows = await one.prisma.$queryRaw<{ name: string }[]>`
      SELECT name FROM pg_prepared_statements WHERE NOT from_sql AND statement NOT LIKE '%pg_prepared%'`;
      expect(rows.filter(({ name }) => /^dms_[\w-]{22}$/.test(name))).toHaveLength(2);
      await one.close();
    },
  );

  test.skipIf(IS_POOLED)('with DATABASE_PREPARED=off, none is prepared under a name', async () => {
    const one = await openDatabase({ ...database.options, databasePrepared: 'off', poolSize: 1 });
    await one.prisma.$queryRaw`SELECT ${1}::int`;
    expect(await one.prisma.$queryRaw`SELECT name FROM pg_prepared_statements WHERE name <> ''`).toEqual([]);
    await one.close();
  });

  test.skipIf(IS_POOLED)('more than 500 different texts leave no more than 500 prepared', async () => {
    const one = await openDatabase({ ...database.options, poolSize: 1 });
    for (let number = 0; number < 510; number += 1) {
      await one.prisma.$queryRawUnsafe(`SELECT ${number}`);
    }
    const rows = await one.prisma.$queryRaw`SELECT count(*) FROM pg_prepared_statements`;
    expect(rows).toEqual([{ count: 500n }]);
    await one.close();
  });

  test('closing does not wait for a statement that does not end', async () => {
    const other = await openDatabase(database.options);
    const lent = await other.pool.connect();
    const endless = lent.query('SELECT pg_sleep(100)').finally(() => lent.release(true));
    const ended = expect(endless).rejects.toThrow('Connection terminated');
    await other.close();
    await ended;
  });

  test.skipIf(IS_POOLED)(
    'connections that the server ends, idle or in use, do not end the process, and new ones are made',
    async () => {
      const other = await openDatabase(database.options);
      const lent = await other.pool.connect();
      await Promise.all([other.pool.query('SELECT 1'), other.pool.query('SELECT 1')]);
      await database.pool.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      await expect.poll(() => other.pool.idleCount).toBe(0);
      await expect(lent.query('SELECT 1')).rejects.toThrow();
      lent.release(true);
      expect((await other.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
      await other.close();
    },
  );

  test('a wrong password is an error of one line without the password', async () => {
    const url = new URL(TEST_SERVER ?? '');
    url.username = 'nobody_of_this_name';
    url.password = 'hunter2';
    const error = await failureOf(url.href);
    expect(error.message).toMatch(/^DATABASE_URL: cannot connect to the database .+$/);
    expect(error.message).not.toContain('hunter2');
  });
});

describe('a DATABASE_URL that cannot be used is an error of one line that never holds the password', () => {
  test.each([
    ['a text that is no address', 'hunter2'],
    ['an address of something else', 'mysql://dms:hunter2@127.0.0.1/dms'],
    ['a port that is no number', 'postgresql://dms:hunter2@127.0.0.1:port/dms'],
    ['an unescaped # in the password', 'postgresql://dms:#hunter2@127.0.0.1/dms'],
    ['an empty text', ''],
  ])('%s', async (_case, url) => {
    const error = await failureOf(url);
    expect(error.message).toMatch(
      /^DATABASE_URL is not the address of a PostgreSQL database\. Write it like .+$/,
    );
    expect(JSON.stringify(Object.getOwnPropertyDescriptors(error))).not.toContain('hunter2');
  });

  test('a port where nothing listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    server.close();
    await once(server, 'close');
    const error = await failureOf(`postgresql://dms:hunter2@localhost:${port}/somewhere`);
    expect(error.message).toMatch(
      /^DATABASE_URL: cannot connect to the database somewhere at localhost:\d+: .*ECONNREFUSED.*\.$/,
    );
    expect(JSON.stringify(Object.getOwnPropertyDescriptors(error))).not.toContain('hunter2');
  });

  test('a port where something else answers', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const error = await failureOf(`postgresql://dms:hunter2@127.0.0.1:${port}/somewhere`);
    expect(error.message).toMatch(/^DATABASE_URL: cannot connect to the database somewhere at 127.+$/);
    server.close();
  });

  test('a server that lets clients in and is silent then, after ten seconds', async () => {
    const { server, port, sockets } = await silentServer();
    const error = await failureOf(`postgresql://dms:hunter2@127.0.0.1:${port}/somewhere`);
    expect(error.message).toBe(
      `DATABASE_URL: cannot connect to the database somewhere at 127.0.0.1:${port}: it does not respond.`,
    );
    server.close();
    for (const socket of sockets) socket.destroy();
  }, 30_000);
});

test('closing a pool closes all connections to a silent server: idle ones, those in use, and those that were given up', async () => {
  const { server, port, sockets } = await silentServer();
  const config = { connectionString: `postgresql://dms@127.0.0.1:${port}/somewhere`, idleTimeoutMillis: 50 };
  const pool = createWritingPool(config, { size: 4, query: 60_000 });
  const [idle, used, failed, ended] = await Promise.all(Array.from({ length: 4 }, () => pool.connect()));
  ended?.release();
  failed?.query('SELECT 1').catch(() => {});
  failed?.release(true);
  await expect.poll(() => pool.totalCount).toBe(2);
  const endless = used?.query('SELECT 1').catch(() => used.release(true));
  idle?.release();
  await pool.close(10);
  await endless;
  expect(sockets).toHaveLength(4);
  // What is half closed takes what is written; what is closed does not.
  await expect
    .poll(() => sockets.map((socket) => socket.destroyed || (socket.write('x') && false)), { timeout: 5000 })
    .toEqual([true, true, true, true]);
  server.close();
});

/** A server that lets clients in and is silent then; it does not even close what they have closed. */
async function silentServer() {
  // PostgreSQL's protocol, "Message Formats": AuthenticationOk, ReadyForQuery.
  const welcome = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.once('data', () => socket.write(welcome)).resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { server, sockets, port: typeof address === 'object' ? address?.port : 0 };
}

async function failureOf(databaseUrl: string): Promise<Error> {
  const error = await openDatabase({ databaseUrl, dataDirectory: '/nonexistent' }).then(
    () => new Error('It was opened.'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OperationError);
  return error instanceof Error ? error : new Error(String(error));
}
