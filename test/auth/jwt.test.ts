import { generateKeyPairSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import {
  AUDIENCE,
  goodClaims,
  type IdentityProvider,
  ISSUER,
  startIdentityProvider,
  type TestJwt,
} from '../support/identity-provider.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startTestService, type TestService, type TestServiceOptions } from '../support/service.js';
import { startRawServer } from '../support/web-server.js';

const REALM = 'Bearer realm="Domain Metadata Service"';
const NOT_VALID = 'The access token is not valid: it is malformed, unknown, expired or revoked.';

let database: TestDatabase;
let provider: IdentityProvider;
let service: TestService;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  provider = await startIdentityProvider();
  for (const algorithm of ['RS256', 'PS256', 'ES384', 'EdDSA']) await provider.addKey(algorithm, algorithm);
  service = await trusting(provider);
});
afterAll(async () => {
  await service.stop();
  await provider.web.close();
  await database.close();
});

/** A service that takes the provider's tokens. */
function trusting(
  { jwksUrl }: Pick<IdentityProvider, 'jwksUrl'>,
  options: TestServiceOptions = {},
): Promise<TestService> {
  const auth = { provider: { jwksUrl, issuer: ISSUER, audience: AUDIENCE }, required: 'scopes' as const };
  return startTestService({ database, auth, ...options });
}

/** Its answer to a question that needs the scope dns:read. */
function ask({ url }: TestService, token: string): Promise<Response> {
  return fetch(`${url}/api/v1/domain/example.com/dns`, { headers: bearer(token) });
}

async function statusOf(asked: TestService, token: string): Promise<number> {
  return (await ask(asked, token)).status;
}

describe("an identity provider's access token", () => {
  test.each(['first', 'RS256', 'PS256', 'ES384', 'EdDSA'])('signed by the key %s is taken', async (key) => {
    expect(await statusOf(service, await provider.sign({ key }))).toBe(200);
  });

  test.each([
    ['of type at+jwt', { typ: 'at+jwt' }],
    ['of type application/at+jwt', { typ: 'application/at+JWT' }],
    ['of type JWT', { typ: 'JWT' }],
    ['that names no type', { typ: undefined }],
  ])('%s is taken', async (_what, header) => {
    expect(await statusOf(service, await provider.sign({ header }))).toBe(200);
  });

  test.each([
    ['for several services', { aud: ['other', AUDIENCE] }],
    ['of a client without a subject', { sub: undefined, client_id: 'batch' }],
    ['that names scopes of other services', { scope: 'openid dns:read offline_access' }],
    ['whose scopes are a list', { scope: ['openid', 'dns:read'] }],
    ['whose scopes are a text in scp', { scope: undefined, scp: 'headers:read dns:read' }],
    ['whose scopes are a list in scp', { scope: undefined, scp: ['headers:read', 'dns:read'] }],
  ])('%s is taken', async (_what, claims) => {
    expect(await statusOf(service, await provider.sign({ claims }))).toBe(200);
  });

  test('may do what its scopes say, and is told which one it lacks', async () => {
    const lacking: readonly object[] = [
      ...['openid', '', undefined, 'dns:read,headers:read', 'DNS:READ', 5, {}, ['dns:read x']].map(
        (scope) => ({ scope }),
      ),
      { scope: 'openid', scp: 'dns:read' },
      { scope: undefined, roles: ['dns:read'], permissions: ['dns:read'] },
    ];
    for (const claims of lacking) {
      const response = await ask(service, await provider.sign({ claims: { ...claims } }));
      expect(response.status).toBe(403);
      expect(response.headers.get('www-authenticate')).toBe(
        `${REALM}, error="insufficient_scope", scope="dns:read"`,
      );
    }
  });

  test("has its subject's budget, whichever of its tokens comes", async () => {
    const limited = await trusting(provider, { rateLimits: { anonymous: 9, token: 9 } });
    const left = async (sub: string, jti: string) => {
      const response = await ask(limited, await provider.sign({ claims: { sub, jti } }));
      return /^"token";r=(\d);/.exec(response.headers.get('ratelimit') ?? '')?.[1];
    };
    expect([await left('alice', '1'), await left('alice', '2'), await left('bob', '3')]).toEqual([
      '8',
      '7',
      '8',
    ]);
    await limited.stop();
  });

  test("does not keep the service's own tokens out", async () => {
    expect(await statusOf(service, await service.createToken())).toBe(200);
  });
});

/** Seconds since the epoch, so far from now. */
function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow;
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}

