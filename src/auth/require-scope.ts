import { ForbiddenError, UnauthenticatedError } from '../model/errors.js';
import type { Scope, Viewer } from './viewer.js';

/**
 * Lets a viewer pass who has the scope.
 *
 * @throws UnauthenticatedError for a viewer without a token, ForbiddenError for one whose token lacks it.
 */
export function requireScope(viewer: Viewer, scope: Scope): void {
  if (viewer.scopes.has(scope)) return;
  if (viewer.kind === 'token') throw new ForbiddenError(scope);
  throw new UnauthenticatedError(
    `This needs an access token with the scope ${scope}, in the header "Authorization: Bearer <token>".`,
    false,
  );
}

/**
 * Lets every viewer pass where clients without a token may ask, and otherwise those with one.
 *
 * @throws UnauthenticatedError.
 */
export function requireToken({ needsToken }: Viewer): void {
  if (needsToken !== true) return;
  throw new UnauthenticatedError(
    'This service answers nobody without an access token, in the header "Authorization: Bearer <token>".',
    false,
  );
}
