import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findWatchViolations } from '../../src/recorder/stored-violations.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await emptyTestDatabase(database);
  await database.pool.query(
    `INSERT INTO watched_domain (name, every, due, scheduled, observed_at, outcome)
     VALUES ('example.com', 1, 1, 1, NULL, NULL), ('example.net', 1, 1, 1, 1, '{}')`,
  );
});
afterAll(() => database.close());

async function violations(): Promise<string[]> {
  const found: string[] = [];
  for await (const line of findWatchViolations(database.writingPrisma)) found.push(line);
  return found;
}

describe('checking the watched domains', () => {
  test('finds nothing in sound ones', async () => {
    expect(await violations()).toEqual([]);
  });

  test.each([
    ["name = 'EXAMPLE.com'", 'EXAMPLE.com: the name of the watched domain is not in canonical form'],
    ["name = ''", ': the name of the watched domain is not in canonical form'],
    ['due = -1', 'example.com: the observation is due at 1969-12-31T23:59:59.999999Z'],
    ['scheduled = -1', 'example.com: the observation is scheduled at 1969-12-31T23:59:59.999999Z'],
    ['due = 9223372036854775807', 'example.com: the observation is due at 9223372036854775807 µs'],
    ['observed_at = 1', 'example.com: only one of the time and the outcome'],
    ["outcome = '{}'", 'example.com: only one of the time and the outcome'],
    ['failures = -1', 'example.com: -1 observations have failed in a row'],
  ])('finds %s', async (change, line) => {
    await database.pool.query(`UPDATE watched_domain SET ${change} WHERE name = 'example.com'`);
    const found = await violations();
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(line);
  });
});
