import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** For all but pages (CSP Level 3): a browser that shows one as a page loads nothing. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** For a page: what is added to it may be loaded, no other site may frame it, and it sends no form. */
export const PAGE_POLICY = `${DATA_POLICY}; base-uri 'none'; form-action 'none'`;

/**
 * A handler may replace each: a page its policy, a cacheable response its Cache-Control.
 *
 * There is no Strict-Transport-Security: the server speaks plain HTTP, and only what speaks TLS before it
 * knows whether all of its host does.
 */
export const DEFAULT_FIELDS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': DATA_POLICY,
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** What selects a response besides its URL (RFC 9110, section 12.5.5). */
export const VARY = 'Accept-Encoding, Authorization';

export const REQUEST_ID_FIELD = 'x-request-id';

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's own id, if it is one that a log can hold, or a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const sent = headers[REQUEST_ID_FIELD];
  return typeof sent === 'string' && SANE_ID.test(sent) ? sent : randomUUID();
}
