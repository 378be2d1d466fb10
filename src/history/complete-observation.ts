import { type DnsRecord, isJoined, recordsByType } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import type { Holdings } from './state.js';
import { HTTP } from './stored-history.js';

/**
 * Records of type TXT as they are held. Some tools join the strings of which a text consists: such a record is
 * the same as one with the same text, and what is held stays as it is, divided or not. Two that are divided
 * differently are two.
 *
 * So a stay has the form in which it was first seen, whatever is put before or after it. Of a text that is
 * divided in two ways, with a joined one between, that one cannot tell of which it is: the order of recording
 * decides.
 *
 * @param records Of any types; of one text, those that are divided tell what one that is not does.
 * @param held What is present.
 * @returns `records` itself where nothing is another.
 */
export function asHeld(records: readonly DnsRecord[], held: readonly DnsRecord[]): readonly DnsRecord[] {
  if (!records.some(isJoined) && !held.some(isJoined)) return records;
  const [given, present] = [byText(records), byText(held)];
  return records.flatMap((record) => {
    const key = textKey(record);
    if (key === null) return record;
    const same = present.get(key) ?? [];
    if (!isJoined(record)) return same.find(isJoined) ?? record;
    if (given.get(key)?.some((other) => !isJoined(other))) return [];
    return same.length === 0 ? record : same;
  });
}

function byText(records: readonly DnsRecord[]): Map<string, DnsRecord[]> {
  const texts = new Map<string, DnsRecord[]>();
  for (const record of records) {
    const key = textKey(record);
    if (key !== null) addTo(texts, key, record);
  }
  return texts;
}

/** The text, where a quote is escaped, ends before this. */
const ENTRIES = '","entries":[';

/**
 * What two records have in common that have the same text, however it is divided; null: it is not of type TXT.
 */
function textKey({ host, class: recordClass, type, rdata }: DnsRecord): string | null {
  if (type !== 'TXT') return null;
  return `${host}\n${recordClass}\n${rdata.slice(0, rdata.indexOf(ENTRIES))}`;
}

/** The parts of which it leaves out what was not observed, or that have texts (`asHeld`). */
export function partsToComplete({ ignoredHeaders, dns }: Observation): string[] {
  return [
    ...(dns?.observedOwners?.keys() ?? []),
    ...(dns?.records.has('TXT') ? ['TXT'] : []),
    ...(ignoredHeaders === undefined ? [] : [HTTP]),
  ];
}

/**
 * Adds what is known of the headers and records that were not observed: they are unchanged, so that the
 * rules for complete sets hold for the observation too.
 */
export function completeObservation(observation: Observation, holdings: Holdings): Observation {
  // Most leave nothing out, and have no texts.
  if (partsToComplete(observation).length === 0) return observation;
  const { dns: given } = observation;
  const httpHeaders = completeHeaders(observation, holdings);
  const dns = given && completeRecords(given, holdings);
  if (httpHeaders === observation.httpHeaders && dns === given) return observation;
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
  const presentOf = (type: string) => Array.from(known.get(type)?.values() ?? [], ({ record }) => record);
  const kept = [...(dns.observedOwners ?? [])].flatMap(([type, owners]) =>
    presentOf(type).filter(({ host }) => !owners.has(host)),
  );
  const given = dns.records.get('TXT') ?? [];
  const texts = asHeld(given, presentOf('TXT'));
  if (kept.length === 0 && texts === given) return dns;
  const others = [...dns.records].flatMap(([type, records]) => (type === 'TXT' ? [] : records));
  return { ...dns, records: recordsByType([...others, ...texts, ...kept]) };
}
