import type { RateState } from '../limits/rates.js';
import { ForbiddenError, UnauthenticatedError } from '../model/errors.js';

/** What a token may be allowed to do. Scopes protect operations, not data. */
export const SCOPES = ['dns:read', 'headers:read', 'details:read', 'search:read', 'watch:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** Who sent a request: determined once, before any operation runs. */
export interface Viewer {
  readonly kind: 'anonymous' | 'token';
  /** From the client's address, or from its token. */
  readonly rateLimitKey: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Whether every operation requires a token, and the viewer has none. */
  readonly needsToken?: boolean;
  /** Checks the token again, for what outlasts a request; absent without one. @throws UnauthenticatedError */
  readonly recheck?: () => Promise<unknown>;
  /** Absent until the request has selected a limited field. */
  rates?: RateState | undefined;
}

/** @throws UnauthenticatedError for a viewer without a token, ForbiddenError for a token that lacks it. */
export function requireScope(viewer: Viewer, scope: Scope): void {
  if (viewer.scopes.has(scope)) return;
  if (viewer.kind === 'token') throw new ForbiddenError(scope);
  throw tokenRequired(` with the scope ${scope}`, ` --scope ${scope}`);
}

export function requireToken({ needsToken }: Viewer): void {
  if (needsToken === true) throw tokenRequired('', '');
}

function tokenRequired(kind: string, option: string): UnauthenticatedError {
  return new UnauthenticatedError(
    `An access token${kind} is required, in the header "Authorization: Bearer <token>". ` +
      `The operator creates one: dms token create --name NAME${option}.`,
    false,
  );
}
