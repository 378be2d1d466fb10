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

/** For what is no page: a browser that shows it as one loads nothing. */
export const DATA_POLICY = policyOf(NOTHING);
