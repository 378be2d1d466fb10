import { createLocalJWKSet, errors, type JWTVerifyGetKey, type LocalJWKSet } from 'jose';
import { ProviderUnavailableError } from '../model/errors.js';

/** Tells of the provider's absence, and of its end: once each. */
export interface KeySetEvents {
  away(reason: string): void;
  back(): void;
}

/** All in milliseconds. */
const FETCH_LIMIT = 3_000;
/** Between two fetches: whatever clients send, the provider is not asked more often. */
const FETCH_EVERY = 10_000;
/** Keys of this age are fetched anew, while they go on. */
const OLD_AFTER = 10 * 60_000;
/** Keys that the provider has not confirmed for so long are not taken any more. */
const KEPT_FOR = 24 * 60 * 60_000;

const MOST_BYTES = 512 * 1024;

/**
 * The public keys of an identity provider (RFC 7517), fetched when the first token comes, when they are old,
 * and when a token names a key that is not among them.
 *
 * The function throws JOSEError for a token whose key the provider does not have, and
 * ProviderUnavailableError where that cannot be known.
 */
export function createKeySet(url: URL, events: KeySetEvents): JWTVerifyGetKey {
  let keys: LocalJWKSet | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let fetching: Promise<void> | undefined;

  const fetchOnce = async (): Promise<void> => {
    triedAt = performance.now();
    try {
      keys = createLocalJWKSet(await fetchKeys(url));
      fetchedAt = performance.now();
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

/** No redirect is followed: the keys are where the setting says. */
async function fetchKeys(url: URL) {
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_LIMIT),
    headers: { accept: 'application/jwk-set+json, application/json' },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the answer has the status ${response.status}`);
  }
  return JSON.parse(await readBounded(response));
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`the answer has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
