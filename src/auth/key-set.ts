import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { errorCode, messageOf, ProviderUnavailableError } from '../model/errors.js';

// In milliseconds.
const FETCH_TIMEOUT = 3_000;
/** Between two fetches, successful or not, whatever clients send. */
const FETCH_INTERVAL = 10_000;
/** Keys of this age are fetched again, while they stay in use. */
const REFRESH_AGE = 10 * 60_000;
/** Keys that the provider has not confirmed for so long are no longer used. */
const MAX_AGE = 24 * 60 * 60_000;

/**
 * The public keys of an identity provider (RFC 7517), fetched at once, so that a wrong address is reported at
 * start; when they are old; and when a token names a key that is not among them.
 *
 * When to fetch is decided here: jose's remote set has no interval between failed fetches, does not use old
 * keys while the provider is away, and takes ages from the wall clock, which may step. It throws JOSEError for
 * a token whose key the provider does not have, ProviderUnavailableError where that is not known.
 *
 * @param events `away`: the keys cannot be fetched; once until `back`.
 */
export function createKeySet(
  url: URL,
  events: { away(reason: string): void; back(): void },
): JWTVerifyGetKey {
  let keys: JWTVerifyGetKey | undefined;
  let [fetchedAt, triedAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let failure: unknown;
  let fetching: Promise<void> | undefined;

  const unavailable = () => new ProviderUnavailableError(FETCH_INTERVAL / 1000, { cause: failure });

  const fetchNow = async (): Promise<void> => {
    triedAt = performance.now();
    try {
      keys = await fetchKeys(url);
      fetchedAt = performance.now();
      if (failure !== undefined) events.back();
      failure = undefined;
    } catch (error) {
      if (failure === undefined) events.away(messageOf(error));
      failure = error;
    }
    fetching = undefined;
  };

  /** An error is in `failure`. */
  const refresh = async (): Promise<void> => {
    if (performance.now() - triedAt >= FETCH_INTERVAL) fetching ??= fetchNow();
    await fetching;
  };

  const usableKeys = async (): Promise<JWTVerifyGetKey> => {
    const age = performance.now() - fetchedAt;
    if (age >= MAX_AGE) await refresh();
    else if (age >= REFRESH_AGE) void refresh();
    if (keys === undefined || performance.now() - fetchedAt >= MAX_AGE) throw unavailable();
    return keys;
  };

  void refresh();

  return async (header, token) => {
    const known = await usableKeys();
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      // While the provider is away, the key may be a new one.
      if (failure !== undefined) throw unavailable();
      return (await usableKeys())(header, token);
    }
  };
}

const RIGHT_ADDRESS =
  'AUTH_JWKS_URL should be the address that the OpenID configuration of the identity provider has in "jwks_uri"';

/** By no redirect: the keys are where the setting says. @throws Error that tells what is wrong there. */
async function fetchKeys(url: URL): Promise<JWTVerifyGetKey> {
  const signal = AbortSignal.timeout(FETCH_TIMEOUT);
  const accept = 'application/json, application/jwk-set+json';
  try {
    const response = await fetch(url, { signal, redirect: 'manual', headers: { accept } });
    const { status } = response;
    if (status !== 200) {
      await response.body?.cancel();
      const advice = status >= 500 ? 'the identity provider fails' : RIGHT_ADDRESS;
      throw new Error(`the response has the status ${status}: ${advice}`);
    }
    return createLocalJWKSet(Object(await response.json()));
  } catch (cause) {
    throw new Error(reasonOf(cause), { cause });
  }
}

/** fetch() itself only says that it failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `there is no response within ${FETCH_TIMEOUT / 1000} seconds`;
  if (error instanceof SyntaxError) return `the response is not JSON: ${RIGHT_ADDRESS}`;
  if (error instanceof errors.JWKSInvalid) return `the response is not a set of keys: ${RIGHT_ADDRESS}`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = errorCode(cause);
  return cause.message.includes(code) ? cause.message : `${code} ${cause.message}`.trim();
}
