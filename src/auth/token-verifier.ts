import { LRUCache } from 'lru-cache';
import { isRefusal } from '../database/database-failure.js';
import type { PrismaClient } from '../database/generated/client.js';
import { UnauthenticatedError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { digestOf, isAccessToken } from './tokens.js';
import { SCOPES, type Viewer } from './viewer.js';

/** @throws UnauthenticatedError, an invalidToken(); ProviderUnavailableError; what the driver throws. */
export type VerifyToken = (token: string) => Promise<Viewer>;

/** The error of every token that is not valid. @param reason For the log only. */
export function invalidToken(reason?: string): UnauthenticatedError {
  const message = 'The access token is not valid: it is malformed, unknown, expired or revoked.';
  return new UnauthenticatedError(message, true, reason);
}

export interface ValidToken {
  readonly viewer: Viewer;
  readonly expiresAt: Instant | null;
}

/**
 * A verifier that caches valid tokens by their digest. Any other is verified each time, so that a token works
 * as soon as it is created; concurrent requests with one token share one verification.
 *
 * @param lifetime How long, in milliseconds from its beginning, a verification counts.
 */
export function cachedVerifier(
  verify: (token: string) => Promise<ValidToken>,
  lifetime: number,
  now: () => Instant,
): VerifyToken {
  const known = new LRUCache<string, ValidToken, string>({
    max: 10_000,
    ttl: lifetime,
    ttlResolution: 0,
    ignoreFetchAbort: true,
    async fetchMethod(_key, _stale, { context: token, options }) {
      const began = performance.now();
      const valid = await verify(token);
      options.ttl = Math.max(1, lifetime - (performance.now() - began));
      return valid;
    },
  });
  return async (context) => {
    const key = keyOf(context);
    const cached = known.get(key);
    if (cached && (cached.expiresAt === null || cached.expiresAt > now())) return cached.viewer;
    const valid = await known.fetch(key, { context, forceRefresh: true });
    return valid?.viewer ?? Promise.reject(invalidToken());
  };
}

export function keyOf(text: string): string {
  return Buffer.from(digestOf(text)).toString('base64');
}

/** How long, in milliseconds, a revoked token may stay valid. */
const CACHED_FOR = 3_000;
const LAST_USED_EVERY = 60_000_000n;

/**
 * Verifies the service's own tokens in the primary: a revoked one is refused at once, however far replicas are
 * behind.
 *
 * @param replica For the time in which the primary is stopped and no token can be revoked.
 */
export function createTokenVerifier(
  prisma: PrismaClient,
  now: () => Instant,
  replica: () => PrismaClient | undefined = () => undefined,
): VerifyToken {
  /** One query for every reason: it takes as long for a revoked token as for an unknown one. */
  const findIn = async (database: PrismaClient, token: string): Promise<ValidToken | null> => {
    const [digest, instant] = [digestOf(token), now()];
    const unexpired = [{ expiresAt: null }, { expiresAt: { gt: instant } }];
    // findUnique() joins what is asked for at once into one statement, and takes longer the more that is.
    const row = await database.accessToken.findFirst({ where: { digest, revokedAt: null, OR: unexpired } });
    if (row === null) return null;
    if (row.lastUsed === null || instant - row.lastUsed >= LAST_USED_EVERY) {
      // Once a minute for all processes together. Responses neither wait for it nor depend on it.
      const due = [{ lastUsed: null }, { lastUsed: { lte: instant - LAST_USED_EVERY } }];
      const use = { where: { digest, OR: due }, data: { lastUsed: instant } };
      prisma.accessToken.updateMany(use).catch(() => undefined);
    }
    const scopes = new Set(SCOPES.filter((scope) => row.scopes.includes(scope)));
    return { viewer: { kind: 'token', rateLimitKey: keyOf(token), scopes }, expiresAt: row.expiresAt };
  };
  const find = async (token: string): Promise<ValidToken> => {
    if (!isAccessToken(token)) throw invalidToken();
    const found = await findIn(prisma, token).catch(async (error: unknown) => {
      const other = isRefusal(error) ? replica() : undefined;
      // One that the replica does not have may have been created since.
      return (other && (await findIn(other, token))) ?? Promise.reject(error);
    });
    return found ?? Promise.reject(invalidToken());
  };
  return cachedVerifier(find, CACHED_FOR, now);
}
