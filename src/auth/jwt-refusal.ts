import { errors, type ProtectedHeaderParameters } from 'jose';

/** What a JSON Web Token was compared with. */
export interface JwtExpectations {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** The wall clock, in seconds since the epoch. */
  readonly now: number;
}

/** Characters of a value that a client has written: the log stays short. */
const LONGEST_VALUE = 200;

/**
 * Why a JSON Web Token is not valid, for whoever runs the service: what was found in it, and what that was
 * compared with. It holds no more of the token than the values that it names.
 *
 * @param header The token's own; undefined where it has none that can be read.
 * @param error What its verification has thrown.
 */
export function refusalReason(
  header: ProtectedHeaderParameters | undefined,
  error: unknown,
  expected: JwtExpectations,
): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    const wanted = wantedOf(error.claim, expected);
    return `${message}: the token has ${shown(error.payload[error.claim])}${wanted}`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `${message}: the token has ${shown(header?.alg)}, taken are ${expected.algorithms.join(', ')}`;
  }
  const key = `the token names the key ${shown(header?.kid)} for ${shown(header?.alg)}`;
  if (error instanceof errors.JWKSNoMatchingKey) return `${message}: ${key}; AUTH_JWKS_URL has none for it`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return `${message}: ${key}`;
  return error instanceof errors.JOSEError ? message : `the key cannot be used (${message}): ${key}`;
}

/** The setting, or the time, that a claim was compared with. */
function wantedOf(claim: string, { issuer, audience, now }: JwtExpectations): string {
  if (claim === 'iss') return `, AUTH_ISSUER is ${JSON.stringify(issuer)}`;
  if (claim === 'aud') return `, AUTH_AUDIENCE is ${JSON.stringify(audience)}`;
  return claim === 'exp' || claim === 'nbf' ? `, and it is ${now} now` : '';
}

/** A value of a token's, as JSON and cut; `nothing` where there is none. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE)}…`;
}
