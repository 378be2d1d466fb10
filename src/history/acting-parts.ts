import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { digestOfHeaders, digestOfRecords, isDigestOf, unseenOf } from './digest.js';
import { type DomainState, latestOfType } from './state.js';

/** What an observation does to the parts of a domain that it speaks of. */
export interface ActingParts {
  /** It speaks of every DNS type, and is newer than the latest observation that did. */
  readonly everyType: boolean;
  /** The DNS types that it acts on. */
  readonly types: readonly ActingType[];
  /** The headers that it acts on; null when HTTP was not observed, or not later than before. */
  readonly http: ActingHeaders | null;
  /** A newer observation of a part is recorded already. */
  readonly stale: boolean;
  /** An observation of a part at this very time is recorded already, and it held something else. */
  readonly contradicts: boolean;
}

/** A DNS type on which an observation acts. */
export interface ActingType {
  readonly type: string;
  readonly records: readonly DnsRecord[];
  readonly digest: string;
  /** Whether the records differ from those that are known. */
  readonly differs: boolean;
}

/** The headers on which an observation acts. */
export interface ActingHeaders {
  readonly headers: ReadonlyMap<string, string>;
  readonly digest: string;
  readonly differs: boolean;
}

/** How an observation's time stands to the latest of a part. */
type Standing = 'newer' | 'same' | 'older';

/**
 * Finds the parts of a domain on which an observation acts: those whose latest observation is older.
 *
 * A part is one DNS type, over all owner names, or the HTTP headers. An observation of a part at the
 * time of its latest is that observation again; one before it is stale. Both leave the part alone.
 *
 * @param state null when nothing is recorded of the domain.
 */
export function findActingParts(state: DomainState | null, observation: Observation): ActingParts {
  const parts = { everyType: false, types: [] as ActingType[], stale: false, contradicts: false };
  for (const type of typesSpokenOf(state, observation)) {
    weighType(state, observation, type, parts);
  }
  if (observation.dns !== undefined && observation.dns.types === undefined) {
    const standing = standingOf(observation.observedAt, state?.everyType?.latest ?? null);
    parts.everyType = standing === 'newer';
    parts.stale ||= standing === 'older';
  }
  return { ...parts, ...weighHeaders(state, observation, parts) };
}

function typesSpokenOf(state: DomainState | null, { dns }: Observation): Iterable<string> {
  if (dns === undefined) {
    return [];
  }
  if (dns.types !== undefined) {
    const seen = [...(dns.observedOwners?.keys() ?? [])].filter((type) => state?.types.has(type) === true);
    return seen.length === 0 ? dns.types : new Set([...dns.types, ...seen]);
  }
  return state === null ? dns.records.keys() : new Set([...state.types.keys(), ...dns.records.keys()]);
}

function weighType(
  state: DomainState | null,
  observation: Observation,
  type: string,
  parts: { types: ActingType[]; stale: boolean; contradicts: boolean },
): void {
  const standing = standingOf(observation.observedAt, latestOfType(state, type));
  if (standing === 'older') {
    parts.stale = true;
    return;
  }
  const records = observation.dns?.records.get(type) ?? [];
  const digest = digestOfRecords(records);
  const differs = digest !== (state?.types.get(type)?.digest ?? '');
  if (standing === 'newer') {
    parts.types.push({ type, records, digest, differs });
  } else {
    parts.contradicts ||= differs;
  }
}

function weighHeaders(
  state: DomainState | null,
  { httpHeaders: headers, ignoredHeaders, observedAt }: Observation,
  dns: { readonly stale: boolean; readonly contradicts: boolean },
): Pick<ActingParts, 'http' | 'stale' | 'contradicts'> {
  if (headers === undefined) {
    return { http: null, stale: dns.stale, contradicts: dns.contradicts };
  }
  const standing = standingOf(observedAt, state?.http?.latest ?? null);
  const known = state?.http?.digest ?? '';
  const differs = !isDigestOf(known, headers, ignoredHeaders);
  const own = digestOfHeaders(headers, ignoredHeaders);
  const digest = differs || unseenOf(own).length > 0 ? own : known;
  return {
    http: standing === 'newer' ? { headers, digest, differs } : null,
    stale: dns.stale || standing === 'older',
    contradicts: dns.contradicts || (standing === 'same' && differs),
  };
}

function standingOf(observedAt: Instant, latest: Instant | null): Standing {
  if (latest === null || latest < observedAt) {
    return 'newer';
  }
  return latest === observedAt ? 'same' : 'older';
}
