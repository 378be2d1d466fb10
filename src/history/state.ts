import type { RoutineReason } from '../model/change-kinds.js';
import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
import type { SiteResponse } from '../model/observation.js';
import type { EarlierChanges } from './routine.js';

/** A domain without its records and headers: enough to see that an observation changes nothing. */
export interface DomainState {
  readonly created: Instant;
  readonly lastUpdate: Instant;
  readonly lastChange: Instant | null;
  /** Of every DNS type at once: they count for each type, those not yet seen too. */
  readonly everyType: PartTimes | null;
  readonly types: ReadonlyMap<string, TypeState>;
  readonly http: (PartTimes & { readonly digest: string }) | null;
  /** Null until the site has answered over HTTPS. */
  readonly https: HttpsState | null;
  readonly site: SiteState | null;
}

/** What is unknown of a domain before it is observed. */
export const UNOBSERVED = { lastChange: null, everyType: null, http: null, https: null, site: null };

/** The latest response that is known, and since when a site has responded so. */
export interface SiteState extends PartTimes, Pick<SiteResponse, 'scheme' | 'status'> {}

/**
 * Among the types of a domain: those that it was not known to have. An observation of every type that is stale
 * for a known one is one of the others by name, and of these. No DNS type has this name.
 */
export const OTHER_TYPES = '*';

/** In a line of format `dms`, this stands before a type that is not among OTHER_TYPES. */
export const NOT = '!';

export interface HttpsState {
  readonly latest: Instant;
  /** The observations since then at which HTTPS was declined. */
  readonly declined: (PartTimes & { readonly count: number }) | null;
}

export interface PartTimes {
  readonly first: Instant;
  readonly latest: Instant;
}

export interface TypeState {
  /** Digest of the records that are present; empty when there are none. */
  readonly digest: string;
  /** The observations that queried this type by name, or were stale for another one. */
  readonly named: PartTimes | null;
  /** The sightings of its records (DnsObservation.sighted). */
  readonly sighted?: PartTimes | null;
}

/** The time that a record was present: from its first sight to its removal. */
export interface RecordStay {
  readonly firstSeen: Instant;
  /** Place among the records of its type that the same observation added. */
  readonly position: number;
  readonly record: DnsRecord;
  readonly source: string | null;
  /**
   * In the order of time; absent: there is none. All are kept: an observation between two, imported later, that
   * does not hold the record ends the stay, and the next sighting begins another.
   */
  readonly sightings?: KeptSighting[];
  /** Of its coming; null: that is notable. */
  readonly routine: RoutineReason | null;
  readonly removal: {
    /** Of the observation that no longer held the record. */
    readonly removed: Instant;
    /** Of the type's observation before that, the last that held the record, or of a later sighting. */
    readonly lastSeen: Instant;
    readonly source: string | null;
    readonly routine: RoutineReason | null;
  } | null;
}

export interface KeptSighting {
  readonly seenAt: Instant;
  readonly source: string | null;
}

/** Whether it began by a sighting: an observation of the type at the same time counts instead. */
export function isFirstSighted({ firstSeen, sightings }: RecordStay): boolean {
  return sightings?.[0]?.seenAt === firstSeen;
}

/** Whether a sighting was the last that was seen of it before it was gone. */
export function isLastSighted({ sightings, removal }: RecordStay): boolean {
  return removal !== null && sightings?.at(-1)?.seenAt === removal.lastSeen;
}

export interface HeaderState {
  readonly value: string;
  /** Whether the latest observation held it. */
  readonly present: boolean;
  /** Of one that is gone: the last observation of HTTP headers that still held it. */
  readonly lastSeen: Instant | null;
  /** The value, null where it was gone, that the latest change had which was not that of an error page. */
  readonly steady: string | null;
}

export interface StoredHeaderChange {
  /** Field name in lower case. */
  readonly name: string;
  readonly observedAt: Instant;
  /** From then on; null when the header was gone. */
  readonly value: string | null;
  /** Of an absence, and of a value in place of another: the last observation that held the value before. */
  readonly lastSeen: Instant | null;
  readonly source: string | null;
  /** Null: it is notable. */
  readonly routine: RoutineReason | null;
}

