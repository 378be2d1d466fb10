import { generateKeyPairSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { databaseOfFile } from '../support/database.js';
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
import {
  bearer,
  serviceOfFile,
  startServiceForTest,
  type TestService,
  type TestServiceOptions,
} from '../support/service.js';
import { startRawServer } from '../support/web-server.js';

const REALM = 'Bearer realm="Domain Metadata Service"';
const NOT_VALID = 'The access token is not valid: it is malformed, unknown, expired or revoked.';

const TAKEN = ['RS256', 'PS256', 'ES384', 'EdDSA'];
/** Their keys say nothing of what they are for. */
const NOT_TAKEN = ['RS384', 'RS512', 'PS384', 'PS512', 'ES512'];

let provider: IdentityProvider;

const database = databaseOfFile(({ pool }) => insertDomain(pool, { name: 'example.com' }));
beforeAll(async () => {
  provider = await startIdentityProvider();
  for (const algorithm of [...TAKEN, ...NOT_TAKEN]) await provider.addKey(algorithm, algorithm);
});
afterAll(() => provider.web.close());
const service = serviceOfFile(
  () => trusting(provider.jwksUrl),
  // A slow machine may not fetch its keys in time at first.
  (started) => {
    const isTaken = async () => (await statusOf(started, await provider.sign())) === 200;
    return vi.waitUntil(isTaken, { timeout: 60_000 });
  },
);

/** Settings with which a service takes the provider's tokens. */
function trusting(jwksUrl: URL, options: TestServiceOptions = {}): TestServiceOptions {
  const trusted = { jwksUrl, issuer: ISSUER, audience: AUDIENCE };
  return { database, auth: { provider: trusted, required: 'scopes' }, ...options };
}

/** A service's answer to a question that needs the scope dns:read. */
const ask = (asked: TestService, token: string) => asked.rest('/domain/example.com/dns', bearer(token));

const statusOf = async (asked: TestService, token: string) => (await ask(asked, token)).status;

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

const OTHER_SCOPES = ['openid', '', undefined, 'dns:read,headers:read', 'DNS:READ', 5, {}, ['dns:read x']];

test.each([
  ...OTHER_SCOPES.map((scope) => ({ scope })),
  { scope: 'openid', scp: 'dns:read' },
  { scope: undefined, roles: ['dns:read'], permissions: ['dns:read'] },
])('an access token may do what its scopes say, and is told which it lacks: %j', async (claims) => {
  const { status, fields } = await ask(service, await provider.sign({ claims: { ...claims } }));
  const challenge = `${REALM}, error="insufficient_scope", scope="dns:read"`;
  expect([status, fields.get('www-authenticate')]).toEqual([403, challenge]);
});

test('the access tokens of one subject have one budget, whichever of them comes', async () => {
  const rateLimits = { anonymous: 9, token: 9 };
  const limited = await startServiceForTest(trusting(provider.jwksUrl, { rateLimits }));
  const left = async (sub: string, jti: string) => {
    const { fields } = await ask(limited, await provider.sign({ claims: { sub, jti } }));
    return Number(/^"token";r=(\d);/.exec(fields.get('ratelimit') ?? '')?.[1]);
  };
  expect([await left('alice', '1'), await left('alice', '2'), await left('bob', '3')]).toEqual([8, 7, 8]);
});

const seconds = (fromNow: number) => Math.floor(Date.now() / 1000) + fromNow;
const encoded = (text: string) => Buffer.from(text).toString('base64url');

const claimed = (claims: object) => () => provider.sign({ claims: { ...claims } });
const headed = (header: object) => () => provider.sign({ header: { ...header } });

test.each<readonly [what: string, make: () => Promise<string> | string, reason: RegExp]>([
  ['of another issuer', claimed({ iss: 'x' }), /^unexpected "iss" .* has "x", AUTH_ISSUER is "https:/],
  ['without an issuer', claimed({ iss: undefined }), /^missing required "iss" claim: the token has nothing/],
  ['for a long audience', claimed({ aud: ['x'.repeat(3_000)] }), /^unexpected "aud" .* \["x{198}…, AUTH_AU/],
  ['for no audience', claimed({ aud: undefined }), /^missing required "aud" claim: .* AUTH_AUDIENCE is "/],
  ['expired', claimed({ exp: 1_700_000_000 }), /^"exp" .*: the token has 1700000000, and it is \d{10} now$/],
  ['expired six seconds ago', claimed({ exp: seconds(-6) }), /^"exp" claim timestamp check failed/],
  ['that never expires', claimed({ exp: undefined }), /^missing required "exp" claim: the token has nothing/],
  ['not yet valid', claimed({ nbf: seconds(60) }), /^"nbf" .*: the token has \d{10}, and it is \d{10} now$/],
  ["that is nobody's", claimed({ sub: undefined }), /^the token has neither "sub" nor "client_id"/],
  ['whose end is no time', () => provider.sign({ payload: endless() }), /the "exp" claim is not a time/],
  ['whose end is too far for a clock', claimed({ exp: 1e300 }), /the "exp" claim is not a time/],
  ['whose type is no text', headed({ typ: 5 }), /^unexpected "typ" header: the token has 5/],
  ['of another type', headed({ typ: 'a' }), /^unexpected "typ" .* "a", expected at\+jwt, JWT, or none$/],
  ['whose header is null', () => `${encoded('null')}.${encoded('{}')}.AAAA`, /./],
  ['whose header is a list', () => `${encoded('[]')}.${encoded('{}')}.AAAA`, /./],
  ['whose payload is null', () => provider.sign({ payload: 'null' }), /./],
  ['whose key is named by a number', headed({ kid: 5 }), /./],
  ['of an unknown key', headed({ kid: 'old' }), /^no applicable key .*"old" for "ES256"; AUTH_JWKS_URL has/],
  ['with a critical extension', headed({ crit: ['x'], x: 1 }), /./],
  ['signed by another key', signedOtherwise, /^signature verification failed: .* names the key "first" for /],
  ['of the algorithm none', () => new UnsecuredJWT(goodClaims()).encode(), /"none", expected RS256, PS256, /],
  ['cut', async () => (await provider.sign()).slice(0, -1), /./],
  ['with an empty signature', async () => (await provider.sign()).replace(/[^.]+$/, ''), /./],
  ['that is no JSON', () => 'a.b.c', /./],
  ['signed with the public key as a secret', signedByPublicKey, /not allowed: the token has "HS256"/],
])('a JWT is rejected as every other token, and the log says why: one %s', async (_what, make, reason) => {
  const token = await make();
  const { status, fields, body } = await ask(service, token);
  expect([status, fields.get('www-authenticate')]).toEqual([401, `${REALM}, error="invalid_token"`]);
  expect(body).toMatchObject({ code: 'UNAUTHENTICATED', detail: NOT_VALID });
  expect(toldOf(service, fields)).toMatchObject([{ level: 'info', reason: expect.stringMatching(reason) }]);
  for (const part of token.split('.').filter(({ length }) => length > 9))
    expect(JSON.stringify(service.logged)).not.toContain(part);
});

/** Claims whose end is no number of JavaScript. */
const endless = () => JSON.stringify({ ...goodClaims(), exp: 0 }).replace('"exp":0', '"exp":1e400');

async function signedOtherwise(): Promise<string> {
  return (await provider.sign()).replace(/[^.]+$/, (signature) => [...signature].reverse().join(''));
}

async function signedByPublicKey(): Promise<string> {
  const secret = new TextEncoder().encode(await provider.publicKeyText('first'));
  const header = { alg: 'HS256', kid: 'first', typ: 'at+jwt' };
  return new SignJWT(goodClaims()).setProtectedHeader(header).sign(secret);
}

test('a JWT is rejected where no identity provider is set, and the log says so', async () => {
  const alone = await startServiceForTest({ database });
  const { status, fields } = await ask(alone, await provider.sign());
  const reason = 'it is a JSON Web Token, and no identity provider is set: see AUTH_JWKS_URL';
  expect([status, toldOf(alone, fields)]).toMatchObject([401, [{ reason }]]);
});

test("the service's own tokens are taken beside an identity provider's, and the log says nothing of them", async () => {
  expect(await statusOf(service, await service.createToken())).toBe(200);
  const { status, fields } = await ask(service, `dms_${'a'.repeat(43)}`);
  expect([status, toldOf(service, fields)]).toEqual([401, []]);
});

test.each(NOT_TAKEN)('no algorithm is taken that is not named: %s, whatever the key does', async (key) => {
  expect(await statusOf(service, await provider.sign({ key }))).toBe(401);
});

/** What the log says of the token that was rejected by the answer with these fields. */
function toldOf({ logged }: TestService, fields: Headers) {
  const requestId = fields.get('x-request-id');
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
  onTestFinished(() => other.web.close());
  const rateLimits = { anonymous: 2 * UNUSABLE.length, token: 9 };
  const asking = await startServiceForTest(trusting(other.jwksUrl, { rateLimits }));
  for (const key of [...UNUSABLE, ...UNUSABLE]) {
    const body = { code: 'UNAUTHENTICATED', detail: NOT_VALID };
    expect(await ask(asking, naming(key))).toMatchObject({ status: 401, body });
  }
  expect(await statusOf(asking, naming({ kid: 'short', alg: 'RS256' }))).toBe(429);
  for (const { kid } of UNUSABLE) {
    const reason = expect.stringMatching(`^the key cannot be used .*: the token names the key "${kid}" for `);
    expect(asking.logged).toContainEqual(expect.objectContaining({ msg: 'token rejected', reason }));
  }
  const patient = await startServiceForTest(trusting(other.jwksUrl));
  expect(await statusOf(patient, good), 'its other keys go on').toBe(200);
});

test('without the keys of the identity provider, JWTs get 503 with Retry-After, and the log says once where they are not, without secrets', async () => {
  const address = `http://127.0.0.1:${await freePort()}/jwks.json`;
  const asking = await startServiceForTest(trusting(new URL(`${address}?key=hunter2-hunter2`)));
  const detail = 'The identity provider does not answer. Try again shortly.';
  for (let time = 0; time < 3; time += 1) {
    const { status, fields, body } = await ask(asking, await provider.sign());
    expect([status, body]).toMatchObject([503, { code: 'UNAVAILABLE', detail }]);
    expect(Number(fields.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  const msg = "the identity provider's keys cannot be fetched";
  const warnings = asking.logged.filter(({ level }) => level === 'warn');
  expect(warnings).toMatchObject([{ msg, address, reason: expect.stringContaining('ECONNREFUSED') }]);
  expect(JSON.stringify(asking.logged)).not.toContain('hunter2');
  expect(await statusOf(asking, await asking.createToken())).toBe(200);
});

test.each<readonly [string, (socket: Socket) => void]>([
  ['at all', (socket) => socket.resume()],
  ['to their end, but a byte at a time', dripKeys],
])('while keys do not come %s, others are answered, and JWTs get 503', async (_what, behave) => {
  const hanging = await startRawServer(behave);
  onTestFinished(() => hanging.close());
  const asking = await startServiceForTest(trusting(new URL(`http://127.0.0.1:${hanging.port}/`)));
  const waiting = ask(asking, await provider.sign());
  await vi.waitFor(() => expect(hanging.connections).toBe(1), { timeout: 60_000 });
  expect(await statusOf(asking, await asking.createToken())).toBe(200);
  expect((await waiting).status).toBe(503);
  // Nothing is left open of the attempt.
  await hanging.idle();
});

/** Keys that begin correctly, and never end. */
function dripKeys(socket: Socket): void {
  socket.resume().write('HTTP/1.1 200 OK\r\ncontent-type: application/jwk-set+json\r\n\r\n{"keys":[');
  const dripping = setInterval(() => socket.write(' '), 100);
  socket.once('close', () => clearInterval(dripping));
}
