import { isUtf8 } from 'node:buffer';
import { addHeaderField, joinHeaderFields } from '../../model/header-fields.js';

const OUTSIDE_ASCII = /[\u0080-\u00ff]/;

/**
 * The fields of a response: lower-case names to trimmed values, those of one name joined by `, ` in their
 * order (RFC 9110, section 5.3), without the ignored ones.
 *
 * @param rawHeaders Names and values in turns; a character of a value is one octet.
 * @throws InvalidObservationError for a name that is longer than a name may be.
 */
export function responseFields(
  rawHeaders: readonly string[],
  ignored: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const fields = new Map<string, string[]>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (ignored.has(name.toLowerCase())) continue;
    addHeaderField(fields, name, fieldText(rawHeaders[at + 1] ?? ''));
  }
  return joinHeaderFields(fields);
}

/**
 * The text of a value's octets. Those over 0x7f have no meaning of their own (RFC 9110, section 5.5):
 * a value that is UTF-8 as a whole is read so, any other as ISO 8859-1, which loses nothing.
 */
function fieldText(octets: string): string {
  if (!OUTSIDE_ASCII.test(octets)) return octets;
  const bytes = Buffer.from(octets, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : octets;
}
