import { addHeaderField, isFieldName, joinHeaderFields, textOfOctets } from '../../model/header-fields.js';
import type { HeaderField } from '../../model/response-head.js';

/**
 * The fields of a response: lower-case names to trimmed values, those of one name joined by `, ` in their
 * order (RFC 9110, section 5.3), without the ignored ones.
 *
 * A field with a name that none may have is passed over. No history holds such a name, so that nothing is
 * said of its absence either.
 *
 * @param fields with a character for each octet.
 * @throws InvalidObservationError for a name that is longer than a name may be.
 */
export function responseFields(
  fields: readonly HeaderField[],
  ignored: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const values = new Map<string, string[]>();
  for (const [octets, value] of fields) {
    const name = textOfOctets(octets);
    if (ignored.has(name.toLowerCase()) || !isFieldName(name)) continue;
    addHeaderField(values, name, textOfOctets(value));
  }
  return joinHeaderFields(values);
}
