import { decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { attempt } from '../model/attempt.js';
import { messageOf, ProviderUnavailableError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { cachedVerifier, invalidToken, keyOf, type ValidToken, type VerifyToken } from './token-verifier.js';
import { SCOPES, type Viewer } from './viewer.js';

interface JwtVerifierOptions {
  readonly keys: JWTVerifyGetKey;
  readonly issuer: string;
  readonly audience: string;
  /** The wall clock: `exp` and `nbf` refer to it. */
  readonly now: () => Instant;
}

/** No shared secrets: a verifier could sign (RFC 8725, section 3.1). */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];

/** RFC 9068, section 2.1, requires `at+jwt`; providers also write `JWT`, or no type. */
const TYPES: readonly unknown[] = [undefined, 'at+jwt', 'application/at+jwt', 'jwt', 'application/jwt'];

/** How long, in milliseconds, a key that the provider has withdrawn may stay valid. */
const CACHED_FOR = 60_000;
const MAX_CHARACTERS_SHOWN = 200;

/** Whether a text has the form of a signed JWT: three parts between dots (RFC 7515, section 3.1). */
export function isJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text);
}

/**
 * Verifies the access tokens of an identity provider (RFC 7519, profiled by RFC 9068). ProviderUnavailableError
 * comes from `keys`, and no other error: whatever cannot be verified is not valid.
 */
export function createJwtVerifier(options: JwtVerifierOptions): VerifyToken {
  return cachedVerifier((token) => verifyJwt(token, options), CACHED_FOR, options.now);
}

async function verifyJwt(token: string, options: JwtVerifierOptions): Promise<ValidToken> {
  const { keys, issuer, audience, now } = options;
  const currentDate = new Date(Number(now() / 1000n));
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    algorithms: ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ['exp'],
    // In seconds.
    clockTolerance: 5,
    currentDate,
  }).catch((error: unknown) => {
    if (error instanceof ProviderUnavailableError) throw error;
    const time = `, and it is ${Math.floor(currentDate.getTime() / 1000)} now`;
    const comparedWith = {
      iss: `, AUTH_ISSUER is ${JSON.stringify(issuer)}`,
      aud: `, AUTH_AUDIENCE is ${JSON.stringify(audience)}`,
      exp: time,
      nbf: time,
    };
    throw invalidToken(reasonOf(token, error, comparedWith));
  });
  // The header is the client's JSON: its `typ` may be anything.
  const { typ } = protectedHeader;
  if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ)) {
    throw invalidToken(`unexpected "typ" header: the token has ${shown(typ)}, expected at+jwt, JWT, or none`);
  }
  // A NumericDate may have a fraction (RFC 7519, section 2). JSON's 1e400 is Infinity.
  const seconds = Math.floor(payload.exp ?? Number.NaN);
  if (!Number.isSafeInteger(seconds)) throw invalidToken('the "exp" claim is not a time');
  return { viewer: viewerOf(payload), expiresAt: BigInt(seconds) * 1_000_000n };
}

/** Why a token is not valid, for the operator. It quotes nothing of the token but what was compared. */
function reasonOf(token: string, error: unknown, comparedWith: Readonly<Record<string, string>>): string {
  const message = messageOf(error);
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    return `${message}: the token has ${shown(error.payload[error.claim])}${comparedWith[error.claim] ?? ''}`;
  }
  // A header that is not a JSON object names no key.
  const header = attempt(() => decodeProtectedHeader(token));
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `${message}: the token has ${shown(header?.alg)}, expected ${ALGORITHMS.join(', ')}`;
  }
  const key = `the token names the key ${shown(header?.kid)} for ${shown(header?.alg)}`;
  if (error instanceof errors.JWKSNoMatchingKey) return `${message}: ${key}; AUTH_JWKS_URL has no such key`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return `${message}: ${key}`;
  // Where jose cannot use a key it throws errors of other classes.
  return error instanceof errors.JOSEError ? message : `the key cannot be used (${message}): ${key}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= MAX_CHARACTERS_SHOWN ? text : `${text.slice(0, MAX_CHARACTERS_SHOWN)}…`;
}

/** The rate limit is the subject's, for all its tokens together. */
function viewerOf({ iss, sub, client_id: client, scope, scp }: JWTPayload): Viewer {
  const subject = sub ?? client;
  if (typeof subject !== 'string' || subject === '')
    throw invalidToken('the token has neither "sub" nor "client_id" with text');
  // A space-separated text (RFC 8693, section 4.2), or a list, as some providers write it.
  const claim = scope ?? scp;
  const granted: unknown = typeof claim === 'string' ? claim.split(' ') : claim;
  return {
    kind: 'token',
    rateLimitKey: keyOf(JSON.stringify([iss, subject])),
    scopes: new Set(SCOPES.filter((each) => Array.isArray(granted) && granted.includes(each))),
  };
}
