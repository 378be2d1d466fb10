import { beforeEach, describe, expect, test } from 'vitest';
import { forget } from '../../src/recorder/forget.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { runDms } from '../journeys/dms-command.js';
import { standInForCitus } from '../support/citus.js';
import { databaseOfFile, emptyTestDatabase, onShards, type TestDatabase } from '../support/database.js';
import { observation } from '../support/observations.js';
import { watchTransactions } from '../support/watched-transactions.js';

const database = databaseOfFile(({ pool }) => standInForCitus(pool));
beforeEach(() => emptyTestDatabase(database));

/** Records a domain with that many values of a header, each of them once, and what other domains have, too. */
async function record(domain: string, values: number): Promise<void> {
  const records = ['192.0.2.1', { host: 'shared.example', class: 'IN', type: 'TXT', entries: ['shared'] }];
  await createRecorder(database.pool).record(
    Array.from({ length: values }, (_, at) =>
      observation({ domain, at, records, headers: { server: 'shared', etag: `${domain} ${at}` } }),
    ),
  );
}

/** The statements of each transaction, in their order. */
async function transactionsOf(work: (watched: TestDatabase) => Promise<unknown>): Promise<string[][]> {
  const transactions: string[][] = [];
  await work(
    watched((text) => {
      if (text === 'BEGIN') transactions.push([]);
      transactions.at(-1)?.push(text);
    }),
  );
  return transactions;
}

/** The database, each statement of whose transactions is told before it is sent. */
function watched(before: (text: string) => void): TestDatabase {
  return { ...database, writingPrisma: watchTransactions(database.pool, { before }) };
}

/** The database for a process that ends before its second transaction. */
function killed(): TestDatabase {
  let transactions = 0;
  return watched((text) => {
    if (text === 'BEGIN') transactions += 1;
    if (transactions > 1) throw new Error('killed');
  });
}

async function knownTexts(): Promise<string[]> {
  const { rows } = await database.pool.query<{ text: string }>(
    'SELECT text FROM known_text UNION ALL SELECT name FROM known_name ORDER BY text',
  );
  return rows.map(({ text }) => text);
}

const LEFT = ['kept.example', 'kept.example 0', 'shared', 'shared', 'shared.example'];

describe.each([
  ['one server', (each: TestDatabase) => each],
  ['a cluster', onShards],
])('on %s', (_, home) => {
  test('erasing a domain with thousands of values has no longer transactions than one with a few', async () => {
    await record('kept.example', 1);
    await record('small.example', 2);
    await record('large.example', 2500);
    const small = await transactionsOf((each) => forget(home(each), ['small.example']));
    const large = await transactionsOf((each) => forget(home(each), ['large.example']));
    const longest = (transactions: string[][]) => Math.max(...transactions.map(({ length }) => length));
    expect(longest(small)).toBeGreaterThan(2);
    expect(longest(large)).toBe(longest(small));
    // Recorders that wait for the tables of names and texts have their turn after each portion.
    const locking = (transactions: string[][]) =>
      transactions.filter((texts) => texts.some((text) => text.startsWith('LOCK')));
    expect([locking(small).length, locking(large).length]).toEqual([1, 3]);
    expect(await knownTexts()).toEqual(LEFT);
  });

  test('what is recorded again between the erasing of a history and of its texts stays searchable', async () => {
    await record('kept.example', 1);
    await record('again.example', 2);
    await expect(forget(home(killed()), ['again.example'])).rejects.toThrow();
    await record('again.example', 1);
    await forget(home(database), ['unknown.example']);
    expect(await knownTexts()).toEqual(['again.example', 'again.example 0', ...LEFT]);
  });
});

test('erasing that is killed after the history leaves names and texts that break no rule, which the next one erases', async () => {
  await record('kept.example', 1);
  await record('killed.example', 2);
  await expect(forget(killed(), ['killed.example'])).rejects.toThrow();
  const dms = (...args: readonly string[]) => runDms(args, database.environment);
  expect(await dms('show', 'killed.example')).toMatchObject({ code: 1 });
  expect(await knownTexts()).toContain('killed.example 0');
  expect(await dms('search', '--header', 'etag=killed.example 0')).toMatchObject({
    stdout: expect.not.stringContaining('killed.example'),
  });
  expect(await dms('verify')).toMatchObject({ code: 0 });
  expect(await dms('forget', '--yes', 'killed.example')).toMatchObject({ code: 1 });
  expect(await knownTexts()).toEqual(LEFT);
  expect((await database.pool.query('SELECT FROM erased_text')).rows).toEqual([]);
});
