import type { RateState } from '../rates/rate-policy.js';

/** What a token may be allowed to do. Scopes guard operations, not data. */
export const SCOPES = ['dns:read', 'headers:read', 'details:read', 'search:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** Who asks: decided once for each request, before any operation runs. */
export interface Viewer {
  /** Whether the viewer came with a valid token: it decides which rate limit holds. */
  readonly kind: 'anonymous' | 'token';
  /** The bucket that the viewer's requests are counted in: by the client's address, or by its token. */
  readonly rateLimitKey: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Whether the viewer may ask nothing at all before it comes with a token. */
  readonly needsToken?: boolean;
  /** What this request has left of the viewer's budget: absent until it has asked for what is limited. */
  rates?: RateState | undefined;
}
