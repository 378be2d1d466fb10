import { UnauthenticatedError } from '../model/errors.js';
import type { Penalties } from '../rates/penalties.js';
import { isJwt } from './jwt-verifier.js';
import type { RefusedToken, TokenVerifier } from './token-verifier.js';
import type { Scope, Viewer } from './viewer.js';

/** RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** A token, of whatever form: not the name of the scheme alone, and not another scheme. */
const SENT_TOKEN = /^bearer +[^ ]/i;

const NO_BEARER =
  'The header Authorization must be "Authorization: Bearer <token>", with a token in the place of <token>.';

const REFUSAL = 'The access token is not valid: it is malformed, unknown, expired or revoked.';

/** What a JSON Web Token meets where nobody's are taken. */
const NO_PROVIDER: TokenVerifier<RefusedToken> = {
  knows: () => false,
  verify: async () => ({
    kind: 'refused',
    reason: 'it is a JSON Web Token, and no identity provider is set: see AUTH_JWKS_URL',
  }),
};

/** Decides who asks, from the Authorization header and the client that its address stands for. */
export type Authenticate = (authorization: string | undefined, client: string) => Promise<Viewer>;

/** What authentication stands on. */
export interface AuthenticationOptions {
  readonly tokens: TokenVerifier;
  /** Verifies the tokens of an identity provider; absent: none are taken. */
  readonly jwts?: TokenVerifier<RefusedToken> | undefined;
  /** What a client without a token may do, and so every client. */
  readonly anonymousScopes: ReadonlySet<Scope>;
  /** Whether a client without a token may ask nothing at all: then `anonymousScopes` has no effect. */
  readonly tokenRequired?: boolean;
  /** Counts failed authentications by the client's address; absent: they are not limited. */
  readonly failures?: Penalties;
}

/**
 * Makes the function that decides who asks. A credential that is not valid is never taken for none.
 *
 * Once an address has failed too often, only tokens that were valid when they came last are looked at, so
 * that nobody guesses on, and those who share the address with a guesser go on.
 *
 * The function throws UnauthenticatedError, the same for everything that is wrong with a token;
 * RateLimitedError after too many of them; ProviderUnavailableError; and what the database's driver throws
 * where the database does not answer.
 */
export function createAuthentication(options: AuthenticationOptions): Authenticate {
  const {
    tokens,
    jwts = NO_PROVIDER,
    anonymousScopes,
    tokenRequired: needsToken = false,
    failures,
  } = options;
  const everybodysScopes: ReadonlySet<Scope> = needsToken ? new Set() : anonymousScopes;

  const refuse = async (client: string, error: UnauthenticatedError): Promise<never> => {
    await failures?.add(client);
    throw error;
  };

  return async (authorization, client) => {
    if (authorization === undefined) {
      return {
        kind: 'anonymous',
        rateLimitKey: client,
        scopes: anonymousScopes,
        needsToken,
        rates: undefined,
      };
    }
    const token = BEARER.exec(authorization)?.[1];
    const verifier = token !== undefined && isJwt(token) ? jwts : tokens;
    const usedUp = failures?.usedUp(client);
    if (failures !== undefined && usedUp !== undefined && (token === undefined || !verifier.knows(token))) {
      throw failures.refusal(usedUp);
    }
    if (token === undefined) {
      return refuse(client, new UnauthenticatedError(NO_BEARER, SENT_TOKEN.test(authorization)));
    }
    const viewer = await verifier.verify(token);
    if (viewer === null || viewer.kind === 'refused') {
      return refuse(client, new UnauthenticatedError(REFUSAL, true, viewer?.reason));
    }
    return { ...viewer, scopes: union(viewer.scopes, everybodysScopes), rates: undefined };
  };
}

/** Most tokens may do what everybody may: nothing is made for them. */
function union(scopes: ReadonlySet<Scope>, others: ReadonlySet<Scope>): ReadonlySet<Scope> {
  for (const scope of others) if (!scopes.has(scope)) return new Set([...scopes, ...others]);
  return scopes;
}
