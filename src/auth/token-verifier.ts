import { LRUCache } from 'lru-cache';
import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { digestOf, isAccessToken } from './access-token.js';
import { SCOPES, type Scope, type Viewer } from './viewer.js';

/** A token that is not valid, with a reason that is for the log only. */
export interface RefusedToken {
  readonly kind: 'refused';
  readonly reason: string;
}

/** Finds out who comes with a token. What it says of one that is not valid is null, unless it can say more. */
export interface TokenVerifier<Refused = null> {
  /**
   * @returns the token's viewer, or what it says of a token that is malformed, unknown, expired or revoked.
   * @throws what the database's driver throws where the database does not answer.
   */
  verify(token: string): Promise<Viewer | Refused>;
  /** Whether a token was valid when it was verified last; true of none that never was. */
  knows(token: string): boolean;
}

/** How old, in milliseconds, what is known of a token may be: a revoked one works no longer than that. */
const KNOWN_FOR_MILLISECONDS = 3_000;
const MOST_TOKENS_KNOWN = 10_000;
/** In microseconds, as instants are. */
const LAST_USED_EVERY = 60_000_000n;

interface KnownToken {
  readonly viewer: Viewer;
  readonly expiresAt: Instant | null;
  /** Of the monotonic clock, when the database was asked. */
  readonly askedAt: number;
}

/**
 * Verifies tokens by the database. One that is valid is remembered for three seconds; one that is not is
 * looked for again each time, so that a token works as soon as it is made.
 *
 * @param now The wall clock: expiry and last use are by it.
 * @param mostKnown How many valid tokens are remembered at most.
 */
export function createTokenVerifier(
  prisma: PrismaClient,
  now: () => Instant,
  mostKnown = MOST_TOKENS_KNOWN,
): TokenVerifier {
  const known = new LRUCache<string, KnownToken>({ max: mostKnown });
  const asking = new Map<string, Promise<KnownToken | null>>();

  /** Requests that come while the database is asked about their token wait for the same answer. */
  const ask = (key: string, digest: Uint8Array<ArrayBuffer>): Promise<KnownToken | null> => {
    const running = asking.get(key);
    if (running !== undefined) return running;
    const answer = findToken(prisma, digest, now()).finally(() => asking.delete(key));
    asking.set(key, answer);
    return answer;
  };

  return {
    knows: (text) => isAccessToken(text) && known.has(keyOf(digestOf(text))),
    async verify(text) {
      if (!isAccessToken(text)) return null;
      const digest = digestOf(text);
      const key = keyOf(digest);
      const remembered = known.get(key);
      if (remembered !== undefined && isFresh(remembered, now())) return remembered.viewer;
      const token = await ask(key, digest);
      if (token === null) known.delete(key);
      else known.set(key, token);
      return token?.viewer ?? null;
    },
  };
}

function keyOf(digest: Uint8Array<ArrayBuffer>): string {
  return Buffer.from(digest.buffer).toString('base64');
}

function isFresh({ askedAt, expiresAt }: KnownToken, now: Instant): boolean {
  return performance.now() - askedAt <= KNOWN_FOR_MILLISECONDS && (expiresAt === null || expiresAt > now);
}

/** For a token that is expired or revoked the database does what it does for one that it never had. */
async function findToken(
  prisma: PrismaClient,
  digest: Uint8Array<ArrayBuffer>,
  now: Instant,
): Promise<KnownToken | null> {
  const askedAt = performance.now();
  const unexpired = [{ expiresAt: null }, { expiresAt: { gt: now } }];
  const row = await prisma.accessToken.findUnique({ where: { digest, revokedAt: null, OR: unexpired } });
  if (row === null) return null;
  if (row.lastUsed === null || now - row.lastUsed >= LAST_USED_EVERY) noteUse(prisma, digest, now);
  const rateLimitKey = keyOf(digest);
  const scopes = new Set<Scope>(SCOPES.filter((scope) => row.scopes.includes(scope)));
  return { viewer: { kind: 'token', rateLimitKey, scopes }, expiresAt: row.expiresAt, askedAt };
}

/** Once a minute for all processes together. No answer waits for it, and none fails by it. */
function noteUse(prisma: PrismaClient, digest: Uint8Array<ArrayBuffer>, now: Instant): void {
  const due = [{ lastUsed: null }, { lastUsed: { lte: now - LAST_USED_EVERY } }];
  prisma.accessToken
    .updateMany({ where: { digest, OR: due }, data: { lastUsed: now } })
    .catch(() => undefined);
}
