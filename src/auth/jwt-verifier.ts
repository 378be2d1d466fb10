import {
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { ProviderUnavailableError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { digestOf } from './access-token.js';
import { endOf, viewerOf } from './jwt-claims.js';
import { refusalReason, shown } from './jwt-refusal.js';
import type { RefusedToken, TokenVerifier } from './token-verifier.js';
import type { Viewer } from './viewer.js';

/** Whose tokens are taken, and how they are verified. */
export interface JwtVerifierOptions {
  readonly keys: JWTVerifyGetKey;
  readonly issuer: string;
  readonly audience: string;
  /** The wall clock: `exp` and `nbf` are by it. */
  readonly now: () => Instant;
  /** How many valid tokens are remembered at most; 10,000 if absent. */
  readonly mostKnown?: number;
  /**
   * Told once of each key of the provider's that no signature can be verified with, such as an RSA key of
   * 1024 bits.
   *
   * @param keyId Its `kid`; undefined where the token that met it named none.
   */
  onUnusableKey?(keyId: string | undefined, reason: string): void;
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
/** Whatever tokens name: the log stays short. */
const MOST_KEYS_TOLD = 100;

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
 * Its `verify` throws ProviderUnavailableError where `keys` does, and nothing else: whatever cannot be
 * verified is not valid.
 */
export function createJwtVerifier(options: JwtVerifierOptions): TokenVerifier<RefusedToken> {
  const known = new LRUCache<string, KnownToken>({ max: options.mostKnown ?? MOST_TOKENS_KNOWN });
  const tellOfKey = once(options);
  return {
    knows: (text) => known.has(keyOf(text)),
    async verify(text) {
      const key = keyOf(text);
      const token = known.get(key);
      if (token !== undefined && isFresh(token, options.now())) return token.viewer;
      known.delete(key);
      const verified = await verifyToken(text, options, tellOfKey);
      if ('reason' in verified) return verified;
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

async function verifyToken(
  text: string,
  options: JwtVerifierOptions,
  tellOfKey: (header: ProtectedHeaderParameters | undefined, error: unknown) => void,
): Promise<KnownToken | RefusedToken> {
  const { keys, issuer, audience, now } = options;
  const milliseconds = Number(now() / 1000n);
  try {
    const { payload, protectedHeader } = await jwtVerify(text, keys, {
      algorithms: ALGORITHMS,
      issuer,
      audience,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE,
      currentDate: new Date(milliseconds),
    });
    return knownToken(protectedHeader, payload);
  } catch (error) {
    if (error instanceof ProviderUnavailableError) throw error;
    const header = headerOf(text);
    // What jose cannot do with a key it says by errors of other kinds.
    if (!(error instanceof errors.JOSEError)) tellOfKey(header, error);
    const expected = { issuer, audience, algorithms: ALGORITHMS, now: Math.floor(milliseconds / 1000) };
    return refused(refusalReason(header, error, expected));
  }
}

/** What a token says whose signature and claims are in order. */
function knownToken({ typ }: ProtectedHeaderParameters, payload: JWTPayload): KnownToken | RefusedToken {
  if (!isAccessTokenType(typ)) {
    return refused(`unexpected "typ" header: the token has ${shown(typ)}, taken are at+jwt, JWT, and none`);
  }
  const viewer = viewerOf(payload);
  if (viewer === null) return refused('the token has neither "sub" nor "client_id", or no text there');
  const expiresAt = endOf(payload);
  if (expiresAt === null) return refused('the "exp" claim is no time');
  return { viewer, expiresAt, verifiedAt: performance.now() };
}

function refused(reason: string): RefusedToken {
  return { kind: 'refused', reason };
}

/** Whoever names a key, with any signature at all, brings its failure about: it is told of once. */
function once({ onUnusableKey }: JwtVerifierOptions) {
  const told = new Set<string | undefined>();
  return (header: ProtectedHeaderParameters | undefined, error: unknown): void => {
    const keyId = typeof header?.kid === 'string' ? header.kid : undefined;
    if (header === undefined || told.has(keyId) || told.size >= MOST_KEYS_TOLD) return;
    told.add(keyId);
    onUnusableKey?.(keyId, error instanceof Error ? error.message : String(error));
  };
}

/** Undefined where it is no JSON object: such a token names no key. */
function headerOf(text: string): ProtectedHeaderParameters | undefined {
  try {
    return decodeProtectedHeader(text);
  } catch {
    return undefined;
  }
}

/** A header is the client's JSON: its `typ` may be no text. */
function isAccessTokenType(type: unknown): boolean {
  return TYPES.includes(typeof type === 'string' ? type.toLowerCase() : type);
}