describe('a JWT that is not good is rejected as every other token', () => {
  const claimed = (claims: object) => provider.sign({ claims: { ...claims } });
  test.each<readonly [string, () => Promise<string> | string]>([
    ['of another issuer', () => claimed({ iss: 'https://id.example.net/' })],
    ['without an issuer', () => claimed({ iss: undefined })],
    ['for another audience', () => claimed({ aud: 'other' })],
    ['without an audience', () => claimed({ aud: undefined })],
    ['expired', () => claimed({ exp: seconds(-6) })],
    ['that never expires', () => claimed({ exp: undefined })],
    ['not yet valid', () => claimed({ nbf: seconds(60) })],
    ["that is nobody's", () => claimed({ sub: undefined })],
    [
      'whose end is no time',
      () =>
        provider.sign({
          payload: JSON.stringify({ ...goodClaims(), exp: 0 }).replace('"exp":0', '"exp":1e400'),
        }),
    ],
    ['whose end is too far for a clock', () => claimed({ exp: 1e300 })],
    ['whose type is no text', () => provider.sign({ header: { typ: 5 } })],
    ['whose header is null', () => `${encoded('null')}.${encoded('{}')}.AAAA`],
    ['whose header is a list', () => `${encoded('[]')}.${encoded('{}')}.AAAA`],
    ['whose payload is null', () => provider.sign({ payload: 'null' })],
    ['whose key is named by a number', () => provider.sign({ header: { kid: 5 } })],
    ['of another type', () => provider.sign({ header: { typ: 'logout+jwt' } })],
    ['with a critical extension', () => provider.sign({ header: { crit: ['x'], x: 1 } })],
    [
      'signed by an unknown key',
      async () => (await provider.sign()).replace(/[^.]+$/, (s) => [...s].reverse().join('')),
    ],
    ['of the algorithm none', () => new UnsecuredJWT(goodClaims()).encode()],
    ['cut', async () => (await provider.sign()).slice(0, -1)],
    ['with an empty signature', async () => (await provider.sign()).replace(/[^.]+$/, '')],
    ['that is no JSON', () => 'a.b.c'],
    [
      'signed by HS256 with the public key as the secret',
      async () =>
        new SignJWT(goodClaims())
          .setProtectedHeader({ alg: 'HS256', kid: 'first', typ: 'at+jwt' })
          .sign(new TextEncoder().encode(await provider.publicKeyText('first'))),
    ],
  ])('%s', async (_what, make) => {
    const token = await make();
    const response = await ask(service, token);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(`${REALM}, error="invalid_token"`);
    expect(await response.json()).toMatchObject({ code: 'UNAUTHENTICATED', detail: NOT_VALID });
    expect(toldOf(service, response)).toEqual([
      expect.objectContaining({ level: 'info', reason: expect.stringMatching(/./) }),
    ]);
    for (const part of token.split('.').filter(({ length }) => length > 9)) {
      expect(JSON.stringify(service.logged)).not.toContain(part);
    }
  });

  test('and is, where no provider is set', async () => {
    const alone = await startTestService({ database });
    const response = await ask(alone, await provider.sign());
    expect(response.status).toBe(401);
    expect(toldOf(alone, response)).toEqual([
      expect.objectContaining({
        reason: 'it is a JSON Web Token, and no identity provider is set: see AUTH_JWKS_URL',
      }),
    ]);
    await alone.stop();
  });
});

test.each(['RS384', 'RS512', 'PS384', 'PS512', 'ES512'])(
  'only the algorithms that are named are taken: not %s, whatever the key would do',
  async (algorithm) => {
    // Its key says nothing of what it is for.
    await provider.addKey(algorithm, algorithm);
    const fresh = await trusting(provider);
    expect(await statusOf(fresh, await provider.sign({ key: algorithm }))).toBe(401);
    expect(await statusOf(fresh, await provider.sign())).toBe(200);
    await fresh.stop();
  },
);

/** What the log says of the token that was rejected by this answer. */
function toldOf({ logged }: TestService, { headers }: Response) {
  const requestId = headers.get('x-request-id');
  return logged.filter((line) => line['msg'] === 'token rejected' && line['requestId'] === requestId);
}

