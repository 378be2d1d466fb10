import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import { digestOfHeaders, digestOfRecords, isDigestOf, unseenOf } from './digest.js';
import { type DomainState, firstOfType, latestOfType, OTHER_TYPES } from './state.js';

/** What an observation does to the parts of a domain that it covers. */
export interface ActingParts {
  /** It covers every DNS type, and is stale for none. */
  everyType: boolean;
  /** The DNS types that it acts on; OTHER_TYPES where it is stale for one that is known. */
  readonly types: ActingType[];
  /** The headers that it acts on; null when HTTP was not observed, or not later than before. */
  http: ActingHeaders | null;
  /** A newer observation of a part is recorded already. */
  stale: boolean;
  /** All that is recorded of such a part is newer. */
  precedes: boolean;
  /** An observation of a part at this very time is recorded already, and it held something else. */
  contradicts: boolean;
}

/** A DNS type on which an observation acts. */
export interface ActingType {
  readonly type: string;
  readonly records: readonly DnsRecord[];
  readonly digest: string;
  /** Whether the records differ from those that are known. */
  readonly differs: boolean;
}

interface ActingHeaders {
  readonly headers: ReadonlyMap<string, string>;
  readonly digest: string;
  readonly differs: boolean;
}

/**
 * Finds the parts of a domain on which an observation acts: those whose latest observation is older.
 *
 * A part is one DNS type, over all owner names, or the HTTP headers. An observation of a part at the
 * time of its latest is that observation again; one before it is stale. Both leave the part alone.
 *
 * @param state null when nothing is recorded of the domain.
 */
export function findActingParts(state: DomainState | null, observation: Observation): Readonly<ActingParts> {
  const parts: ActingParts = {
    everyType: false,
    types: [],
    http: null,
    stale: false,
    precedes: false,
    contradicts: false,
  };
  if (observation.dns !== undefined) compareTypes(state, observation, observation.dns, parts);
  if (observation.httpHeaders !== undefined) {
    compareHeaders(state, observation, observation.httpHeaders, parts);
  }
  return parts;
}

function compareTypes(
  state: DomainState | null,
  { observedAt }: Observation,
  dns: DnsObservation,
  parts: ActingParts,
): void {
  for (const type of typesCovered(state, dns)) {
    const latest = latestOfType(state, type);
    if (latest !== null && latest > observedAt) {
      setStale(parts, observedAt, firstOfType(state, type));
      continue;
    }
    const records = dns.records.get(type) ?? [];
    const digest = digestOfRecords(records);
    const differs = digest !== (state?.types.get(type)?.digest ?? '');
    if (latest === observedAt) parts.contradicts ||= differs;
    else parts.types.push({ type, records, digest, differs });
  }
  if (dns.types === undefined) compareOtherTypes(state, observedAt, parts);
}

/** After the types that are known, of an observation of every type. */
function compareOtherTypes(state: DomainState | null, observedAt: Instant, parts: ActingParts): void {
  const latest = latestOfType(state, OTHER_TYPES);
  if (latest !== null && latest > observedAt) setStale(parts, observedAt, firstOfType(state, OTHER_TYPES));
  if (latest !== null && latest >= observedAt) return;
  if (parts.stale) parts.types.push({ type: OTHER_TYPES, records: [], digest: '', differs: false });
  else parts.everyType = true;
}

function setStale(parts: ActingParts, observedAt: Instant, first: Instant | null): void {
  parts.stale = true;
  parts.precedes ||= first !== null && first > observedAt;
}

function typesCovered(state: DomainState | null, dns: DnsObservation): Iterable<string> {
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
  state: DomainState | null,
  { observedAt, ignoredHeaders }: Observation,
  headers: ReadonlyMap<string, string>,
  parts: ActingParts,
): void {
  const latest = state?.http?.latest ?? null;
  if (latest !== null && latest > observedAt) {
    setStale(parts, observedAt, state?.http?.first ?? null);
    return;
  }
  const known = state?.http?.digest ?? '';
  const differs = !isDigestOf(known, headers, ignoredHeaders);
  if (latest === observedAt) {
    parts.contradicts ||= differs;
    return;
  }
  const own = digestOfHeaders(headers, ignoredHeaders);
  // Where no ignored name is present, the known digest stays: it may list such names.
  parts.http = { headers, digest: differs || unseenOf(own).length > 0 ? own : known, differs };
}
