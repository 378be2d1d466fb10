import { addHeaderField, joinHeaderFields } from '../../model/header-fields.js';
import { textOfOctets } from '../../model/octets.js';

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
    addHeaderField(fields, name, textOfOctets(rawHeaders[at + 1] ?? ''));
  }
  return joinHeaderFields(fields);
}
