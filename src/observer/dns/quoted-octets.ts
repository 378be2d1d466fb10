/** What a character string in double quotes shows as it is: printable ASCII but `"` and `\`. */
const ESCAPED = /[^\x20-\x7e]|["\\]/gs;

/** Octets as a character string in double quotes (RFC 1035, section 5.1). */
export function quotedOctets(octets: Buffer): string {
  return `"${escapedOctets(octets)}"`;
}

/** Octets as the inside of a character string in double quotes. */
export function escapedOctets(octets: Buffer): string {
  return octets.toString('latin1').replace(ESCAPED, escaped);
}

function escaped(octet: string): string {
  return octet === '"' || octet === '\\' ? `\\${octet}` : `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`;
}
