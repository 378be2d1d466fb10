import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import { digestOfHeaders, digestOfRecords, isDigestOf, unseenOf } from './digest.js';
import { type DomainState, latestOfType, OTHER_TYPES, type PartTimes, timesOfType } from './state.js';

export interface ActingParts {
  /** It covers every DNS type, and is stale for none. */
  everyType: boolean;
  /** OTHER_TYPES is among them where it is stale for one that is known. */
  readonly types: ActingType[];
  http: ActingHeaders | null;
  /** A newer observation of a part is recorded already. */
  stale: boolean;
  /** All that is recorded of such a part is newer. */
  precedes: boolean;
  /** An observation of a part at this very time is recorded already, and it held something else. */
  contradicts: boolean;
}

export interface ActingType {
  readonly type: string;
  readonly records: readonly DnsRecord[];
  readonly digest: string;
  /** From the records that are known. */
  readonly differs: boolean;
}

export interface ActingHeaders {
  readonly headers: ReadonlyMap<string, string>;
  readonly digest: string;
  readonly differs: boolean;
}

/** What is recorded of a domain, where observations are put into it: they are stale by this. */
export interface Recorded {
  readonly state: DomainState | null;
  /** Those older than the first of a part count, too. */
  readonly older: boolean;
}

/** Whether an observation is stale for a part: a later one is recorded. @param times Of the part. */
export function isStale({ observedAt }: Observation, times: PartTimes | null, { older }: Recorded): boolean {
  return times !== null && observedAt < times.latest && !(older && observedAt < times.first);
}

/**
 * Finds the parts of a domain on which an observation acts: those whose latest observation is older.
 *
 * A part is one DNS type, over all owner names, or the HTTP headers. An observation of a part at the
 * time of its latest is that observation again; one before it is stale. Both leave the part alone.
 */
export function findActingParts(
  state: DomainState | null,
  observation: Observation,
  recorded: Recorded,
): ActingParts {
  // No class: an instance with fields takes as long to make as all the rest of an unchanged observation.
  const parts: ActingParts = {
    everyType: false,
    types: [],
    http: null,
    stale: false,
    precedes: false,
    contradicts: false,
  };
  const isStaleFor = (times: PartTimes | null) => {
    if (times === null || !isStale(observation, times, recorded)) return false;
    parts.stale = true;
    parts.precedes ||= times.first > observation.observedAt;
    return true;
  };
  const { dns, httpHeaders } = observation;
  if (dns !== undefined)
    compareTypes(parts, state, observation.observedAt, dns, (type) =>
      isStaleFor(timesOfType(recorded.state, type)),
    );
  if (httpHeaders !== undefined && !isStaleFor(recorded.state?.http ?? null)) {
    compareHeaders(parts, state, observation, httpHeaders);
  }
  return parts;
}

function compareTypes(
  parts: ActingParts,
  state: DomainState | null,
  observedAt: Instant,
  dns: DnsObservation,
  isStaleFor: (type: string) => boolean,
): void {
  for (const type of typesCovered(state, dns)) {
    if (isStaleFor(type)) continue;
    const records = dns.records.get(type) ?? [];
    const digest = digestOfRecords(records);
    const differs = digest !== (state?.types.get(type)?.digest ?? '');
    if (latestOfType(state, type) === observedAt) parts.contradicts ||= differs;
    else parts.types.push({ type, records, digest, differs });
  }
  // After the types that are known, of an observation of every type.
  if (dns.types !== undefined || isStaleFor(OTHER_TYPES)) return;
  if (latestOfType(state, OTHER_TYPES) === observedAt) return;
  if (parts.stale) parts.types.push({ type: OTHER_TYPES, records: [], digest: '', differs: false });
  else parts.everyType = true;
}

export function typesCovered(state: DomainState | null, dns: DnsObservation): Iterable<string> {
  if (dns.types === undefined) {
    if (state === null) return dns.records.keys();
    const types = new Set([...state.types.keys(), ...dns.records.keys()]);
    types.delete(OTHER_TYPES);
    return types;
  }
  const seen = [...(dns.observedOwners?.keys() ?? [])].filter((type) => state?.types.has(type) === true);
  return seen.length === 0 ? dns.types : new Set([...dns.types, ...seen]);
}

function compareHeaders(
  parts: ActingParts,
  state: DomainState | null,
  { observedAt, ignoredHeaders }: Observation,
  headers: ReadonlyMap<string, string>,
): void {
  const known = state?.http?.digest ?? '';
  const differs = !isDigestOf(known, headers, ignoredHeaders);
  if (state?.http?.latest === observedAt) {
    parts.contradicts ||= differs;
    return;
  }
  const own = digestOfHeaders(headers, ignoredHeaders);
  // Where no ignored name is present, the known digest stays: it may list such names.
  parts.http = { headers, digest: differs || unseenOf(own).length > 0 ? own : known, differs };
}
