import pg from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { inTransaction } from '../../src/database/transaction.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';

const database = databaseOfFile(({ pool }) => pool.query('CREATE TABLE note (number integer UNIQUE)'));
beforeEach(() => emptyTestDatabase(database));

async function notes(): Promise<unknown[]> {
  const { rows } = await database.pool.query('SELECT number FROM note ORDER BY number');
  return rows.map(({ number }) => number);
}

const insert = (number: number) => ({ text: 'INSERT INTO note VALUES ($1)', values: [number] });

test('what the work of a transaction writes is committed once it has ended, with the last statements, which are given its result', async () => {
  const result = await inTransaction(
    database.pool,
    async (client) => (await client.query('INSERT INTO note VALUES (1) RETURNING number')).rows.length,
    (count) => [insert(count + 1), insert(3)],
  );
  expect(result).toBe(1);
  expect(await notes()).toEqual([1, 2, 3]);
});

test('nothing of a transaction is committed if its work fails, and the error is the work’s own', async () => {
  const reason = new Error('no more');
  const work = async (client: pg.PoolClient) => {
    await client.query(insert(1));
    throw reason;
  };
  await expect(inTransaction(database.pool, work, () => [insert(2)])).rejects.toBe(reason);
  expect(await notes()).toEqual([]);
});

test('a failed statement that the work of a transaction has ignored is an error, not an empty commit', async () => {
  const failing = inTransaction(database.pool, async (client) => {
    await client.query(insert(1));
    await client.query('SELECT missing').catch(() => {});
  });
  await expect(failing).rejects.toThrow('The transaction was rolled back');
  expect(await notes()).toEqual([]);
});

test('if the database rejects a statement of a transaction, or one of the last, its error is thrown, nothing is committed, and the connection is used again', async () => {
  const pool = new pg.Pool({ ...database.pool.options, max: 1 });
  onTestFinished(() => pool.end());
  const work = (client: pg.PoolClient) => client.query(insert(1));
  const failing = [
    inTransaction(pool, (client) => work(client).then(() => client.query('SELECT missing'))),
    inTransaction(pool, work, () => [2, 1, 3].map(insert)),
  ];
  expect(await Promise.allSettled(failing)).toMatchObject([
    { reason: { code: '42703' } },
    { reason: { code: '23505' } },
  ]);
  expect(await notes()).toEqual([]);
  await inTransaction(pool, work);
  expect(await notes()).toEqual([1]);
});

test('a connection that broke in the middle of a transaction is not used again', async () => {
  const failing = inTransaction(database.pool, async (client) => {
    await client.query(insert(1));
    client.connection.stream.destroy();
    await client.query(insert(2));
  });
  await expect(failing).rejects.toThrow();
  expect(await notes()).toEqual([]);
});
