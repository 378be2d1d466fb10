import type { Scope } from '../../auth/viewer.js';
import type { Route } from './routes.js';

/** What a client without a token may do. */
export interface AnonymousAccess {
  /** Whether nobody is answered without a token. */
  readonly tokenRequired: boolean;
  /** What everybody may do otherwise. */
  readonly anonymousScopes: ReadonlySet<Scope>;
}

/** Whether an operation is answered to everybody. */
export function isOpen({ scope }: Route, { tokenRequired, anonymousScopes }: AnonymousAccess): boolean {
  return !tokenRequired && (scope === null || anonymousScopes.has(scope));
}
