import type { Observation } from '../model/observation.js';
import type { HeaderChange, HeaderState } from './state.js';

/**
 * Compares the headers that an observation holds with those that are known: new values, absences, and
 * returns with the value of before.
 *
 * @param headers field names in lower case to field values.
 * @param known every header ever seen of the domain.
 */
export function diffHeaders(
  headers: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, HeaderState>,
  observation: Observation,
): HeaderChange[] {
  const { observedAt } = observation;
  const source = observation.source ?? null;
  const changes: HeaderChange[] = [];
  for (const [name, value] of headers) {
    const before = known.get(name);
    if (before === undefined) {
      changes.push({ name, observedAt, kind: 'created', value, old: null, source });
    } else if (before.value !== value) {
      changes.push({ name, observedAt, kind: 'updated', value, old: before.value, source });
    } else if (!before.present) {
      changes.push({ name, observedAt, kind: 'returned', value: null, old: value, source });
    }
  }
  for (const [name, { present, value: old }] of known) {
    if (present && !headers.has(name)) {
      changes.push({ name, observedAt, kind: 'gone', value: null, old, source });
    }
  }
  return changes;
}
