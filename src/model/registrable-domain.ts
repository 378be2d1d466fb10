import { getDomain } from 'tldts';

// Not in domain-name.ts: the Public Suffix List takes a tenth of the start of a command that needs none.

/** URL Standard, section 3.2, by the private section of the Public Suffix List too; null for a suffix itself. */
export function registrableDomain(name: string): string | null {
  // The name is canonical: nothing is to be cut out or checked.
  const unchecked = { extractHostname: false, validateHostname: false, detectIp: false };
  return getDomain(name, { ...unchecked, allowPrivateDomains: true });
}
