import type { Observation } from '../model/observation.js';
import type { HeaderState } from './state.js';

/**
 * Adds what is known of the headers that an observer leaves out: what it did not look at is as it was,
 * so that the rules for a complete set of headers hold for it too.
 *
 * @param known every header ever seen of the domain.
 * @returns the observation itself where it leaves out none that is present.
 */
export function completeHeaders(
  observation: Observation,
  known: ReadonlyMap<string, HeaderState>,
): Observation {
  const { httpHeaders, ignoredHeaders } = observation;
  if (httpHeaders === undefined || ignoredHeaders === undefined) {
    return observation;
  }
  const kept = [...known].filter(([name, { present }]) => present && ignoredHeaders.has(name));
  if (kept.length === 0) {
    return observation;
  }
  const values = kept.map(([name, { value }]) => [name, value] as const);
  return { ...observation, httpHeaders: new Map([...httpHeaders, ...values]) };
}
