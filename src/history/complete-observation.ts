import { recordsByType } from '../model/dns-record.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import type { Holdings } from './state.js';

/** Whether an observation leaves out what was not observed. */
export function isPartial({ ignoredHeaders, dns }: Observation): boolean {
  return ignoredHeaders !== undefined || dns?.observedOwners !== undefined;
}

/**
 * Adds what is known of the headers and records that were not observed: they are unchanged, so that the
 * rules for complete sets hold for the observation too.
 *
 * @param holdings null: not known; it is left as it is.
 */
export function completeObservation(observation: Observation, holdings: Holdings | null): Observation {
  if (holdings === null || !isPartial(observation)) return observation;
  const headers = completeHeaders(observation, holdings);
  const dns = observation.dns && completeRecords(observation.dns, holdings);
  return { ...observation, ...(headers && { httpHeaders: headers }), ...(dns && { dns }) };
}

function completeHeaders(
  { httpHeaders, ignoredHeaders }: Observation,
  { headers: known }: Holdings,
): Observation['httpHeaders'] {
  if (httpHeaders === undefined || ignoredHeaders === undefined) return httpHeaders;
  const kept = [...known].filter(([name, { present }]) => present && ignoredHeaders.has(name));
  if (kept.length === 0) return httpHeaders;
  return new Map([...httpHeaders, ...kept.map(([name, { value }]) => [name, value] as const)]);
}

function completeRecords(dns: DnsObservation, { records: known }: Holdings): DnsObservation {
  const kept = [...(dns.observedOwners ?? [])].flatMap(([type, owners]) => {
    const present = (known.get(type) ?? []).map(({ record }) => record);
    return present.filter(({ host }) => !owners.has(host));
  });
  if (kept.length === 0) return dns;
  return { ...dns, records: recordsByType([...dns.records.values()].flat().concat(kept)) };
}
