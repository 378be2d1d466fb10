import { getDomain } from 'tldts';

// Not in domain-name.ts: the Public Suffix List takes a tenth of the start of a command that needs none.

/**
 * The registrable domain of a canonical name (URL Standard, section 3.2: the Public Suffix List with its
 * private section): `example.co.uk` for `www.example.co.uk`; null for a public suffix itself.
 */
export function registrableDomain(name: string): string | null {
  // The name is canonical: nothing is to be cut out or checked.
  const unchecked = { extractHostname: false, validateHostname: false, detectIp: false };
  return getDomain(name, { ...unchecked, allowPrivateDomains: true });
}