/** A first value, another value, an absence, the value of before again. */
export type HeaderChangeKind = 'created' | 'updated' | 'gone' | 'returned';

/** With what follows from the changes before it, and is not stored. */
export interface HeaderChange extends StoredHeaderChange {
  readonly kind: HeaderChangeKind;
  /** The value before; null for `created`. */
  readonly old: string | null;
}

/**
 * The response of an observation that changed something, the evidence of its changes, or with another scheme or
 * status than before.
 */
export interface RecordedResponse extends SiteResponse {
  readonly observedAt: Instant;
  readonly source: string | null;
  /** Why another status is routine; null: it is notable, or the same. */
  readonly routine: RoutineReason | null;
}

export interface ResponseChange extends RecordedResponse {
  /** The status before, which is not stored; null for the first. */
  readonly old: number | null;
}

/** Whether a response is a change: the first is none, nor is another scheme alone. */
export function isStatusChange({ old, status }: ResponseChange): boolean {
  return old !== null && old !== status;
}

/** What a domain holds now, or the parts of it that were loaded. The rules change it in place. */
export interface Holdings {
  /** By type and identityOf(), those that are present. */
  readonly records: Map<string, Map<string, RecordStay>>;
  /** By field name, every one ever seen. */
  readonly headers: Map<string, HeaderState>;
  /** By partKey(). */
  readonly earlier: Map<string, EarlierChanges>;
}

/** Text that two records of one type share if and only if they are the same record. */
export function identityOf(record: DnsRecord): string {
  return `${record.host}\n${record.class}\n${record.rdata}`;
}

/** Holds a stay in the place of another one of its record. */
export function holdStay({ records }: Holdings, stay: RecordStay): void {
  const { record } = stay;
  const stays = records.get(record.type);
  if (stays === undefined) records.set(record.type, new Map([[identityOf(record), stay]]));
  else stays.set(identityOf(record), stay);
}

/** @param type Of an RRset; empty for a header. @param name The owner name, or the field name. */
export function partKey(type: string, name: string): string {
  return `${type}\n${name}`;
}

export function holdNothing(): Holdings {
  return { records: new Map(), headers: new Map(), earlier: new Map() };
}

/** The times at which a stay shows that its type was observed: sightings tell nothing of other records. */
export function timesOfStay(stay: RecordStay): Instant[] {
  const first = isFirstSighted(stay) ? [] : [stay.firstSeen];
  if (stay.removal === null) return first;
  return [...first, ...(isLastSighted(stay) ? [] : [stay.removal.lastSeen]), stay.removal.removed];
}

/** When a present record was last seen: by the latest observation of its type, or by a sighting. */
export function lastSeenOf({ firstSeen, sightings }: RecordStay, latest: Instant | null): Instant {
  // An observation before its first sight did not hold it.
  return laterOf(latest, sightings?.at(-1)?.seenAt ?? firstSeen);
}

/** The first and the latest observation of a DNS type, by name or among all types; null when there was none. */
export function timesOfType(state: DomainState | null, type: string): PartTimes | null {
  const [named, every] = [namedTimes(state, type), state?.everyType ?? null];
  if (named === null || every === null) return named ?? every;
  return { first: earlierOf(named.first, every.first), latest: laterOf(named.latest, every.latest) };
}

export function latestOfType(state: DomainState | null, type: string): Instant | null {
  return timesOfType(state, type)?.latest ?? null;
}

/** The observations that queried a DNS type by name: of one that is not known, those of OTHER_TYPES. */
export function namedTimes(state: DomainState | null, type: string): PartTimes | null {
  return (state?.types.get(type) ?? state?.types.get(OTHER_TYPES))?.named ?? null;
}

export function extendedTimes(times: PartTimes | null | undefined, observedAt: Instant): PartTimes {
  return { first: times?.first ?? observedAt, latest: observedAt };
}

export function earlierOf(known: Instant | null | undefined, time: Instant): Instant {
  return known == null || known > time ? time : known;
}

export function laterOf(known: Instant | null | undefined, time: Instant): Instant {
  return known == null || known < time ? time : known;
}
