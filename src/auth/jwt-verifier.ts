import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { BoundedCache } from '../model/bounded-cache.js';
import type { Instant } from '../model/instant.js';
import { digestOf } from './access-token.js';
import type { TokenVerifier } from './token-verifier.js';
import { SCOPES, type Viewer } from './viewer.js';

/** Whose tokens are taken, and how they are verified. */
export interface JwtVerifierOptions {
  readonly keys: JWTVerifyGetKey;
  readonly issuer: string;
  readonly audience: string;
  /** The wall clock: `exp` and `nbf` are by it. */
  readonly now: () => Instant;
}

/** By public key only: with a shared secret whoever verifies could sign (RFC 8725, section 3.1). */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];

/** An access token says that it is one (RFC 9068, section 2.1), or only JWT, or nothing; never something else. */
const TYPES: readonly unknown[] = [undefined, 'at+jwt', 'application/at+jwt', 'jwt', 'application/jwt'];

/** Seconds that two clocks may differ. */
const CLOCK_TOLERANCE = 5;
/** How old, in milliseconds, a verification may be: a key that the provider takes back works no longer. */
const KNOWN_FOR_MILLISECONDS = 60_000;
const MOST_TOKENS_KNOWN = 10_000;

interface KnownToken {
  readonly viewer: Viewer;
  readonly expiresAt: Instant;
  /** Of the monotonic clock. */
  readonly verifiedAt: number;
}

/** Whether a text has the form of a signed JWT: three parts between dots (RFC 7515, section 3.1). */
export function isJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text);
}

/**
 * Verifies the access tokens of an identity provider (RFC 7519, profiled by RFC 9068).
 *
 * Its `verify` throws what `keys` throws where the provider is away.
 */
export function createJwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  const known = new BoundedCache<string, KnownToken>(MOST_TOKENS_KNOWN);
  return {
    knows: (text) => known.has(keyOf(text)),
    async verify(text) {
      const key = keyOf(text);
      const token = known.get(key);
      if (token !== undefined && isFresh(token, options.now())) return token.viewer;
      known.delete(key);
      const verified = await verifyToken(text, options);
      if (verified === null) return null;
      known.set(key, verified);
      return verified.viewer;
    },
  };
}

function keyOf(text: string): string {
  return Buffer.from(digestOf(text)).toString('base64');
}

function isFresh({ verifiedAt, expiresAt }: KnownToken, now: Instant): boolean {
  return performance.now() - verifiedAt < KNOWN_FOR_MILLISECONDS && now < expiresAt;
}

async function verifyToken(text: string, options: JwtVerifierOptions): Promise<KnownToken | null> {
  const { keys, issuer, audience, now } = options;
  try {
    const { payload, protectedHeader } = await jwtVerify(text, keys, {
      algorithms: ALGORITHMS,
      issuer,
      audience,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE,
      currentDate: new Date(Number(now() / 1000n)),
    });
    const viewer = TYPES.includes(protectedHeader.typ?.toLowerCase()) ? viewerOf(payload) : null;
    const expiresAt = BigInt(Math.floor(payload.exp ?? 0)) * 1_000_000n;
    return viewer === null ? null : { viewer, expiresAt, verifiedAt: performance.now() };
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/** The viewer's budget is the subject's, whichever token it comes with. Null where the token is nobody's. */
function viewerOf({ iss, sub, client_id: client, scope }: JWTPayload): Viewer | null {
  const whose = sub ?? client;
  if (typeof whose !== 'string' || whose === '') return null;
  const granted = typeof scope === 'string' ? scope.split(' ') : [];
  return {
    kind: 'token',
    rateLimitKey: keyOf(JSON.stringify([iss, whose])),
    scopes: new Set(SCOPES.filter((each) => granted.includes(each))),
  };
}
