import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { isDatabaseFailure } from '../../src/database/database-failure.js';
import { ownerOf } from '../support/data-directory.js';
import { openTestDatabase, TEST_SERVER, type TestDatabase } from '../support/database.js';
import { killAtOnce } from '../support/processes.js';

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

/** Locks the table, until unlock(). */
async function lockTable(): Promise<void> {
  const client = await home.pool.connect();
  unlock = async () => {
    unlock = async () => {};
    // The database may have been started again meanwhile.
    const broken = await client.query('ROLLBACK').then(
      () => false,
      () => true,
    );
    client.release(broken);
  };
  await client.query('BEGIN; LOCK TABLE domain IN ACCESS EXCLUSIVE MODE');
}

/** Counts the questions that have come to the pool. */
function countQuestions(): () => number {
  const asked = vi.spyOn(pg.Pool.prototype, 'query');
  return () => asked.mock.calls.length;
}

/** Ends the connection of a statement that waits for the lock, as a restart of the database does. */
async function loseConnection(): Promise<void> {
  if (TEST_SERVER === undefined) {
    const owner = await ownerOf(home.options.dataDirectory);
    if (owner !== null) await killAtOnce(owner);
    return;
  }
  const ended = async () => {
    const { rows } = await home.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length;
  };
  await expect.poll(ended).toBe(1);
}

// Clients of the embedded database never wait for each other: a transaction holds all others off.
test.skipIf(TEST_SERVER === undefined)(
  'a query of a response that is the victim of a deadlock, as with a migration, is repeated',
  async () => {
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
  },
);

/** What comes of a query whose connection is lost while it waits for the lock. */
async function lostWhile<Result>(ask: () => Promise<Result>): Promise<unknown> {
  await lockTable();
  const questions = countQuestions();
  const settled = ask().catch((error: unknown) => error);
  await expect.poll(questions).toBe(1);
  await loseConnection();
  await unlock();
  return settled;
}

test('a query of a response whose connection is lost is repeated on another: a restart of the database is not a failure yet', async () => {
  expect(await lostWhile(async () => database.prisma.domain.findMany())).toEqual([]);
});

test('a query of a response whose connection is lost is repeated where it begins with queries that it names, and with a comment', async () => {
  const named = await lostWhile(
    async () => database.prisma.$queryRaw`
      /* planned each time */ WITH named AS (SELECT name FROM domain) SELECT count(*)::int FROM named`,
  );
  expect(named).toEqual([{ count: 0 }]);
});

test.each([
  ['DELETE', async () => database.prisma.domain.deleteMany()],
  [
    'WITH',
    async () =>
      database.prisma.$queryRaw`WITH gone AS (DELETE FROM domain RETURNING name) SELECT count(*) FROM gone`,
  ],
])(
  'a query of a response whose connection is lost is not repeated if it writes: %s',
  async (_word, write) => {
    expect(await lostWhile<unknown>(write)).toSatisfy(isDatabaseFailure);
  },
);

test.skipIf(TEST_SERVER === undefined)(
  'a database that accepts no connections counts as unavailable, as one that is away does',
  async () => {
    const name = `closed_${process.pid}`;
    const client = new pg.Client({ connectionString: TEST_SERVER });
    await client.connect();
    await client.query(`CREATE DATABASE ${name} ALLOW_CONNECTIONS false`);
    const url = new URL(TEST_SERVER ?? '');
    url.pathname = name;
    const closed = new pg.Client({ connectionString: url.href });
    expect(await closed.connect().catch((error: unknown) => error)).toSatisfy(isDatabaseFailure);
    await client.query(`DROP DATABASE ${name}`);
    await client.end();
  },
);

test.skipIf(TEST_SERVER === undefined)(
  'a query that was given up on does not go on at the server',
  async () => {
    const impatient = await openDatabase({ ...home.options, queryMilliseconds: 100 });
    await lockTable();
    const asked = Array.from({ length: 8 }, () => impatient.prisma.domain.findMany().catch(() => 'given up'));
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['given up']));
    const waiting = async () => {
      const { rows } = await home.pool.query<{ count: bigint }>(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return rows[0]?.count;
    };
    await expect.poll(waiting).toBe(0n);
    await unlock();
    await impatient.close();
  },
);
