import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { isDatabaseFailure } from '../../src/database/database-failure.js';
import { killOwner } from '../support/data-directory.js';
import { openTestDatabase, TEST_SERVER, type TestDatabase } from '../support/database.js';

let home: TestDatabase;
let database: Database;
let unlock = async () => {};

beforeEach(async () => {
  home = await openTestDatabase();
  database = await openDatabase({ ...home.options, poolSize: 1, queryMilliseconds: 60_000 });
  await database.readPool.query('SELECT 1');
});

afterEach(async () => {
  vi.restoreAllMocks();
  await unlock();
  await database.close();
  await home.close();
});

const WAITING =
  "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/** Locks the table, until unlock(). */
async function lockTable(): Promise<void> {
  const client = await home.pool.connect();
  unlock = async () => {
    unlock = async () => {};
    client.release(true);
  };
  await client.query('BEGIN; LOCK TABLE domain IN ACCESS EXCLUSIVE MODE');
}

/** Ends the connection of a statement that waits for the lock, as a restart of the database does. */
async function loseConnection(): Promise<void> {
  if (TEST_SERVER === undefined) return killOwner(home.options.dataDirectory);
  const end = `SELECT pg_terminate_backend(pid) FROM (${WAITING}) AS waiting`;
  await expect.poll(async () => (await home.pool.query(end)).rows.length).toBe(1);
}

/** What comes of a query whose connection is lost while it waits for the lock. */
async function lostWhile(text: string): Promise<unknown> {
  await lockTable();
  const asked = vi.spyOn(pg.Pool.prototype, 'query');
  const settled = database.prisma.$queryRawUnsafe(text).catch((error: unknown) => error);
  await expect.poll(() => asked.mock.calls.length).toBe(1);
  await loseConnection();
  await unlock();
  return settled;
}

test.each([
  'SELECT name FROM domain',
  '/* planned each time */ WITH named AS (SELECT name FROM domain) SELECT name FROM named',
])(
  'a query of a response whose connection is lost is repeated on another: a restart of the database is not a failure yet: %s',
  async (read) => {
    expect(await lostWhile(read)).toEqual([]);
  },
);

test.each(['DELETE FROM domain', 'WITH gone AS (DELETE FROM domain RETURNING name) SELECT FROM gone'])(
  'a query of a response whose connection is lost is not repeated if it writes: %s',
  async (write) => {
    expect(await lostWhile(write)).toSatisfy(isDatabaseFailure);
  },
);

// Clients of the embedded database never wait for each other: a transaction holds all others off.
describe.skipIf(TEST_SERVER === undefined)('with a server', () => {
  test('a query of a response that is the victim of a deadlock, as with a migration, is repeated', async () => {
    await home.pool.query(
      `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types) VALUES ('a.example', 1, 1, 1, 1, '{}')`,
    );
    const migration = await home.pool.connect();
    await migration.query("BEGIN; SET LOCAL deadlock_timeout = '60s'; LOCK TABLE dns_record");
    const answer = database.readPool.query('SELECT name FROM domain LEFT JOIN dns_record ON domain = name');
    const waiting = () =>
      home.pool.query('SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass', ['dns_record']);
    while ((await waiting()).rows.length === 0);
    await migration.query('LOCK TABLE domain; COMMIT');
    migration.release();
    expect((await answer).rows).toEqual([{ name: 'a.example' }]);
  });

  test('a database that accepts no connections counts as unavailable, as one that is away does', async () => {
    const name = `closed_${process.pid}`;
    await home.pool.query(`CREATE DATABASE ${name} ALLOW_CONNECTIONS false`);
    const closed = new pg.Client(new URL(name, TEST_SERVER).href);
    await expect(closed.connect()).rejects.toSatisfy(isDatabaseFailure);
    await home.pool.query(`DROP DATABASE ${name}`);
  });

  test('a query of a response or a search that takes too long fails as a database that is away, and does not go on at the server', async () => {
    const impatient = await openDatabase({ ...home.options, queryMilliseconds: 100 });
    await lockTable();
    for (const prisma of [impatient.prisma, impatient.searchPrisma]) {
      const fails = () => expect(prisma.domain.findMany()).rejects.toSatisfy(isDatabaseFailure);
      await Promise.all(Array.from({ length: 8 }, fails));
    }
    await expect.poll(async () => (await home.pool.query(WAITING)).rows).toEqual([]);
    await unlock();
    await impatient.close();
  });
});