describe('the log says why a JWT was rejected, and what it was compared with', () => {
  const TYPES = 'expected at+jwt, JWT, or none';
  test.each<readonly [string, TestJwt, string | RegExp]>([
    [
      'another issuer',
      { claims: { iss: 'https://id.example.net/' } },
      `unexpected "iss" claim value: the token has "https://id.example.net/", AUTH_ISSUER is "${ISSUER}"`,
    ],
    [
      'an audience of the greatest length',
      { claims: { aud: ['x'.repeat(3_000)] } },
      `unexpected "aud" claim value: the token has ["${'x'.repeat(198)}…, AUTH_AUDIENCE is "${AUDIENCE}"`,
    ],
    [
      'no audience',
      { claims: { aud: undefined } },
      `missing required "aud" claim: the token has nothing, AUTH_AUDIENCE is "${AUDIENCE}"`,
    ],
    ['no end', { claims: { exp: undefined } }, /^missing required "exp" claim: the token has nothing/],
    [
      'its end',
      { claims: { exp: 1_700_000_000 } },
      /^"exp" claim timestamp check failed: the token has 1700000000, and it is \d{10} now$/,
    ],
    [
      'its beginning',
      { claims: { nbf: 9_000_000_000 } },
      /^"nbf" claim timestamp check failed: the token has 9000000000, and it is \d{10} now$/,
    ],
    ['nobody', { claims: { sub: undefined } }, /^the token has neither "sub" nor "client_id"/],
    [
      'its type',
      { header: { typ: 'logout+jwt' } },
      `unexpected "typ" header: the token has "logout+jwt", ${TYPES}`,
    ],
    [
      'a key that the provider does not have',
      { header: { kid: 'old' } },
      /^no applicable key found .*: the token names the key "old" for "ES256"; AUTH_JWKS_URL has no such key$/,
    ],
  ])('%s', async (_what, token, reason) => {
    const response = await ask(service, await provider.sign(token));
    expect(toldOf(service, response)).toEqual([
      expect.objectContaining({
        reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
      }),
    ]);
  });

  test('an algorithm that is not taken', async () => {
    const response = await ask(service, new UnsecuredJWT(goodClaims()).encode());
    expect(toldOf(service, response)).toEqual([
      expect.objectContaining({
        reason: expect.stringMatching(/not allowed: the token has "none", expected RS256, PS256, /),
      }),
    ]);
  });

  test("but nothing of the service's own tokens, good or not", async () => {
    const response = await ask(service, `dms_${'a'.repeat(43)}`);
    expect(response.status).toBe(401);
    expect(toldOf(service, response)).toEqual([]);
  });
});

describe("a key of the provider's that cannot be used", () => {
  const { publicKey: short } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const UNUSABLE = [
    { ...short.export({ format: 'jwk' }), kid: 'short', alg: 'RS256' },
    { kty: 'RSA', e: 'AQAB', kid: 'without its modulus', alg: 'RS256' },
    { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'B'.repeat(43), kid: 'off the curve', alg: 'ES256' },
  ];
  const naming = ({ kid, alg }: { kid: string; alg: string }) => {
    const [header, payload] = [{ alg, kid }, goodClaims()].map((part) => encoded(JSON.stringify(part)));
    return `${header}.${payload}.${'A'.repeat(86)}`;
  };

  test('makes a token that names it one that is not valid, counted as such; the log says why', async () => {
    const other = await startIdentityProvider();
    const good = await other.sign();
    other.web.serve({ body: JSON.stringify({ keys: [...(await other.publicKeys()), ...UNUSABLE] }) });
    const asking = await trusting(other, { rateLimits: { anonymous: 2 * UNUSABLE.length, token: 9 } });
    for (const key of [...UNUSABLE, ...UNUSABLE]) {
      const response = await ask(asking, naming(key));
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ code: 'UNAUTHENTICATED', detail: NOT_VALID });
    }
    expect(await statusOf(asking, naming({ kid: 'short', alg: 'RS256' }))).toBe(429);
    for (const { kid } of UNUSABLE) {
      const reason = expect.stringMatching(
        `^the key cannot be used .*: the token names the key "${kid}" for `,
      );
      expect(asking.logged).toContainEqual(expect.objectContaining({ msg: 'token rejected', reason }));
    }
    await asking.stop();
    const patient = await trusting(other);
    expect(await statusOf(patient, good), 'its other keys go on').toBe(200);
    await patient.stop();
    await other.web.close();
  });
});

