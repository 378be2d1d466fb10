import { UnauthenticatedError } from '../model/errors.js';
import type { TokenVerifier } from './token-verifier.js';
import type { Scope, Viewer } from './viewer.js';

/** RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

const NO_BEARER =
  'The header Authorization must be "Authorization: Bearer <token>", with a token in the place of <token>.';

const REFUSAL = 'The access token is not valid: it is malformed, unknown, expired or revoked.';

/** Decides who asks, from the Authorization header and the client's address. */
export type Authenticate = (authorization: string | undefined, address: string) => Promise<Viewer>;

/** What authentication stands on. */
export interface AuthenticationOptions {
  readonly tokens: TokenVerifier;
  /** What a client without a token may do. */
  readonly anonymousScopes: ReadonlySet<Scope>;
}

/**
 * Makes the function that decides who asks. A credential that is not valid is never taken for none.
 *
 * The function throws UnauthenticatedError, the same for everything that is wrong with a token, and what
 * the database's driver throws where the database does not answer.
 */
export function createAuthentication({ tokens, anonymousScopes }: AuthenticationOptions): Authenticate {
  return async (authorization, address) => {
    if (authorization === undefined) {
      return { kind: 'anonymous', rateLimitKey: address, scopes: anonymousScopes };
    }
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) throw new UnauthenticatedError(NO_BEARER, true);
    const viewer = await tokens.verify(token);
    if (viewer === null) throw new UnauthenticatedError(REFUSAL, true);
    return viewer;
  };
}
