import type { DnsRecord, Domain, EarlierChanges } from '../database/generated/client.js';
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

/** A row of table `domain`. */
export interface StoredDomain extends Omit<Domain, 'dnsTypes' | 'siteScheme' | 'keptTimes'> {
  readonly dnsTypes: Readonly<Record<string, StoredType>>;
  readonly siteScheme: SiteState['scheme'] | null;
  readonly keptTimes: StoredKeptTimes | null;
}

/** The part of it that an observation is applied to. */
export type DomainRow = Omit<StoredDomain, 'recordedAt' | 'recordOctets' | 'headerOctets' | 'keptTimes'>;

/** A row of table `dns_record`: JSON as the text that was stored. */
export interface StayRow
  extends Omit<DnsRecord, 'domainName' | 'rdata' | 'sightings' | 'routine' | 'removedRoutine'> {
  readonly domain: string;
  readonly rdata: string;
  readonly sightings: string | null;
  readonly routine: RoutineReason | null;
  readonly removedRoutine: RoutineReason | null;
}

/** A row of table `earlier_changes`. */
export interface EarlierRow extends Omit<EarlierChanges, 'domainName'> {
  readonly domain: string;
}

/**
 * Columns, by the names that Prisma's model has for them, so that its types are those of the rows. @param
 * columns Separated by spaces.
 */
function selected(columns: string): string {
  const toName = (column: string) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return columns
    .split(' ')
    .map((column) => `${column}${JSON_COLUMNS.has(column) ? '::text' : ''} AS "${toName(column)}"`)
    .join(', ');
}

/** Of type json: parsed, they would be written in another order. */
const JSON_COLUMNS = new Set(['rdata', 'sightings']);

export const DOMAIN_COLUMNS = selected(
  'name version created last_update last_change dns_first dns_latest dns_types http_first http_latest http_digest ' +
    'https_latest https_declined_first https_declined_latest https_declined_count site_scheme site_status site_first site_latest',
);
export const STORED_DOMAIN_COLUMNS = `${DOMAIN_COLUMNS}, ${selected('recorded_at record_octets header_octets kept_times')}`;
export const STAY_COLUMNS = selected(
  'domain first_seen type position host class rdata source removed last_seen removed_source first_sighted last_sighted ' +
    'sightings routine removed_routine',
);
export const EARLIER_COLUMNS = selected('domain type name times count latest_new digests');
export const HEADER_COLUMNS = selected('domain name observed_at value last_seen source routine');
export const RESPONSE_COLUMNS = selected('domain observed_at scheme status address source routine');

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
 * A client may have got the second of the version before as `Last-Modified`, whatever the time of the response
 * and the clock of the process that sent it. That each recording moves the version into a later second is what
 * makes `If-Modified-Since` reliable (RFC 9110, section 8.8.2.2).
 *
 * Its place within that second is random: a domain that is forgotten and recorded again must not get a version
 * that it had before, for which clients and caches have another history.
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
  const http = partTimes(row.httpFirst, row.httpLatest);
  return {
    created: row.created,
    lastUpdate: row.lastUpdate,
    lastChange: row.lastChange,
    everyType: partTimes(row.dnsFirst, row.dnsLatest),
    types: new Map(Object.entries(row.dnsTypes).map(([type, stored]) => [type, typeState(stored)])),
    http: http === null ? null : { ...http, digest: row.httpDigest ?? '' },
    https: httpsState(row),
    site: siteState(row),
  };
}

function siteState(row: DomainRow): SiteState | null {
  const { siteScheme: scheme, siteStatus: status, siteFirst: first } = row;
  const latest = row.siteLatest ?? row.httpLatest;
  if (scheme === null || status === null || first === null || latest === null) return null;
  return { scheme, status, first, latest };
}

function httpsState(row: DomainRow): HttpsState | null {
  if (row.httpsLatest === null) return null;
  const times = partTimes(row.httpsDeclinedFirst, row.httpsDeclinedLatest);
  const declined = times === null ? null : { ...times, count: row.httpsDeclinedCount ?? 0 };
  return { latest: row.httpsLatest, declined };
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
type StoredKeptTimes = Readonly<Record<string, readonly (readonly [string, string | null])[]>>;

function partTimes(first: Instant | null, latest: Instant | null): PartTimes | null {
  return first === null || latest === null ? null : { first, latest };
}

/** Translates a row to what the rules of history know. */
export function stayOfRow(row: StayRow): RecordStay {
  const { firstSeen, removed, removedSource: source, removedRoutine: routine } = row;
  return {
    firstSeen,
    position: row.position,
    record: { host: row.host, class: row.class, type: row.type, rdata: row.rdata },
    source: row.source,
    routine: row.routine,
    removal: removed === null ? null : { removed, lastSeen: row.lastSeen ?? firstSeen, source, routine },
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
