import { decodeProtectedHeader, errors, type FlattenedJWSInput, type JWSHeaderParameters } from 'jose';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createKeySet } from '../../src/auth/key-set.js';
import { ProviderUnavailableError } from '../../src/model/errors.js';
import { freePort } from '../support/free-port.js';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.js';
import type { ServedResponse } from '../support/web-server.js';

const TEN_SECONDS = 10_000;
const TEN_MINUTES = 600_000;
const A_DAY = 86_400_000;

let provider: IdentityProvider;
let told: string[];
let find: (kid: string) => Promise<unknown>;

beforeEach(async () => {
  // The clock that ages are by stands still until a test moves it.
  vi.useFakeTimers({ toFake: ['performance'] });
  provider = await startIdentityProvider();
  told = [];
  const tell = (state: string) => () => told.push(state);
  const keys = createKeySet(provider.jwksUrl, { away: tell('away'), back: tell('back') });
  find = async (kid) => {
    const token = await provider.sign({ header: { kid } });
    const [header = '', payload = '', signature = ''] = token.split('.');
    const parts: FlattenedJWSInput = { protected: header, payload, signature };
    const parsed = decodeProtectedHeader(token) as JWSHeaderParameters;
    return keys({ ...parsed, alg: 'ES256' }, parts);
  };
});
afterEach(async () => {
  vi.useRealTimers();
  await provider.web.close();
});

test('keys are fetched at start, a new one as soon as a token names it, but not within ten seconds, and one that is gone is not found', async () => {
  await expect(find('first')).resolves.toBeDefined();
  const unknown = Array.from({ length: 50 }, (_, index) => find(`unknown ${index}`));
  const reason = expect.any(errors.JWKSNoMatchingKey);
  for (const result of await Promise.allSettled(unknown)) expect(result).toMatchObject({ reason });
  expect(provider.fetches()).toBe(1);
  await provider.addKey('second');
  vi.advanceTimersByTime(TEN_SECONDS);
  await expect(find('second')).resolves.toBeDefined();
  expect(provider.fetches()).toBe(2);
  await provider.removeKey('first');
  vi.advanceTimersByTime(TEN_SECONDS);
  await expect(find('third')).rejects.toThrow(errors.JWKSNoMatchingKey);
  await expect(find('first')).rejects.toThrow(errors.JWKSNoMatchingKey);
  expect(provider.fetches()).toBe(3);
});

test('keys go on while the provider is away, for a day; a token that names a new key is not rejected then', async () => {
  await find('first');
  provider.web.serve({ status: 500 });
  vi.advanceTimersByTime(TEN_MINUTES);
  await expect(find('first')).resolves.toBeDefined();
  await vi.waitFor(() => expect(told).toEqual(['away']), { timeout: 60_000 });
  await expect(find('second')).rejects.toThrow(ProviderUnavailableError);
  expect(provider.fetches()).toBe(2);
  vi.advanceTimersByTime(A_DAY - TEN_MINUTES - TEN_SECONDS);
  await expect(find('first')).resolves.toBeDefined();
  vi.advanceTimersByTime(2 * TEN_SECONDS);
  await expect(find('first')).rejects.toThrow(ProviderUnavailableError);
  expect(told).toEqual(['away']);
  await provider.addKey('second');
  vi.advanceTimersByTime(TEN_SECONDS);
  await expect(find('first')).resolves.toBeDefined();
  expect(told).toEqual(['away', 'back']);
});

const RIGHT = /: AUTH_JWKS_URL should be the address that .* has in "jwks_uri"$/;
const reasonAt = (url: URL) =>
  new Promise<string>((resolve) => createKeySet(url, { away: resolve, back: () => {} }));

const NO_KEYS = 'the response is not a set of keys';

test.each<readonly [string, ServedResponse, string]>([
  ['no such page', { status: 404 }, 'the response has the status 404'],
  ['a redirect', { status: 302, fields: [['location', '/login']] }, 'the response has the status 302'],
  ['a login page', { body: '<!doctype html>' }, 'the response is not JSON'],
  ['an OpenID configuration', { body: '{"issuer":"https://id.example.com/"}' }, NO_KEYS],
  ['other JSON', { body: '[]' }, NO_KEYS],
  ['a set whose keys are none', { body: '{"keys":[1]}' }, NO_KEYS],
])('what is wrong with AUTH_JWKS_URL is said before a token comes: %s', async (_what, response, reason) => {
  provider.web.serve(response);
  const said = await reasonAt(provider.jwksUrl);
  expect(said).toMatch(RIGHT);
  expect(said.replace(RIGHT, '')).toBe(reason);
});

test('what is wrong with AUTH_JWKS_URL is said before a token comes: a provider that fails', async () => {
  provider.web.serve({ status: 500 });
  const reason = 'the response has the status 500: the identity provider fails';
  expect(await reasonAt(provider.jwksUrl)).toBe(reason);
});

test('what is wrong with AUTH_JWKS_URL is said before a token comes: a rejected connection', async () => {
  for (const host of ['127.0.0.1', 'localhost'])
    expect(await reasonAt(new URL(`http://${host}:${await freePort()}/jwks.json`))).toContain('ECONNREFUSED');
});
