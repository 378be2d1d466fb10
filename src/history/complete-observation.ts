import { recordsByType } from '../model/dns-record.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import type { Holdings } from './state.js';

/** Whether an observation leaves out what it did not look at. */
export function isPartial({ ignoredHeaders, dns }: Observation): boolean {
  return ignoredHeaders !== undefined || dns?.observedOwners !== undefined;
}

/**
 * Adds what is known of the headers and records that an observer did not look at: they are as they were,
 * so that the rules for complete sets hold for the observation too.
 *
 * @returns the observation itself where it leaves out nothing that is present.
 */
export function completeObservation(observation: Observation, holdings: Holdings): Observation {
  const headers = completeHeaders(observation, holdings);
  const dns = observation.dns && completeRecords(observation.dns, holdings);
  if (headers === observation.httpHeaders && dns === observation.dns) {
    return observation;
  }
  return { ...observation, ...(headers && { httpHeaders: headers }), ...(dns && { dns }) };
}

function completeHeaders(
  { httpHeaders, ignoredHeaders }: Observation,
  { headers: known }: Holdings,
): Observation['httpHeaders'] {
  if (httpHeaders === undefined || ignoredHeaders === undefined) {
    return httpHeaders;
  }
  const kept = [...known].filter(([name, { present }]) => present && ignoredHeaders.has(name));
  const values = kept.map(([name, { value }]) => [name, value] as const);
  return kept.length === 0 ? httpHeaders : new Map([...httpHeaders, ...values]);
}

function completeRecords(dns: DnsObservation, { records: known }: Holdings): DnsObservation {
  const kept = [...(dns.observedOwners ?? [])].flatMap(([type, owners]) => {
    const present = (known.get(type) ?? []).map(({ record }) => record);
    return present.filter(({ host }) => !owners.has(host));
  });
  if (kept.length === 0) {
    return dns;
  }
  const all = [...dns.records.values()].flat();
  return { ...dns, records: recordsByType([...all, ...kept]) };
}
