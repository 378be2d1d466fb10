import { isUtf8 } from 'node:buffer';

const OUTSIDE_ASCII = /[\u0080-\u00ff]/;

/**
 * The text of the octets of a header field's name or value. Those over 0x7f have no meaning of their own
 * (RFC 9110, section 5.5): what is UTF-8 as a whole is read so, anything else as ISO 8859-1, which loses
 * nothing.
 *
 * @param octets A character is one octet.
 */
export function textOfOctets(octets: string): string {
  if (!OUTSIDE_ASCII.test(octets)) return octets;
  const bytes = Buffer.from(octets, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : octets;
}
