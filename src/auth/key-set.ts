import { createLocalJWKSet, errors, type JWTVerifyGetKey, type LocalJWKSet } from 'jose';
import { ProviderUnavailableError } from '../model/errors.js';
import { fetchKeys } from './fetch-keys.js';

/** Tells of the provider's absence and of its end, once each, and of keys that are of no use. */
export interface KeySetEvents {
  away(reason: string): void;
  back(): void;
  /** The provider has a set without a key: no token can be valid. Told again only after it has had one. */
  empty(): void;
}

// All in milliseconds.

/** Between two fetches: whatever clients send, the provider is not asked more often. */
const FETCH_EVERY = 10_000;
/** Keys of this age are fetched anew, while they go on. */
const OLD_AFTER = 10 * 60_000;
/** Keys that the provider has not confirmed for so long are not taken any more. */
const KEPT_FOR = 24 * 60 * 60_000;

/**
 * The public keys of an identity provider (RFC 7517), fetched at once, so that whoever starts the service sees
 * what is wrong with the address; when they are old; and when a token names a key that is not among them.
 *
 * The function throws JOSEError for a token whose key the provider does not have, and
 * ProviderUnavailableError where that cannot be known.
 */
export function createKeySet(url: URL, events: KeySetEvents): JWTVerifyGetKey {
  let keys: LocalJWKSet | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let isEmpty = false;
  let fetching: Promise<void> | undefined;

  const fetchOnce = async (): Promise<void> => {
    triedAt = performance.now();
    try {
      const fetched = await fetchKeys(url);
      keys = createLocalJWKSet(fetched);
      fetchedAt = performance.now();
      if (fetched.keys.length === 0 && !isEmpty) events.empty();
      isEmpty = fetched.keys.length === 0;
      if (failure !== undefined) events.back();
      failure = undefined;
    } catch (error) {
      if (failure === undefined) events.away(error instanceof Error ? error.message : String(error));
      failure = error;
    }
  };

  /** Whoever comes while the keys are fetched waits for the same answer. */
  const refresh = async (): Promise<void> => {
    if (fetching === undefined && performance.now() - triedAt >= FETCH_EVERY) {
      fetching = fetchOnce().finally(() => {
        fetching = undefined;
      });
    }
    await fetching;
  };

  const current = async (): Promise<LocalJWKSet> => {
    const age = performance.now() - fetchedAt;
    if (age >= KEPT_FOR) await refresh();
    else if (age >= OLD_AFTER) void refresh();
    if (keys !== undefined && performance.now() - fetchedAt < KEPT_FOR) return keys;
    throw new ProviderUnavailableError(FETCH_EVERY / 1000, { cause: failure });
  };

  void refresh();

  return async (header, token) => {
    const known = await current();
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      // Where the provider is away the key may be a new one of its own.
      if (failure !== undefined) throw new ProviderUnavailableError(FETCH_EVERY / 1000, { cause: failure });
      return (await current())(header, token);
    }
  };
}
