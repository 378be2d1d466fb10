import fc from 'fast-check';
import { SignJWT, UnsecuredJWT } from 'jose';
import { goodClaims, type IdentityProvider } from '../support/identity-provider.js';
import { NAUGHTY_STRINGS } from '../support/naughty-strings.js';

/** A token as a client sends it. */
export interface FuzzToken {
  readonly token: string;
  /** Whether it must be taken, or must not. */
  readonly valid: boolean;
  /** Whether it may hold what makes a header section no HTTP. */
  readonly damaged?: boolean;
}

/** Longer than any run. */
const A_DAY = 24 * 60 * 60;

const SCOPE = 'dns:read headers:read details:read';

/** The tokens that need a key of the provider's, or its clock, right and wrong. */
export async function signedTokens(provider: IdentityProvider): Promise<readonly FuzzToken[]> {
  await provider.addKey('rsa', 'RS256');
  await provider.addKey('hidden', 'ES256', false);
  const now = Math.floor(Date.now() / 1000);
  const good = { exp: now + A_DAY, scope: SCOPE };
  const signed = (claims: object, header: Readonly<Record<string, unknown>> = {}, key = 'first') =>
    provider.sign({ claims: { ...good, ...claims }, header, key });
  const right = [
    signed({}),
    signed({ sub: 'bob' }, {}, 'rsa'),
    signed({ padding: 'a'.repeat(6_000) }),
    signed({ aud: ['other', 'dms'] }),
  ];
  const whole = await signed({});
  const other = await signed({ sub: 'carol' });
  const wrong = [
    exchanged(whole, 2, other.split('.')[2] ?? ''),
    exchanged(whole, 1, other.split('.')[1] ?? ''),
    exchanged(whole, 2, ''),
    `${whole}.`,
    `${whole}.a.b`,
    new UnsecuredJWT({ ...goodClaims(), ...good }).encode(),
    exchanged(whole, 0, encoded({ alg: 'none' })),
    exchanged(whole, 0, encoded({ alg: 'none', kid: 'first' })),
    byPublicKey(await provider.publicKeyText('first'), 'first'),
    byPublicKey(await provider.publicKeyText('rsa'), 'rsa'),
    byPublicKey(JSON.stringify((await provider.publicKeys())[0]), 'first'),
    signed({}, { kid: 'nobody' }),
    signed({}, { kid: 'first' }, 'hidden'),
    signed({}, { kid: 'rsa' }),
    signed({}, { typ: 'logout+jwt' }),
    signed({}, { crit: ['x'], x: true }),
    // Where the keys are is the service's to know: nothing may be fetched from here.
    signed({}, { kid: 'hidden', jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/' }, 'hidden'),
    signed({ exp: now - 60 }),
    signed({ exp: 1e300 }),
    signed({ nbf: now + A_DAY }),
    signed({ iss: 'https://id.example.net/' }),
    signed({ aud: 'other' }),
    signed({ padding: 'a'.repeat(40_000) }),
    provider.sign({ payload: 'null' }),
    provider.sign({ payload: '['.repeat(5_000) }),
    provider.sign({ payload: `{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}` }),
  ];
  const tokensOf = async (made: readonly (Promise<string> | string)[], valid: boolean) =>
    (await Promise.all(made)).map((token) => ({ token, valid }));
  return [...(await tokensOf(right, true)), ...(await tokensOf(wrong, false))];
}

const NAUGHTY = fc.constantFrom(...NAUGHTY_STRINGS);

const garbage = fc.oneof(
  fc.base64String({ maxLength: 100 }).map((text) => text.replace(/[+/=]/g, '-')),
  fc.constantFrom('', '.', '..', '=', '-', '_', 'A'.repeat(15_000), 'A'.repeat(70_000)),
  fc.json().map((text) => Buffer.from(text).toString('base64url')),
  NAUGHTY.map((text) => Buffer.from(text).toString('base64url')),
  NAUGHTY,
  fc
    .record({ alg: fc.jsonValue(), kid: fc.jsonValue(), typ: fc.jsonValue() }, { requiredKeys: [] })
    .map((header) => encoded(header)),
  fc
    .constantFrom('ES256', 'RS256', 'HS256', 'none', 'ES256K', 'RSA-OAEP', 'constructor', '__proto__')
    .map((alg) => encoded({ alg, kid: 'first' })),
);

/** Tokens of an identity provider: right, wrong, and with garbage in the place of a part. */
export function fuzzTokens(signed: readonly FuzzToken[]): fc.Arbitrary<FuzzToken> {
  const sample = fc.constantFrom(...signed);
  const damaged = fc
    .tuple(sample, fc.nat({ max: 2 }), garbage)
    .map(([{ token }, part, text]) => ({ token: exchanged(token, part, text), valid: false, damaged: true }));
  const cut = fc
    .tuple(fc.constantFrom(...signed.filter(({ valid }) => valid)), fc.nat())
    .map(([{ token }, length]) => ({ token: token.slice(0, length % token.length), valid: false }));
  return fc.oneof({ weight: 3, arbitrary: sample }, { weight: 3, arbitrary: damaged }, cut);
}

function exchanged(token: string, part: number, text: string): string {
  return token
    .split('.')
    .map((each, at) => (at === part ? text : each))
    .join('.');
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** What a verifier takes that lets the token say how it is verified (RFC 8725, section 2.1). */
function byPublicKey(key: string, kid: string): Promise<string> {
  const claims = { ...goodClaims(), exp: Math.floor(Date.now() / 1000) + A_DAY };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', kid, typ: 'at+jwt' })
    .sign(new TextEncoder().encode(key));
}
