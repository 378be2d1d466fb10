import { generateKeyPairSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
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

const TAKEN = ['RS256', 'PS256', 'ES384', 'EdDSA'];
/** Their keys say nothing of what they are for. */
const NOT_TAKEN = ['RS384', 'RS512', 'PS384', 'PS512', 'ES512'];

let database: TestDatabase;
let provider: IdentityProvider;
let service: TestService;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  provider = await startIdentityProvider();
  for (const algorithm of [...TAKEN, ...NOT_TAKEN]) await provider.addKey(algorithm, algorithm);
  service = await trusting(provider);
  // A slow machine may not fetch its keys in time at first.
  await vi.waitFor(async () => expect(await statusOf(service, await provider.sign())).toBe(200), {
    timeout: 60_000,
  });
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

test.each<readonly [string, TestJwt]>([
  ...['first', ...TAKEN].map((key) => [`signed by the key ${key}`, { key }] as const),
  ['of type at+jwt', { header: { typ: 'at+jwt' } }],
  ['of type application/at+jwt', { header: { typ: 'application/at+JWT' } }],
  ['of type JWT', { header: { typ: 'JWT' } }],
  ['that names no type', { header: { typ: undefined } }],
  ['for several services', { claims: { aud: ['other', AUDIENCE] } }],
  ['of a client without a subject', { claims: { sub: undefined, client_id: 'batch' } }],
  ['that names scopes of other services', { claims: { scope: 'openid dns:read offline_access' } }],
  ['whose scopes are a list', { claims: { scope: ['openid', 'dns:read'] } }],
  ['whose scopes are a text in scp', { claims: { scope: undefined, scp: 'headers:read dns:read' } }],
  ['whose scopes are a list in scp', { claims: { scope: undefined, scp: ['headers:read', 'dns:read'] } }],
])("an identity provider's access token is taken: one %s", async (_what, token) => {
  expect(await statusOf(service, await provider.sign(token))).toBe(200);
});

test.each([
  ...['openid', '', undefined, 'dns:read,headers:read', 'DNS:READ', 5, {}, ['dns:read x']].map((scope) => ({
    scope,
  })),
  { scope: 'openid', scp: 'dns:read' },
  { scope: undefined, roles: ['dns:read'], permissions: ['dns:read'] },
])(
  'an access token of an identity provider may do what its scopes say, and is told which it lacks: %j',
  async (claims) => {
    const response = await ask(service, await provider.sign({ claims: { ...claims } }));
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toBe(
      `${REALM}, error="insufficient_scope", scope="dns:read"`,
    );
  },
);

test('the access tokens of one subject have one budget, whichever of them comes', async () => {
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

/** Seconds since the epoch, so far from now. */
function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow;
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}

const claimed = (claims: object) => () => provider.sign({ claims: { ...claims } });
const headed = (header: object) => () => provider.sign({ header: { ...header } });

test.each<readonly [what: string, make: () => Promise<string> | string, reason: RegExp]>([
  ['of another issuer', claimed({ iss: 'x' }), /^unexpected "iss" .* has "x", AUTH_ISSUER is "https:/],
  ['without an issuer', claimed({ iss: undefined }), /^missing required "iss" claim: the token has nothing/],
  [
    'for another audience, of the greatest length',
    claimed({ aud: ['x'.repeat(3_000)] }),
    /^unexpected "aud" claim value: the token has \["x{198}…, AUTH_AUDIENCE is "/,
  ],
  ['for no audience', claimed({ aud: undefined }), /^missing required "aud" claim: .* AUTH_AUDIENCE is "/],
  ['expired', claimed({ exp: 1_700_000_000 }), /^"exp" .*: the token has 1700000000, and it is \d{10} now$/],
  ['expired six seconds ago', claimed({ exp: seconds(-6) }), /^"exp" claim timestamp check failed/],
  ['that never expires', claimed({ exp: undefined }), /^missing required "exp" claim: the token has nothing/],
  ['not yet valid', claimed({ nbf: seconds(60) }), /^"nbf" .*: the token has \d{10}, and it is \d{10} now$/],
  ["that is nobody's", claimed({ sub: undefined }), /^the token has neither "sub" nor "client_id"/],
  [
    'whose end is no time',
    () =>
      provider.sign({
        payload: JSON.stringify({ ...goodClaims(), exp: 0 }).replace('"exp":0', '"exp":1e400'),
      }),
    /the "exp" claim is not a time/,
  ],
  ['whose end is too far for a clock', claimed({ exp: 1e300 }), /the "exp" claim is not a time/],
  ['whose type is no text', headed({ typ: 5 }), /^unexpected "typ" header: the token has 5/],
  [
    'of another type',
    headed({ typ: 'logout+jwt' }),
    /^unexpected "typ" header: the token has "logout\+jwt", expected at\+jwt, JWT, or none$/,
  ],
  ['whose header is null', () => `${encoded('null')}.${encoded('{}')}.AAAA`, /./],
  ['whose header is a list', () => `${encoded('[]')}.${encoded('{}')}.AAAA`, /./],
  ['whose payload is null', () => provider.sign({ payload: 'null' }), /./],
  ['whose key is named by a number', headed({ kid: 5 }), /./],
  [
    'of a key that the provider does not have',
    headed({ kid: 'old' }),
    /^no applicable key found .*: the token names the key "old" for "ES256"; AUTH_JWKS_URL has no such key$/,
  ],
  ['with a critical extension', headed({ crit: ['x'], x: 1 }), /./],
  [
    'signed by an unknown key',
    async () => (await provider.sign()).replace(/[^.]+$/, (s) => [...s].reverse().join('')),
    /^signature verification failed: the token names the key "first" for "ES256"$/,
  ],
  [
    'of the algorithm none',
    () => new UnsecuredJWT(goodClaims()).encode(),
    /not allowed: the token has "none", expected RS256, PS256, /,
  ],
  ['cut', async () => (await provider.sign()).slice(0, -1), /./],
  ['with an empty signature', async () => (await provider.sign()).replace(/[^.]+$/, ''), /./],
  ['that is no JSON', () => 'a.b.c', /./],
  [
    'signed by HS256 with the public key as the secret',
    async () =>
      new SignJWT(goodClaims())
        .setProtectedHeader({ alg: 'HS256', kid: 'first', typ: 'at+jwt' })
        .sign(new TextEncoder().encode(await provider.publicKeyText('first'))),
    /not allowed: the token has "HS256"/,
  ],
])(
  'a JWT is rejected as every other token, and the log alone says why: one %s',
  async (_what, make, reason) => {
    const token = await make();
    const response = await ask(service, token);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(`${REALM}, error="invalid_token"`);
    expect(await response.json()).toMatchObject({ code: 'UNAUTHENTICATED', detail: NOT_VALID });
    expect(toldOf(service, response)).toEqual([
      expect.objectContaining({ level: 'info', reason: expect.stringMatching(reason) }),
    ]);
    for (const part of token.split('.').filter(({ length }) => length > 9)) {
      expect(JSON.stringify(service.logged)).not.toContain(part);
    }
  },
);

test('a JWT is rejected where no identity provider is set, and the log says so', async () => {
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

test("the service's own tokens are taken beside an identity provider's, and the log says nothing of them", async () => {
  expect(await statusOf(service, await service.createToken())).toBe(200);
  const response = await ask(service, `dms_${'a'.repeat(43)}`);
  expect(response.status).toBe(401);
  expect(toldOf(service, response)).toEqual([]);
});

test.each(NOT_TAKEN)(
  'only the algorithms that are named are taken: not %s, whatever the key would do',
  async (algorithm) => {
    expect(await statusOf(service, await provider.sign({ key: algorithm }))).toBe(401);
  },
);

/** What the log says of the token that was rejected by this answer. */
function toldOf({ logged }: TestService, { headers }: Response) {
  const requestId = headers.get('x-request-id');
  return logged.filter((line) => line['msg'] === 'token rejected' && line['requestId'] === requestId);
}

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

test('a token that names a key of the provider that cannot be used is not valid, and counted as such; the log says why', async () => {
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
    const reason = expect.stringMatching(`^the key cannot be used .*: the token names the key "${kid}" for `);
    expect(asking.logged).toContainEqual(expect.objectContaining({ msg: 'token rejected', reason }));
  }
  await asking.stop();
  const patient = await trusting(other);
  expect(await statusOf(patient, good), 'its other keys go on').toBe(200);
  await patient.stop();
  await other.web.close();
});

test('without the keys of the identity provider, JWTs get 503 with Retry-After, and the log says once where they are not, without secrets', async () => {
  const address = `http://127.0.0.1:${await freePort()}/jwks.json`;
  const asking = await trusting({ jwksUrl: new URL(`${address}?key=hunter2-hunter2`) });
  for (let time = 0; time < 3; time += 1) {
    const rejected = await ask(asking, await provider.sign());
    expect(rejected.status).toBe(503);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await rejected.json()).toMatchObject({
      code: 'UNAVAILABLE',
      detail: 'The identity provider does not answer. Try again shortly.',
    });
  }
  expect(warningsOf(asking)).toEqual([
    expect.objectContaining({
      msg: "the identity provider's keys cannot be fetched",
      address,
      reason: expect.stringContaining('ECONNREFUSED'),
    }),
  ]);
  expect(JSON.stringify(asking.logged)).not.toContain('hunter2');
  expect(await statusOf(asking, await asking.createToken())).toBe(200);
  await asking.stop();
});

test.each<readonly [string, (socket: Socket) => void]>([
  ['at all', (socket) => socket.resume()],
  ['to their end, but a byte at a time', dripKeys],
])('while keys do not come %s, others are answered, and JWTs get 503', async (_what, behave) => {
  const hanging = await startRawServer(behave);
  const asking = await trusting({ jwksUrl: new URL(`http://127.0.0.1:${hanging.port}/`) });
  const waiting = ask(asking, await provider.sign());
  await vi.waitFor(() => expect(hanging.connections).toBe(1), { timeout: 60_000 });
  expect(await statusOf(asking, await asking.createToken())).toBe(200);
  expect((await waiting).status).toBe(503);
  // Nothing is left open of the attempt.
  await hanging.idle();
  await asking.stop();
  await hanging.close();
});

function warningsOf({ logged }: TestService) {
  return logged.filter(({ level }) => level === 'warn');
}

/** Keys that begin correctly, and never end. */
function dripKeys(socket: Socket): void {
  socket.resume().write('HTTP/1.1 200 OK\r\ncontent-type: application/jwk-set+json\r\n\r\n{"keys":[');
  const dripping = setInterval(() => socket.write(' '), 100);
  socket.once('close', () => clearInterval(dripping));
}
