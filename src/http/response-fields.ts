import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The sources of each directive (CSP Level 3, section 6); none: nothing may be loaded by it. */
export type PolicySources = Readonly<Record<string, readonly string[]>>;

/**
 * The value of Content-Security-Policy for a page that loads what `sources` names and nothing else: no
 * other site may frame it, and it sends no form.
 *
 * @param sources Such as `{ 'script-src': ["'self'"], 'connect-src': ["'self'"] }`. They must hold no input.
 */
export function pagePolicy(sources: PolicySources = {}): string {
  const directives = { ...NOTHING, 'base-uri': [], 'form-action': [], ...sources };
  return policyOf(directives);
}

const NOTHING: PolicySources = { 'default-src': [], 'frame-ancestors': [] };

function policyOf(directives: PolicySources): string {
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources.length === 0 ? "'none'" : sources.join(' ')}`)
    .join('; ');
}

/** For all but pages: a browser that shows one as a page loads nothing. */
const DATA_POLICY = policyOf(NOTHING);

/**
 * The header fields of every response. A handler may replace each: a page its policy, a
 * cacheable response its Cache-Control.
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

/** The field that carries a request's id, both ways. */
export const REQUEST_ID_FIELD = 'x-request-id';

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's own id, if it is one that a log can hold, or a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const sent = headers[REQUEST_ID_FIELD];
  return typeof sent === 'string' && SANE_ID.test(sent) ? sent : randomUUID();
}
