import type { EarlierChanges } from '../history/routine.js';
import type {
  DomainState,
  HttpsState,
  KeptSighting,
  PartTimes,
  RecordStay,
  SiteState,
  TypeState,
} from '../history/state.js';
import type { KeptTimes } from '../history/stored-history.js';
import type { RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';

/** The columns of table `domain` that hold its state. */
export interface DomainRow {
  readonly name: string;
  readonly version: bigint;
  readonly created: Instant;
  readonly last_update: Instant;
  readonly last_change: Instant | null;
  readonly dns_first: Instant | null;
  readonly dns_latest: Instant | null;
  readonly dns_types: Readonly<Record<string, StoredType>>;
  readonly http_first: Instant | null;
  readonly http_latest: Instant | null;
  readonly http_digest: string | null;
  readonly https_latest: Instant | null;
  readonly https_declined_first: Instant | null;
  readonly https_declined_latest: Instant | null;
  readonly https_declined_count: number | null;
  readonly site_scheme: SiteState['scheme'] | null;
  readonly site_status: number | null;
  readonly site_first: Instant | null;
  /** Null: that of `http_latest`. */
  readonly site_latest: Instant | null;
}

export const DOMAIN_COLUMNS = `name, version, created, last_update, last_change, dns_first, dns_latest, dns_types,
            http_first, http_latest, http_digest,
            https_latest, https_declined_first, https_declined_latest, https_declined_count,
            site_scheme, site_status, site_first, site_latest`;

/** A DNS type as column `dns_types` holds it; times are decimal text, since JSON numbers lose digits. */
interface StoredType {
  readonly digest: string;
  readonly first?: string;
  readonly latest?: string;
  readonly sightedFirst?: string;
  readonly sightedLatest?: string;
}

/**
 * The least version that a domain may have after a recording: past the next whole second.
 *
 * A client may have got the second of the version before as `Last-Modified`, whatever the time of the response and the
 * clock of the process that sent it. That each recording moves the version into a later second is what makes
 * `If-Modified-Since` reliable (RFC 9110, section 8.8.2.2).
 *
 * Its place within that second is random: a domain that is forgotten and recorded again must not get a version that it had
 * before, for which clients and caches have another history.
 *
 * @param before null for a domain that was not recorded.
 * @param recorded How many observations are recorded: the version grows by each.
 */
export function leastNextVersion(before: Pick<DomainRow, 'version'> | null, recorded: number): bigint {
  const secondBefore = ((before?.version ?? 0n) + MICROSECONDS - 1n) / MICROSECONDS;
  const places = Math.max(1, Number(MICROSECONDS) - recorded);
  return secondBefore * MICROSECONDS + BigInt(recorded) + BigInt(Math.floor(Math.random() * places));
}

const MICROSECONDS = 1_000_000n;

/** Translates a row to what the rules of history know. */
export function stateOfRow(row: DomainRow): DomainState {
  const http = partTimes(row.http_first, row.http_latest);
  return {
    created: row.created,
    lastUpdate: row.last_update,
    lastChange: row.last_change,
    everyType: partTimes(row.dns_first, row.dns_latest),
    types: new Map(Object.entries(row.dns_types).map(([type, stored]) => [type, typeState(stored)])),
    http: http === null ? null : { ...http, digest: row.http_digest ?? '' },
    https: httpsState(row),
    site: siteState(row),
  };
}

function siteState(row: DomainRow): SiteState | null {
  const { site_scheme: scheme, site_status: status, site_first: first } = row;
  const latest = row.site_latest ?? row.http_latest;
  if (scheme === null || status === null || first === null || latest === null) return null;
  return { scheme, status, first, latest };
}

function httpsState(row: DomainRow): HttpsState | null {
  if (row.https_latest === null) return null;
  const times = partTimes(row.https_declined_first, row.https_declined_latest);
  const declined = times === null ? null : { ...times, count: row.https_declined_count ?? 0 };
  return { latest: row.https_latest, declined };
}

/** The text of column `dns_types`. */
export function storedTypes(types: DomainState['types']): string {
  const stored: Record<string, StoredType> = {};
  for (const [type, { digest, named, sighted }] of types) {
    stored[type] = {
      digest,
      ...(named && { first: String(named.first), latest: String(named.latest) }),
      ...(sighted && { sightedFirst: String(sighted.first), sightedLatest: String(sighted.latest) }),
    };
  }
  return JSON.stringify(stored);
}

function typeState({ digest = '', first, latest, sightedFirst, sightedLatest }: StoredType): TypeState {
  const sighted = timesOf(sightedFirst, sightedLatest);
  return { digest, named: timesOf(first, latest), ...(sighted && { sighted }) };
}

function timesOf(first: string | undefined, latest: string | undefined): PartTimes | null {
  return first === undefined || latest === undefined
    ? null
    : { first: BigInt(first), latest: BigInt(latest) };
}

export function storedKeptTimes(times: KeptTimes): string {
  const stored = Array.from(times, ([part, kept]) => [
    part,
    kept.map(({ observedAt, source }) => [String(observedAt), source]),
  ]);
  return JSON.stringify(Object.fromEntries(stored));
}

/** @param stored Column `kept_times`. */
export function keptTimesOf(stored: StoredKeptTimes): KeptTimes {
  return new Map(
    Object.entries(stored).map(([part, kept]) => [
      part,
      kept.map(([observedAt, source]) => ({ observedAt: BigInt(observedAt), source })),
    ]),
  );
}

/** Column `kept_times`: times are decimal text. */
export type StoredKeptTimes = Readonly<Record<string, readonly (readonly [string, string | null])[]>>;

function partTimes(first: Instant | null, latest: Instant | null): PartTimes | null {
  return first === null || latest === null ? null : { first, latest };
}

/** A row of table `dns_record`, by STAY_COLUMNS. */
export interface StayRow {
  readonly domain: string;
  readonly first_seen: Instant;
  readonly type: string;
  readonly position: number;
  readonly host: string;
  readonly class: string;
  readonly rdata: string;
  readonly source: string | null;
  readonly removed: Instant | null;
  readonly last_seen: Instant | null;
  readonly removed_source: string | null;
  readonly first_sighted: boolean;
  readonly last_sighted: boolean;
  readonly sightings: string | null;
  readonly routine: RoutineReason | null;
  readonly removed_routine: RoutineReason | null;
}

/** The columns of a StayRow: the rdata as the text that was stored. */
export const STAY_COLUMNS = `domain, first_seen, type, position, host, class, rdata::text AS rdata, source,
            removed, last_seen, removed_source, first_sighted, last_sighted, sightings::text AS sightings, routine, removed_routine`;

/** Translates a row to what the rules of history know. */
export function stayOfRow(row: StayRow): RecordStay {
  const { removed, removed_source: source, removed_routine: routine } = row;
  return {
    firstSeen: row.first_seen,
    position: row.position,
    record: { host: row.host, class: row.class, type: row.type, rdata: row.rdata },
    source: row.source,
    routine: row.routine,
    removal:
      removed === null ? null : { removed, lastSeen: row.last_seen ?? row.first_seen, source, routine },
    ...(row.sightings !== null && { sightings: sightingsOf(row.sightings) }),
  };
}

/** The text of column `sightings`: times and observers, times as decimal text. */
export function storedSightings(sightings: readonly KeptSighting[]): string {
  return JSON.stringify(sightings.map(({ seenAt, source }) => [String(seenAt), source]));
}

function sightingsOf(stored: string): KeptSighting[] {
  const parsed: readonly (readonly [string, string | null])[] = JSON.parse(stored);
  return parsed.map(([seenAt, source]) => ({ seenAt: BigInt(seenAt), source }));
}

/** A row of table `earlier_changes`, by EARLIER_COLUMNS. */
export interface EarlierRow extends Omit<EarlierChanges, 'latestNew'> {
  readonly domain: string;
  readonly latest_new: Instant;
}

export const EARLIER_COLUMNS = 'domain, type, name, times, count, latest_new, digests';

/** Translates a row to what the rules of history know. */
export function earlierOfRow({ type, name, times, count, latest_new, digests }: EarlierRow): EarlierChanges {
  return { type, name, times, count, latestNew: latest_new, digests };
}
