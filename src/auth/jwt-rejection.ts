import { errors, type ProtectedHeaderParameters } from 'jose';

/** What a JSON Web Token was compared with. */
export interface JwtExpectations {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** The wall clock, in seconds since the epoch. */
  readonly now: number;
}

/** Characters of a client's value in the log. */
const MAX_SHOWN = 200;

/**
 * Why a JSON Web Token is not valid, for whoever runs the service: what was found in it, and what was expected.
 * Of the token it quotes only these values.
 *
 * @param header Undefined where it cannot be parsed.
 */
export function rejectionReason(
  header: ProtectedHeaderParameters | undefined,
  error: unknown,
  expected: JwtExpectations,
): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    const expectation = expectationFor(error.claim, expected);
    return `${message}: the token has ${shown(error.payload[error.claim])}${expectation}`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `${message}: the token has ${shown(header?.alg)}, expected ${expected.algorithms.join(', ')}`;
  }
  const key = `the token names the key ${shown(header?.kid)} for ${shown(header?.alg)}`;
  if (error instanceof errors.JWKSNoMatchingKey) return `${message}: ${key}; AUTH_JWKS_URL has no such key`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return `${message}: ${key}`;
  return error instanceof errors.JOSEError ? message : `the key cannot be used (${message}): ${key}`;
}

/** The setting, or the time, with which a claim was compared. */
function expectationFor(claim: string, { issuer, audience, now }: JwtExpectations): string {
  if (claim === 'iss') return `, AUTH_ISSUER is ${JSON.stringify(issuer)}`;
  if (claim === 'aud') return `, AUTH_AUDIENCE is ${JSON.stringify(audience)}`;
  return claim === 'exp' || claim === 'nbf' ? `, and it is ${now} now` : '';
}

/** A value of a token as JSON, truncated; `nothing` for undefined. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}
