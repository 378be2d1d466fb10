import { UnauthenticatedError } from '../model/errors.js';
import { isJwt } from './jwt-verifier.js';
import { invalidToken, type VerifyToken } from './token-verifier.js';
import type { Scope, Viewer } from './viewer.js';

/** RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const SENT_TOKEN = /^bearer +[^ ]/i;

const NO_BEARER =
  'The header Authorization must be "Authorization: Bearer <token>", with a token in the place of <token>.';

/** RFC 7617, section 2: readers of feeds know no other scheme. The token is the password, whatever the user. */
const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i;

const NO_PROVIDER = 'it is a JSON Web Token, and no identity provider is set: see AUTH_JWKS_URL';

export type Authenticate = (authorization: string | undefined, clientKey: string) => Promise<Viewer>;

/**
 * Makes what finds the viewer of a request. An invalid credential is an error, never ignored: an
 * UnauthenticatedError, the same for everything that is wrong with a token, or what VerifyToken throws.
 */
export function createAuthentication({
  tokens,
  jwts = () => Promise.reject(invalidToken(NO_PROVIDER)),
  anonymousScopes,
  tokenRequired: needsToken = false,
}: {
  readonly tokens: VerifyToken;
  /** Verifies the tokens of an identity provider; absent: they are rejected. */
  readonly jwts?: VerifyToken | undefined;
  /** The scopes of a client without a token, and so of every client. */
  readonly anonymousScopes: ReadonlySet<Scope>;
  /** Whether every operation requires a token: then `anonymousScopes` has no effect. */
  readonly tokenRequired?: boolean;
}): Authenticate {
  return async (authorization, clientKey) => {
    if (authorization === undefined) {
      const scopes = anonymousScopes;
      return { kind: 'anonymous', rateLimitKey: clientKey, scopes, needsToken, rates: undefined };
    }
    const token = BEARER.exec(authorization)?.[1] ?? passwordIn(authorization);
    if (token === undefined) throw new UnauthenticatedError(NO_BEARER, SENT_TOKEN.test(authorization));
    const verify = isJwt(token) ? jwts : tokens;
    const recheck = () => verify(token);
    const { kind, rateLimitKey, scopes: own } = await recheck();
    const scopes = new Set([...own, ...(needsToken ? [] : anonymousScopes)]);
    return { kind, rateLimitKey, scopes, recheck, rates: undefined };
  };
}

function passwordIn(authorization: string): string | undefined {
  const credentials = Buffer.from(BASIC.exec(authorization)?.[1] ?? '', 'base64').toString();
  const colon = credentials.indexOf(':');
  return colon === -1 ? undefined : credentials.slice(colon + 1);
}
