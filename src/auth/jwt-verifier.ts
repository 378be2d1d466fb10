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
import { rejectionReason, shown } from './jwt-rejection.js';
import type { RejectedToken, TokenVerifier } from './token-verifier.js';
import { digestOf } from './tokens.js';
import { SCOPES, type Viewer } from './viewer.js';

/** Whose tokens are accepted, and how they are verified. */
export interface JwtVerifierOptions {
  readonly keys: JWTVerifyGetKey;
  readonly issuer: string;
  readonly audience: string;
  /** The wall clock: `exp` and `nbf` are by it. */
  readonly now: () => Instant;
  /** The largest number of valid tokens in the cache; 10,000 if absent. */
  readonly maxCached?: number;
  /**
   * Called once for each key of the provider that cannot verify any signature, such as an RSA key of 1024 bits.
   *
   * @param keyId Its `kid`; undefined where the token named none.
   */
  onUnusableKey?(keyId: string | undefined, reason: string): void;
}

/** Public keys only: with a shared secret, whoever verifies could sign (RFC 8725, section 3.1). */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];

/** RFC 9068, section 2.1, asks for `at+jwt`; providers also write `JWT`, or no type. */
const TYPES: readonly unknown[] = [undefined, 'at+jwt', 'application/at+jwt', 'jwt', 'application/jwt'];

/** Seconds that two clocks may differ. */
const CLOCK_TOLERANCE = 5;
/** How long, in milliseconds, a verification is valid, and so a key that the provider has withdrawn. */
const CACHED_FOR = 60_000;
const MAX_CACHED = 10_000;
/** Clients name the keys: the log stays short. */
const MOST_KEYS_REPORTED = 100;

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
export function createJwtVerifier(options: JwtVerifierOptions): TokenVerifier<RejectedToken> {
  const known = new LRUCache<string, KnownToken>({ max: options.maxCached ?? MAX_CACHED });
  const reportKey = once(options);
  return {
    knows: (text) => known.has(keyOf(text)),
    async verify(text) {
      const key = keyOf(text);
      const token = known.get(key);
      if (token !== undefined && isFresh(token, options.now())) return token.viewer;
      known.delete(key);
      const verified = await verifyToken(text, options, reportKey);
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
  return performance.now() - verifiedAt < CACHED_FOR && now < expiresAt;
}

async function verifyToken(
  text: string,
  options: JwtVerifierOptions,
  reportKey: (header: ProtectedHeaderParameters | undefined, error: unknown) => void,
): Promise<KnownToken | RejectedToken> {
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
    // Where jose cannot use a key it throws errors of other classes.
    if (!(error instanceof errors.JOSEError)) reportKey(header, error);
    const expected = { issuer, audience, algorithms: ALGORITHMS, now: Math.floor(milliseconds / 1000) };
    return rejected(rejectionReason(header, error, expected));
  }
}

/** A token whose signature and registered claims are valid. */
function knownToken({ typ }: ProtectedHeaderParameters, payload: JWTPayload): KnownToken | RejectedToken {
  if (!isAccessTokenType(typ)) {
    return rejected(`unexpected "typ" header: the token has ${shown(typ)}, expected at+jwt, JWT, or none`);
  }
  const viewer = viewerOf(payload);
  if (viewer === null) return rejected('the token has neither "sub" nor "client_id" with text');
  const expiresAt = expiryOf(payload);
  if (expiresAt === null) return rejected('the "exp" claim is not a time');
  return { viewer, expiresAt, verifiedAt: performance.now() };
}

function rejected(reason: string): RejectedToken {
  return { kind: 'rejected', reason };
}

/** Any client can name a key, with any signature: its failure is reported once. */
function once({ onUnusableKey }: JwtVerifierOptions) {
  const reported = new Set<string | undefined>();
  return (header: ProtectedHeaderParameters | undefined, error: unknown): void => {
    const keyId = typeof header?.kid === 'string' ? header.kid : undefined;
    if (header === undefined || reported.has(keyId) || reported.size >= MOST_KEYS_REPORTED) return;
    reported.add(keyId);
    onUnusableKey?.(keyId, error instanceof Error ? error.message : String(error));
  };
}

/** Undefined where it is not a JSON object: such a token names no key. */
function headerOf(text: string): ProtectedHeaderParameters | undefined {
  try {
    return decodeProtectedHeader(text);
  } catch {
    return undefined;
  }
}

/** The header is the client's JSON: its `typ` may be anything. */
function isAccessTokenType(type: unknown): boolean {
  return TYPES.includes(typeof type === 'string' ? type.toLowerCase() : type);
}

/** A NumericDate may have a fraction (RFC 7519, section 2). Null where it is not a time: JSON's 1e400 is Infinity. */
function expiryOf({ exp }: JWTPayload): Instant | null {
  const seconds = Math.floor(exp ?? Number.NaN);
  return Number.isSafeInteger(seconds) ? BigInt(seconds) * 1_000_000n : null;
}

/** The rate limit is the subject's, for all its tokens together. Null for a token without a subject. */
function viewerOf({ iss, sub, client_id: client, scope, scp }: JWTPayload): Viewer | null {
  const subject = sub ?? client;
  if (typeof subject !== 'string' || subject === '') return null;
  const granted = listOf(scope ?? scp);
  return {
    kind: 'token',
    rateLimitKey: Buffer.from(digestOf(JSON.stringify([iss, subject]))).toString('base64'),
    scopes: new Set(SCOPES.filter((each) => granted.includes(each))),
  };
}

/** A space-separated text (RFC 8693, section 4.2), or a list, as some providers write it. */
function listOf(claim: unknown): readonly unknown[] {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) ? claim : [];
}
