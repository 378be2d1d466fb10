import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/database/client.js';
import { createWritingPool } from '../../src/database/pool.js';
import { OperationError } from '../../src/model/errors.js';
import { databaseOfFile, IS_POOLED, TEST_SERVER } from '../support/database.js';
import { freePort } from '../support/free-port.js';

const database = databaseOfFile();

async function whileOpen(options: Partial<DatabaseOptions>, work: (other: Database) => Promise<void>) {
  const other = await openDatabase({ ...database.options, ...options });
  await work(other).finally(() => other.close());
}

test('an open database says where it is', () => {
  const { databaseUrl, dataDirectory } = database.options;
  const { hostname, port, pathname } = new URL(databaseUrl ?? 'postgresql://none');
  const server = `PostgreSQL ${pathname.slice(1)} at ${hostname}:${port || 5432}`;
  expect(database.place).toBe(databaseUrl === undefined ? `embedded, in ${dataDirectory}` : server);
});

test('times come back digit for digit, through Prisma and through SQL, alone, in arrays and as parameters', async () => {
  const large = 9_007_199_254_740_993n;
  const times = { created: -62_167_219_200_000_000n, lastUpdate: 0n, lastChange: -1n };
  const domain = { name: 'example.com', version: large, recordedAt: 253_402_300_799_999_999n, ...times };
  await database.prisma.domain.create({ data: { ...domain, dnsTypes: {} } });
  expect(await database.prisma.domain.findMany()).toMatchObject([domain]);
  expect(await database.prisma.$queryRaw`SELECT recorded_at FROM domain`).toEqual([
    { recorded_at: domain.recordedAt },
  ]);
  const { rows } = await database.pool.query(
    'SELECT version, created, array[version, NULL, -1] AS flat, array[[version]] AS nested, $1::bigint[] AS given FROM domain',
    [[1n, large]],
  );
  const arrays = { flat: [large, null, -1n], nested: [[large]], given: [1n, large] };
  expect(rows).toEqual([{ version: large, created: domain.created, ...arrays }]);
});

