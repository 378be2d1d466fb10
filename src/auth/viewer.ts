/** What a token may be allowed to do. Scopes guard operations, not data. */
export const SCOPES = ['dns:read', 'headers:read', 'details:read', 'search:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** Who asks: decided once for each request, before any operation runs. */
export interface Viewer {
  /** Whether the viewer came with a valid token: it decides which rate limit holds. */
  readonly kind: 'anonymous' | 'token';
  /** The bucket that the viewer's requests are counted in: the client's address, or the token's digest. */
  readonly rateLimitKey: string;
  readonly scopes: ReadonlySet<Scope>;
}