describe('the keys of the provider', () => {
  let other: IdentityProvider;
  let asking: TestService;

  beforeAll(async () => {
    other = await startIdentityProvider();
  });
  afterAll(() => other.web.close());

  test('are fetched when the service starts, and for unknown keys not again within ten seconds', async () => {
    const began = performance.now();
    // Once more for each ten seconds that a slow machine takes.
    const mostFetches = () => 1 + Math.floor((performance.now() - began) / 10_000);
    asking = await trusting(other);
    await vi.waitFor(() => expect(other.fetches()).toBe(1), { timeout: 60_000 });
    const good = Array.from({ length: 20 }, async () => statusOf(asking, await other.sign()));
    expect(new Set(await Promise.all(good))).toEqual(new Set([200]));
    const unknown = Array.from({ length: 50 }, async (_, index) =>
      statusOf(asking, await other.sign({ header: { kid: `unknown ${index}` } })),
    );
    expect(new Set(await Promise.all(unknown))).toEqual(new Set([401]));
    expect(other.fetches()).toBeLessThanOrEqual(mostFetches());
    await asking.stop();
  });

  test('cannot be fetched: the log says so before a token has come, and where, without what may be secret', async () => {
    const address = `http://127.0.0.1:${await freePort()}/jwks.json`;
    const jwksUrl = new URL(`${address}?key=hunter2-hunter2`);
    asking = await trusting({ jwksUrl });
    await vi.waitFor(
      () =>
        expect(asking.logged).toContainEqual(
          expect.objectContaining({
            level: 'warn',
            msg: "the identity provider's keys cannot be fetched",
            address,
            reason: expect.stringContaining('ECONNREFUSED'),
          }),
        ),
      { timeout: 60_000 },
    );
    expect(JSON.stringify(asking.logged)).not.toContain('hunter2');
    await asking.stop();
  });

  test('are none: the log warns of it', async () => {
    other.web.serve({ body: '{"keys":[]}' });
    asking = await trusting(other);
    await vi.waitFor(
      () =>
        expect(asking.logged).toContainEqual(
          expect.objectContaining({
            level: 'warn',
            msg: 'the identity provider has no keys: every JWT is rejected',
          }),
        ),
      { timeout: 60_000 },
    );
    expect(await statusOf(asking, await other.sign())).toBe(401);
    await asking.stop();
  });

  test.each([
    ['an error', { status: 500 }],
    ['a redirect', { status: 302, fields: [['location', '/elsewhere']] as const }],
    ['no JSON', { body: '<html>' }],
    ['no keys', { body: '{}' }],
  ])(
    'that are %s leave the service without: 503 with Retry-After, reported once, and fetched once',
    async (_what, response) => {
      const token = await other.sign();
      other.web.serve(response);
      const before = other.fetches();
      asking = await trusting(other);
      for (let time = 0; time < 3; time += 1) {
        const rejected = await ask(asking, token);
        expect(rejected.status).toBe(503);
        expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        expect(await rejected.json()).toMatchObject({
          code: 'UNAVAILABLE',
          detail: 'The identity provider does not answer. Try again shortly.',
        });
      }
      expect(other.fetches()).toBe(before + 1);
      const told = asking.logged.filter(
        ({ msg }) => msg === "the identity provider's keys cannot be fetched",
      );
      expect(told).toEqual([
        expect.objectContaining({ level: 'warn', address: other.jwksUrl.href, reason: expect.any(String) }),
      ]);
      expect(await statusOf(asking, await asking.createToken())).toBe(200);
      await asking.stop();
    },
  );

  test.each<readonly [string, (socket: Socket) => void]>([
    ['at all', (socket) => socket.resume()],
    ['to their end, but a byte at a time', dripKeys],
  ])(
    'that do not come %s leave the service without: 503 with Retry-After, and others are answered meanwhile',
    async (_what, behave) => {
      const hanging = await startRawServer(behave);
      asking = await trusting({ jwksUrl: new URL(`http://127.0.0.1:${hanging.port}/`) });
      const waiting = ask(asking, await provider.sign());
      await vi.waitFor(() => expect(hanging.connections).toBe(1), { timeout: 60_000 });
      expect(await statusOf(asking, await asking.createToken())).toBe(200);
      const rejected = await waiting;
      expect(rejected.status).toBe(503);
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await rejected.json()).toMatchObject({ code: 'UNAVAILABLE' });
      // Nothing is left open of the attempt.
      await hanging.idle();
      expect(await statusOf(asking, await asking.createToken())).toBe(200);
      await asking.stop();
      await hanging.close();
    },
  );
});

/** Keys that begin correctly, and never end. */
function dripKeys(socket: Socket): void {
  socket.resume().write('HTTP/1.1 200 OK\r\ncontent-type: application/jwk-set+json\r\n\r\n{"keys":[');
  const dripping = setInterval(() => socket.write(' '), 100);
  socket.once('close', () => clearInterval(dripping));
}
