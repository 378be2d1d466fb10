import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '../../src/database/transaction.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  await database.pool.query('CREATE TABLE note (number integer UNIQUE)');
});

beforeEach(async () => {
  await emptyTestDatabase(database);
});

afterAll(async () => {
  await database.close();
});

async function notes(): Promise<unknown[]> {
  const { rows } = await database.pool.query('SELECT number FROM note ORDER BY number');
  return rows.map(({ number }) => number);
}

test('what the work of a transaction has written is committed once it has ended, and its result is returned', async () => {
  const result = await inTransaction(database.pool, async (client) => {
    await client.query('INSERT INTO note VALUES (1), (2)');
    return 'done';
  });
  expect(result).toBe('done');
  expect(await notes()).toEqual([1, 2]);
});

test('nothing of a transaction is committed if its work fails, and the error is the work’s own', async () => {
  const reason = new Error('no more');
  const failing = inTransaction(
    database.pool,
    async (client) => {
      await client.query('INSERT INTO note VALUES (1)');
      throw reason;
    },
    () => [{ text: 'INSERT INTO note VALUES (2)' }],
  );
  await expect(failing).rejects.toBe(reason);
  expect(await notes()).toEqual([]);
});

test('a failed statement that the work of a transaction has ignored is an error, not an empty commit', async () => {
  const failing = inTransaction(database.pool, async (client) => {
    await client.query('INSERT INTO note VALUES (1)');
    await client.query('SELECT missing').catch(() => {});
  });
  await expect(failing).rejects.toThrow('The transaction was rolled back');
  expect(await notes()).toEqual([]);
});

test('the last statements of a transaction are given the result of its work, and are committed with it', async () => {
  const result = await inTransaction(
    database.pool,
    async (client) => (await client.query('INSERT INTO note VALUES (1) RETURNING number')).rows.length,
    (count) => [
      { text: 'INSERT INTO note VALUES ($1)', values: [count + 1] },
      { text: 'INSERT INTO note VALUES (3)' },
    ],
  );
  expect(result).toBe(1);
  expect(await notes()).toEqual([1, 2, 3]);
});

test('if the database rejects one of the last statements of a transaction, its error is thrown, nothing is committed, and the connection is used again', async () => {
  const pool = new pg.Pool({ ...database.pool.options, max: 1 });
  try {
    const failing = inTransaction(
      pool,
      (client) => client.query('INSERT INTO note VALUES (1)'),
      () => [2, 1, 3].map((number) => ({ text: 'INSERT INTO note VALUES ($1)', values: [number] })),
    );
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(await notes()).toEqual([]);
    await inTransaction(
      pool,
      async () => {},
      () => [{ text: 'INSERT INTO note VALUES (4)' }],
    );
    expect(await notes()).toEqual([4]);
  } finally {
    await pool.end();
  }
});

test('no connection is lost to failed transactions, even more of them than the pool has connections', async () => {
  const failures = Array.from({ length: 30 }, () =>
    inTransaction(database.pool, (client) => client.query('SELECT missing')),
  );
  for (const outcome of await Promise.allSettled(failures)) {
    expect(outcome.status).toBe('rejected');
  }
  expect(await notes()).toEqual([]);
});

test('a connection that broke in the middle of a transaction is not used again', async () => {
  const failing = inTransaction(database.pool, async (client) => {
    await client.query('INSERT INTO note VALUES (1)');
    client.connection.stream.destroy();
    await client.query('INSERT INTO note VALUES (2)');
  });
  await expect(failing).rejects.toThrow();
  expect(await notes()).toEqual([]);
});
