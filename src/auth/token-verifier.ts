import { LRUCache } from 'lru-cache';
import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { digestOf, isAccessToken } from './tokens.js';
import { SCOPES, type Scope, type Viewer } from './viewer.js';

/** A token that is not valid, with the reason, for the log only. */
export interface RejectedToken {
  readonly kind: 'rejected';
  readonly reason: string;
}

/** Finds the viewer of a token. `Rejected` is the result for a token that is not valid. */
export interface TokenVerifier<Rejected = null> {
  /**
   * @returns the token's viewer; `Rejected` for a token that is malformed, unknown, expired or revoked.
   * @throws what the database's driver throws where the database does not answer.
   */
  verify(token: string): Promise<Viewer | Rejected>;
  /** Whether a token was valid when it was last verified; false if it never was. */
  knows(token: string): boolean;
}

/** How long, in milliseconds, a valid token stays in the cache, and so a revoked one valid. */
const CACHED_FOR = 3_000;
const MAX_CACHED = 10_000;
/** In microseconds, as instants are. */
const LAST_USED_EVERY = 60_000_000n;

interface KnownToken {
  readonly viewer: Viewer;
  readonly expiresAt: Instant | null;
  /** When the query began, by the monotonic clock. */
  readonly queriedAt: number;
}

/**
 * Verifies tokens in the database. A valid one is cached for three seconds; any other is looked up each time, so
 * that a token works as soon as it is created.
 *
 * @param now The wall clock: expiry and last use are by it.
 * @param maxCached The largest number of valid tokens in the cache.
 */
export function createTokenVerifier(
  prisma: PrismaClient,
  now: () => Instant,
  maxCached = MAX_CACHED,
): TokenVerifier {
  const known = new LRUCache<string, KnownToken>({ max: maxCached });
  const pending = new Map<string, Promise<KnownToken | null>>();

  /** Concurrent requests with one token share one query. */
  const find = (key: string, digest: Uint8Array<ArrayBuffer>): Promise<KnownToken | null> => {
    const running = pending.get(key);
    if (running !== undefined) return running;
    const found = findToken(prisma, digest, now()).finally(() => pending.delete(key));
    pending.set(key, found);
    return found;
  };

  return {
    knows: (text) => isAccessToken(text) && known.has(keyOf(digestOf(text))),
    async verify(text) {
      if (!isAccessToken(text)) return null;
      const digest = digestOf(text);
      const key = keyOf(digest);
      const cached = known.get(key);
      if (cached !== undefined && isFresh(cached, now())) return cached.viewer;
      const token = await find(key, digest);
      if (token === null) known.delete(key);
      else known.set(key, token);
      return token?.viewer ?? null;
    },
  };
}

function keyOf(digest: Uint8Array<ArrayBuffer>): string {
  return Buffer.from(digest.buffer).toString('base64');
}

function isFresh({ queriedAt, expiresAt }: KnownToken, now: Instant): boolean {
  return performance.now() - queriedAt <= CACHED_FOR && (expiresAt === null || expiresAt > now);
}

/** One query for every reason: it takes as long for a revoked token as for an unknown one. */
async function findToken(
  prisma: PrismaClient,
  digest: Uint8Array<ArrayBuffer>,
  now: Instant,
): Promise<KnownToken | null> {
  const queriedAt = performance.now();
  const unexpired = [{ expiresAt: null }, { expiresAt: { gt: now } }];
  const row = await prisma.accessToken.findUnique({ where: { digest, revokedAt: null, OR: unexpired } });
  if (row === null) return null;
  if (row.lastUsed === null || now - row.lastUsed >= LAST_USED_EVERY) recordUse(prisma, digest, now);
  const rateLimitKey = keyOf(digest);
  const scopes = new Set<Scope>(SCOPES.filter((scope) => row.scopes.includes(scope)));
  return { viewer: { kind: 'token', rateLimitKey, scopes }, expiresAt: row.expiresAt, queriedAt };
}

/** Once a minute for all processes together. Responses neither wait for it nor depend on it. */
function recordUse(prisma: PrismaClient, digest: Uint8Array<ArrayBuffer>, now: Instant): void {
  const due = [{ lastUsed: null }, { lastUsed: { lte: now - LAST_USED_EVERY } }];
  prisma.accessToken
    .updateMany({ where: { digest, OR: due }, data: { lastUsed: now } })
    .catch(() => undefined);
}
