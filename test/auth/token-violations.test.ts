import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findTokenViolations } from '../../src/auth/token-violations.js';
import { createToken } from '../../src/auth/tokens.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await emptyTestDatabase(database);
  await createToken(database.prisma, { name: 'a', scopes: ['dns:read'], createdAt: 1n, expiresAt: 2n });
  await createToken(database.prisma, { name: 'b', scopes: ['dns:read'], createdAt: 1n, expiresAt: null });
});
afterAll(() => database.close());

test('dms verify finds nothing in sound tokens', async () => {
  expect(await findTokenViolations(database.prisma)).toEqual([]);
});

test.each([
  ["scopes = '{dns:read,dns:write}'", 'token "a": there is no scope "dns:write"'],
  ["scopes = '{dns:read,dns:read}'", 'token "a": it has a scope twice'],
  ["digest = '\\x00'", 'token "a": its digest has 1 bytes, and a SHA-256 has 32'],
  ["name = 'a\tb'", 'token "a\\tb": its name is not valid'],
  ['expires_at = 1', 'token "a": it expires before it was made'],
  ['revoked_at = 9223372036854775807', 'token "a": it has the time 9223372036854775807 µs'],
  ['last_used = 9223372036854775807', 'token "a": it has the time 9223372036854775807 µs'],
])('dms verify finds what is wrong with a token: %s', async (change, line) => {
  await database.pool.query(`UPDATE access_token SET ${change} WHERE name = 'a'`);
  const found = await findTokenViolations(database.prisma);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(line);
});
