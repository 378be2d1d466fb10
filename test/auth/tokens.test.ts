import { beforeEach, expect, test } from 'vitest';
import { createAuthentication } from '../../src/auth/authenticate.js';
import { createTokenVerifier } from '../../src/auth/token-verifier.js';
import { createToken, listTokens, revokeToken } from '../../src/auth/tokens.js';
import { OperationError, UnauthenticatedError } from '../../src/model/errors.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';
import { createTestToken } from '../support/service.js';

const database = databaseOfFile();
beforeEach(() => emptyTestDatabase(database));

const NOW = 1_709_288_430_123_456n;
const MINUTE = 60_000_000n;
const NEW = { name: 'a', scopes: ['dns:read'], createdAt: NOW, expiresAt: null } as const;

const verifierAt = (time: { now: bigint }) => createTokenVerifier(database.prisma, () => time.now);

test('a token is dms_ and 256 random bits in base64url', async () => {
  const tokens = [];
  for (const name of ['a', 'b', 'c']) tokens.push(await createToken(database.prisma, { ...NEW, name }));
  for (const token of tokens) expect(token).toMatch(/^dms_[A-Za-z0-9_-]{43}$/);
  expect(new Set(tokens).size).toBe(3);
});

test('a token is kept nowhere: the database has its SHA-256 and what is said of it', async () => {
  const token = await createToken(database.prisma, { ...NEW, expiresAt: NOW + MINUTE });
  const { rows } = await database.pool.query(
    `SELECT encode(digest, 'hex') = encode(sha256($1::bytea), 'hex') AS same, row_to_json(access_token)::text AS row
     FROM access_token`,
    [token],
  );
  expect(rows).toHaveLength(1);
  expect(rows[0].same).toBe(true);
  expect(rows[0].row).not.toContain(token.slice(4));
  expect(await listTokens(database.prisma)).toEqual([
    { ...NEW, scopes: ['dns:read'], expiresAt: NOW + MINUTE, lastUsed: null, revokedAt: null },
  ]);
});

test('a token has a name that no other has, a revoked one included', async () => {
  const taken = 'A token has the name "a", or had it until it was revoked: choose another name.';
  await createToken(database.prisma, NEW);
  await expect(createToken(database.prisma, NEW)).rejects.toThrow(new OperationError(taken));
  await revokeToken(database.prisma, 'a', NOW);
  await expect(createToken(database.prisma, NEW)).rejects.toThrow(new OperationError(taken));
});

test('a token that is not there cannot be revoked', async () => {
  await expect(revokeToken(database.prisma, 'a', NOW)).rejects.toThrow(
    new OperationError('No token is named "a": dms token list shows all tokens.'),
  );
});

test('a token keeps the time of its first revocation', async () => {
  await createToken(database.prisma, NEW);
  expect(await revokeToken(database.prisma, 'a', NOW)).toBe(NOW);
  expect(await revokeToken(database.prisma, 'a', NOW + 1n)).toBe(NOW);
  expect(await listTokens(database.prisma)).toMatchObject([{ revokedAt: NOW }]);
});

test('a verifier knows a valid token at once, with its scopes and a budget of its own', async () => {
  const verify = verifierAt({ now: NOW });
  const one = await createTestToken(database, { scopes: ['dns:read', 'headers:read'] });
  const other = await createTestToken(database, {});
  const viewer = await verify(one);
  expect(viewer).toMatchObject({ kind: 'token', scopes: new Set(['dns:read', 'headers:read']) });
  const key = Reflect.get(Object(viewer), 'rateLimitKey');
  expect(key).toEqual(expect.any(String));
  expect(await verify(other)).not.toMatchObject({ rateLimitKey: key });
  expect(key).not.toContain(one.slice(4));
});

test.each([
  ...['', 'dms_', 'x', `dms_${'a'.repeat(42)}`, `dms_${'a'.repeat(44)}`],
  ...[`DMS_${'a'.repeat(43)}`, `dms_${'a'.repeat(43)}`],
])('a verifier rejects %j, which is none', async (text) => {
  await expect(verifierAt({ now: NOW })(text)).rejects.toThrow(UnauthenticatedError);
});

test('a verifier rejects an expired token from its very time on, even one that it knows', async () => {
  const time = { now: NOW };
  const verify = verifierAt(time);
  const token = await createToken(database.prisma, { ...NEW, expiresAt: NOW + MINUTE });
  await expect(verify(token)).resolves.toMatchObject({ kind: 'token' });
  time.now = NOW + MINUTE - 1n;
  await expect(verify(token)).resolves.toMatchObject({ kind: 'token' });
  time.now = NOW + MINUTE;
  await expect(verify(token)).rejects.toThrow(UnauthenticatedError);
});

test('a verifier queries the database once for many requests with one token', async () => {
  const verify = verifierAt({ now: NOW });
  const token = await createToken(database.prisma, NEW);
  await Promise.all(Array.from({ length: 50 }, () => verify(token)));
  await database.pool.query('DELETE FROM access_token');
  await expect(verify(token)).resolves.toMatchObject({ kind: 'token' });
});

const lastUsed = async () => (await listTokens(database.prisma))[0]?.lastUsed;

test('the last use of a token is noted once a minute at most, whichever process it is', async () => {
  const token = await createToken(database.prisma, NEW);
  await verifierAt({ now: NOW })(token);
  await expect.poll(lastUsed).toBe(NOW);
  await verifierAt({ now: NOW + MINUTE - 1n })(token);
  await verifierAt({ now: NOW + MINUTE })(token);
  await expect.poll(lastUsed).toBe(NOW + MINUTE);
  await verifierAt({ now: NOW + MINUTE + 1n })(token);
  expect(await lastUsed()).toBe(NOW + MINUTE);
});

const anonymousScopes = new Set(['search:read'] as const);
const authenticate = () => createAuthentication({ tokens: verifierAt({ now: NOW }), anonymousScopes });

test('authentication without a header gives an anonymous viewer, counted by address', async () => {
  const viewer = { kind: 'anonymous', rateLimitKey: '192.0.2.1', scopes: anonymousScopes, needsToken: false };
  expect(await authenticate()(undefined, '192.0.2.1')).toEqual(viewer);
});

test.each(['Bearer', 'bearer', 'BEARER  '])('authentication takes a scheme in any case: %s', async (name) => {
  const token = await createToken(database.prisma, NEW);
  expect(await authenticate()(`${name} ${token} `, '192.0.2.1')).toMatchObject({ kind: 'token' });
});

test.each([
  ['', false],
  ['Bearer ', false],
  ['Basic x', false],
  ['Basic dQ==', false],
  [`Token dms_${'a'.repeat(43)}`, false],
  [`dms_${'a'.repeat(43)}`, false],
  [`Bearer: dms_${'a'.repeat(43)}`, false],
  ['Bearer <token>', true],
  ['Bearer <the token>', true],
  ['Bearer $TOKEN', true],
  [`Bearer "dms_${'a'.repeat(43)}"`, true],
  [`Bearer dms_${'a'.repeat(43)} x`, true],
])('authentication says how to send a token in the place of %j (a token: %s)', async (sent, hasToken) => {
  const message =
    'The header Authorization must be "Authorization: Bearer <token>", with a token in the place of <token>.';
  const error = new UnauthenticatedError(message, hasToken);
  await expect(authenticate()(sent, '192.0.2.1')).rejects.toThrow(error);
});
