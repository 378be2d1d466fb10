import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createTokenVerifier } from '../../src/auth/token-verifier.js';
import { digestOf } from '../../src/auth/tokens.js';
import { UnauthenticatedError } from '../../src/model/errors.js';
import { whileLocked } from '../support/database.js';
import { AUDIENCE, ISSUER, startIdentityProvider } from '../support/identity-provider.js';
import { bearer, serviceOfFile, startServiceForTest } from '../support/service.js';

/** Without a worker, which would query the database, too, while its statements are counted. */
const service = serviceOfFile({ role: 'api' });

const now = () => BigInt(Date.now()) * 1000n;
const unknownToken = () => `dms_${randomBytes(32).toString('base64url')}`;

async function tokenWith(data: { createdAt?: bigint; expiresAt?: bigint; revokedAt?: bigint }) {
  const token = await service.createToken();
  await service.database.prisma.accessToken.update({ where: { digest: digestOf(token) }, data });
  return token;
}

const expiredToken = () => tokenWith({ createdAt: now() - 2n, expiresAt: now() - 1n });
const revokedToken = () => tokenWith({ revokedAt: now() });

const PATHS = ['/api/v1/domain/example.com', '/api/v1/domain/example.com/dns', '/graphql', '/nothing'];

test.each(PATHS)('unknown, expired and revoked tokens have one answer, to the byte: %s', async (path) => {
  const answers = [];
  for (const token of [unknownToken(), await expiredToken(), await revokedToken()]) {
    const headers = { ...bearer(token), 'x-request-id': 'same' };
    const response = await service.fetch(path, { headers });
    const fields = [...response.headers].filter(([name]) => name !== 'date');
    answers.push({ status: response.status, fields, body: await response.text() });
  }
  expect(answers[0]?.status).toBe(401);
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test('unknown, expired and revoked tokens are looked up by the same statement, which finds no row, each time', async () => {
  const verify = createTokenVerifier(service.database.prisma, now);
  const queries = vi.spyOn(pg.Client.prototype, 'query');
  const seen = [];
  for (const token of [unknownToken(), await expiredToken(), await revokedToken()]) {
    for (let time = 0; time < 2; time += 1) {
      queries.mockClear();
      await expect(verify(token)).rejects.toThrow(UnauthenticatedError);
      const asked = queries.mock.calls.map(([query]) => ({
        text: String(Reflect.get(Object(query), 'text')),
        values: Reflect.get(Object(query), 'values'),
      }));
      const { pool } = service.database;
      const again = await Promise.all(asked.map(({ text, values }) => pool.query(text, values)));
      seen.push({ statements: asked.map(({ text }) => text), rows: again.map(({ rows }) => rows) });
    }
  }
  queries.mockRestore();
  expect(seen[0]?.statements).toEqual([expect.stringContaining('access_token')]);
  expect(seen[0]?.rows).toEqual([[]]);
  for (const each of seen) expect(each).toEqual(seen[0]);
});

test('a flood of tokens that are not valid leaves nothing behind: they are as new each time, and valid ones stay known', async () => {
  const provider = await startIdentityProvider();
  onTestFinished(() => provider.web.close());
  const { database } = service;
  const trusted = { jwksUrl: provider.jwksUrl, issuer: ISSUER, audience: AUDIENCE };
  const auth = { provider: trusted, required: 'scopes' } as const;
  const rateLimits = { anonymous: 150, token: 1_000_000 };
  const { rest } = await startServiceForTest({ database, role: 'api', rateLimits, auth });
  const ask = async (token: string) => (await rest('/domain/example.com/dns', bearer(token))).status;
  const valid = [await service.createToken(), await provider.sign()];
  for (const token of valid) expect(await ask(token)).toBe(404);
  const flood = Array.from({ length: 150 }, (_, index) =>
    index % 2 === 0 ? unknownToken() : unsigned(index),
  );
  const statuses = await Promise.all(flood.map(ask));
  expect(new Set(statuses)).toEqual(new Set([401]));
  expect(new Set(await Promise.all(flood.slice(0, 20).map(ask)))).toEqual(new Set([429]));
  for (const token of valid) expect(await ask(token)).toBe(404);
});

/** A JWT that names a key of its own, and is signed by none. */
function unsigned(index: number): string {
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: `key ${index}` })).toString('base64url');
  return `${header}.${Buffer.from('{}').toString('base64url')}.AAAA`;
}

test('of an address, eight tokens are looked up at once and 100 requests wait: the next one gets 503 at once', async () => {
  let asked: Promise<Response>[] = [];
  await whileLocked(
    service.database.pool,
    async () => {
      asked = Array.from({ length: 120 }, () => fetch(service.url, { headers: bearer(unknownToken()) }));
      const refused = await Promise.any(
        asked.map(async (each) => {
          const response = await each;
          return response.status === 503 ? response : Promise.reject(new Error(`It is ${response.status}.`));
        }),
      );
      expect(refused.headers.get('retry-after')).toBe('1');
    },
    'access_token',
  );
  await Promise.allSettled(asked);
});
