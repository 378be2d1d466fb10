import { getDomain } from 'tldts';

// Not in domain-name.ts: the Public Suffix List takes a tenth of the start of a command that needs none.

/** URL Standard, section 3.2, with the list's private section; null for a public suffix itself. */
export function registrableDomain(name: string): string | null {
  // The name is canonical: nothing is to be cut out or checked.
  const unchecked = { extractHostname: false, validateHostname: false, detectIp: false };
  return getDomain(name, { ...unchecked, allowPrivateDomains: true });
}
