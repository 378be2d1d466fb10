import { decodeProtectedHeader, errors, type FlattenedJWSInput, type JWSHeaderParameters } from 'jose';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createKeySet } from '../../src/auth/key-set.js';
import { ProviderUnavailableError } from '../../src/model/errors.js';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.js';

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
  const keys = createKeySet(provider.jwksUrl, {
    away: () => told.push('away'),
    back: () => told.push('back'),
  });
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

test('a new key is found as soon as a token names it, and one that is gone is not', async () => {
  await expect(find('first')).resolves.toBeDefined();
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

test('keys go on while the provider is away, for a day; a key that it may have made meanwhile is no reason to refuse', async () => {
  await find('first');
  provider.web.serve({ status: 500 });
  vi.advanceTimersByTime(TEN_MINUTES);
  await expect(find('first')).resolves.toBeDefined();
  await vi.waitFor(() => expect(told).toEqual(['away']));
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

test('is away where the connection is refused', async () => {
  const { jwksUrl } = provider;
  await provider.web.close();
  const keys = createKeySet(jwksUrl, { away: (reason) => told.push(reason), back: () => {} });
  await expect(Promise.resolve(keys({ alg: 'ES256' }, { payload: '', signature: '' }))).rejects.toThrow(
    ProviderUnavailableError,
  );
  expect(told).toHaveLength(1);
  provider = await startIdentityProvider();
});