test('a database can be closed twice, and by a second opening without disturbing the first', async () => {
  const second = await openDatabase(database.options);
  await second.pool.query('SELECT 1');
  await Promise.all([second.close(), second.close()]);
  await expect(second.pool.query('SELECT 1')).rejects.toThrow();
  expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
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

describe.skipIf(TEST_SERVER === undefined || IS_POOLED)('with a server', () => {
  test('each SQL text is prepared once for a connection, under a name of its own, up to 500', async () => {
    await whileOpen({ poolSize: 1 }, async ({ prisma }) => {
      for (let round = 0; round < 3; round += 1) await prisma.$queryRaw`SELECT ${round}::int`;
      await prisma.$queryRaw`SELECT 'other'`;
      const rows = await prisma.$queryRaw<{ name: string }[]>`
          SELECT name FROM pg_prepared_statements WHERE NOT from_sql AND statement NOT LIKE '%pg_prepared%'`;
      expect(rows.filter(({ name }) => /^dms_[\w-]{22}$/.test(name))).toHaveLength(2);
      for (let number = 0; number < 510; number += 1) await prisma.$queryRawUnsafe(`SELECT ${number}`);
      const count = await prisma.$queryRaw`SELECT count(*) FROM pg_prepared_statements`;
      expect(count).toEqual([{ count: 500n }]);
    });
  });

  test('with DATABASE_PREPARED=off, no statement is prepared under a name', async () => {
    await whileOpen({ databasePrepared: 'off', poolSize: 1 }, async ({ prisma }) => {
      await prisma.$queryRaw`SELECT ${1}::int`;
      expect(await prisma.$queryRaw`SELECT name FROM pg_prepared_statements WHERE name <> ''`).toEqual([]);
    });
  });

  test('connections that the server ends, idle or in use, do not end the process, and new ones are made', async () => {
    await whileOpen({}, async ({ pool }) => {
      const lent = await pool.connect();
      await Promise.all([pool.query('SELECT 1'), pool.query('SELECT 1')]);
      await database.pool.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      await expect.poll(() => pool.idleCount).toBe(0);
      await expect(lent.query('SELECT 1')).rejects.toThrow();
      lent.release(true);
      expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    });
  });
});

test.skipIf(TEST_SERVER === undefined)('a wrong password is an error of one line without it', async () => {
  const url = new URL(TEST_SERVER ?? '');
  url.username = 'nobody_of_this_name';
  url.password = 'hunter2';
  expect(await failureOf(url.href)).toMatch(/^DATABASE_URL: cannot connect to PostgreSQL .+$/);
});

const SECRET = 'dms:hunter2';

test.each([
  ['a port that is no number', `postgresql://${SECRET}@127.0.0.1:port/dms`],
  ['an unescaped # in the password', 'postgresql://dms:#hunter2@127.0.0.1/dms'],
  ['an empty text', ''],
])('a DATABASE_URL that cannot be read is an error without the password: %s', async (_case, url) => {
  expect(await failureOf(url)).toMatch(
    /^DATABASE_URL is not the address of a PostgreSQL database\. Write it like .+$/,
  );
});

test('a DATABASE_URL where nothing listens, something else answers, or nothing for ten seconds, is an error of one line without the password', async () => {
  const silent = await silentServer();
  const other = await listening((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const failures = [await freePort(), other.port, silent.port].map((port) =>
    failureOf(`postgresql://${SECRET}@127.0.0.1:${port}/somewhere`),
  );
  const said = 'DATABASE_URL: cannot connect to PostgreSQL somewhere at 127\\.0\\.0\\.1:\\d+: ';
  expect(await Promise.all(failures)).toEqual([
    expect.stringMatching(`^${said}.*ECONNREFUSED.*\\.$`),
    expect.stringMatching(`^${said}.+$`),
    expect.stringMatching(`^${said}it does not respond\\.$`),
  ]);
  for (const { server } of [silent, other]) server.close();
  for (const socket of silent.sockets) socket.destroy();
}, 30_000);

test('closing a pool closes all connections to a silent server: idle ones, those in use, and those that were given up', async () => {
  const { server, port, sockets } = await silentServer();
  const config = { connectionString: `postgresql://dms@127.0.0.1:${port}/somewhere`, idleTimeoutMillis: 50 };
  const pool = createWritingPool(config, 4);
  const [idle, used, failed, ended] = await Promise.all(Array.from({ length: 4 }, () => pool.connect()));
  ended?.release();
  failed?.query('SELECT 1').catch(() => {});
  failed?.release(true);
  await expect.poll(() => pool.totalCount).toBe(2);
  const endless = used?.query('SELECT 1').catch(() => used.release(true));
  idle?.release();
  await pool.close(10);
  await endless;
  // What is half closed takes what is written; what is closed does not.
  const isClosed = (socket: Socket) => socket.destroyed || (socket.write('x') && false);
  await expect.poll(() => sockets.map(isClosed), { timeout: 5000 }).toEqual([true, true, true, true]);
  server.close();
});

/** A server that lets clients in and is silent then; it does not even close what they have closed. */
async function silentServer() {
  // PostgreSQL's protocol, "Message Formats": AuthenticationOk, ReadyForQuery.
  const welcome = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');
  const sockets: Socket[] = [];
  const found = await listening((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.once('data', () => socket.write(welcome)).resume();
  });
  return { ...found, sockets };
}

async function listening(serve: (socket: Socket) => void) {
  const server = createServer({ allowHalfOpen: true }, serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { server, port: typeof address === 'object' ? address?.port : 0 };
}

/** The message of the error, which has the password nowhere. */
async function failureOf(databaseUrl: string): Promise<string> {
  const error = await openDatabase({ databaseUrl, dataDirectory: '/nonexistent' }).catch((reason) => reason);
  expect(error).toBeInstanceOf(OperationError);
  expect(JSON.stringify(Object.getOwnPropertyDescriptors(error))).not.toContain('hunter2');
  return String(error.message);
}
