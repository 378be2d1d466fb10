import type { DnsRecord } from '../model/dns-record.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import { digestOfHeaders, digestOfRecords, isDigestOf, unseenOf } from './digest.js';
import { type DomainState, latestOfType, OTHER_TYPES, type PartTimes, timesOfType } from './state.js';

export interface ActingType {
  readonly type: string;
  readonly records: readonly DnsRecord[];
  readonly digest: string;
  /** Whether the records differ from those that are known. */
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
 * The parts of a domain on which an observation acts: those whose latest observation is older.
 *
 * A part is one DNS type, over all owner names, or the HTTP headers. An observation of a part at the
 * time of its latest is that observation again; one before it is stale. Both leave the part alone.
 */
export class ActingParts {
  /** It covers every DNS type, and is stale for none. */
  everyType = false;
  /** The DNS types that it acts on; OTHER_TYPES where it is stale for one that is known. */
  readonly types: ActingType[] = [];
  /** The headers that it acts on; null when HTTP was not observed, or not later than before. */
  http: ActingHeaders | null = null;
  /** A newer observation of a part is recorded already. */
  stale = false;
  /** All that is recorded of such a part is newer. */
  precedes = false;
  /** An observation of a part at this very time is recorded already, and it held something else. */
  contradicts = false;
  readonly #state: DomainState | null;
  readonly #observation: Observation;
  readonly #recorded: Recorded;

  /** @param state null when nothing is recorded of the domain. */
  constructor(state: DomainState | null, observation: Observation, recorded: Recorded) {
    this.#state = state;
    this.#observation = observation;
    this.#recorded = recorded;
    if (observation.dns !== undefined) this.#compareTypes(observation.dns);
    if (observation.httpHeaders !== undefined) this.#compareHeaders(observation.httpHeaders);
  }

  get isNone(): boolean {
    return !this.everyType && this.types.length === 0 && this.http === null;
  }

  #compareTypes(dns: DnsObservation): void {
    const { observedAt } = this.#observation;
    for (const type of typesCovered(this.#state, dns)) {
      if (this.#isStale(timesOfType(this.#recorded.state, type))) continue;
      const records = dns.records.get(type) ?? [];
      const digest = digestOfRecords(records);
      const differs = digest !== (this.#state?.types.get(type)?.digest ?? '');
      if (latestOfType(this.#state, type) === observedAt) this.contradicts ||= differs;
      else this.types.push({ type, records, digest, differs });
    }
    if (dns.types !== undefined) return;
    // After the types that are known, of an observation of every type.
    if (this.#isStale(timesOfType(this.#recorded.state, OTHER_TYPES))) return;
    if (latestOfType(this.#state, OTHER_TYPES) === observedAt) return;
    if (this.stale) this.types.push({ type: OTHER_TYPES, records: [], digest: '', differs: false });
    else this.everyType = true;
  }

  #compareHeaders(headers: ReadonlyMap<string, string>): void {
    const { observedAt, ignoredHeaders } = this.#observation;
    if (this.#isStale(this.#recorded.state?.http ?? null)) return;
    const { latest, digest: known = '' } = this.#state?.http ?? {};
    const differs = !isDigestOf(known, headers, ignoredHeaders);
    if (latest === observedAt) {
      this.contradicts ||= differs;
      return;
    }
    const own = digestOfHeaders(headers, ignoredHeaders);
    // Where no ignored name is present, the known digest stays: it may list such names.
    this.http = { headers, digest: differs || unseenOf(own).length > 0 ? own : known, differs };
  }

  /** Notes whether the observation is stale for a part. */
  #isStale(times: PartTimes | null): boolean {
    if (times === null || !isStale(this.#observation, times, this.#recorded)) return false;
    this.stale = true;
    this.precedes ||= times.first > this.#observation.observedAt;
    return true;
  }
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
