import { recordsByType } from '../model/dns-record.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import { asHeld } from './held-texts.js';
import type { Holdings } from './state.js';

/** Whether it leaves out what was not observed, or has texts (`asHeld`). */
export function isCompletable({ ignoredHeaders, dns }: Observation): boolean {
  return (
    ignoredHeaders !== undefined || dns?.observedOwners !== undefined || dns?.records.has('TXT') === true
  );
}

/**
 * Adds what is known of the headers and records that were not observed: they are unchanged, so that the
 * rules for complete sets hold for the observation too.
 */
export function completeObservation(observation: Observation, holdings: Holdings): Observation {
  if (!isCompletable(observation)) return observation;
  const httpHeaders = completeHeaders(observation, holdings);
  const dns = observation.dns && completeRecords(observation.dns, holdings);
  if (httpHeaders === observation.httpHeaders && dns === observation.dns) return observation;
  return { ...observation, ...(httpHeaders && { httpHeaders }), ...(dns && { dns }) };
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
  const presentOf = (type: string) => (known.get(type) ?? []).map(({ record }) => record);
  const kept = [...(dns.observedOwners ?? [])].flatMap(([type, owners]) =>
    presentOf(type).filter(({ host }) => !owners.has(host)),
  );
  const given = dns.records.get('TXT') ?? [];
  const texts = asHeld(given, presentOf('TXT'));
  if (kept.length === 0 && texts === given) return dns;
  const others = [...dns.records].flatMap(([type, records]) => (type === 'TXT' ? [] : records));
  return { ...dns, records: recordsByType([...others, ...texts, ...kept]) };
}
