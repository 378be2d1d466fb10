import type { Domain } from '../database/generated/client.js';
import type { Changes } from '../history/diff.js';
import type {
  DomainState,
  HttpsState,
  PartTimes,
  RecordStay,
  SiteState,
  TypeState,
} from '../history/state.js';
import type { KeptTimes } from '../history/stored-history.js';
import type { Instant } from '../model/instant.js';
import { type Columns, namesOf } from './bulk-write.js';
import { headerOctets, recordOctets } from './history-octets.js';
import { type HistoryItems, selected } from './history-tables.js';

export interface DomainChanges {
  readonly name: string;
  /** The row that the changes were found against, and its state; null for a domain that was not recorded. */
  readonly before: DomainRow | null;
  readonly stateBefore: DomainState | null;
  readonly state: DomainState;
  readonly recorded: number;
  readonly added: HistoryItems;
  /** Stays that began before. */
  readonly ended: readonly RecordStay[];
  /** What is replaced, with all kept times; absent: nothing is. */
  readonly gone?: HistoryItems;
  readonly keptTimes: KeptTimes;
  /** The changes of each observation, for the feed. */
  readonly observed: readonly Changes[];
  /** The time from which on what the feed told before has moved; absent: it has not. */
  readonly extendedFrom?: Instant | null;
}

export const STATE_COLUMNS: Columns<Pick<DomainChanges, 'state'>> = [
  ['created', 'bigint', ({ state }) => state.created],
  ['last_update', 'bigint', ({ state }) => state.lastUpdate],
  ['last_change', 'bigint', ({ state }) => state.lastChange],
  ['dns_first', 'bigint', ({ state }) => state.everyType?.first],
  ['dns_latest', 'bigint', ({ state }) => state.everyType?.latest],
  ['http_first', 'bigint', ({ state }) => state.http?.first],
  ['http_latest', 'bigint', ({ state }) => state.http?.latest],
  ['http_digest', 'text', ({ state }) => state.http?.digest],
  ['https_latest', 'bigint', ({ state }) => state.https?.latest],
  ['https_declined_first', 'bigint', ({ state }) => state.https?.declined?.first],
  ['https_declined_latest', 'bigint', ({ state }) => state.https?.declined?.latest],
  ['https_declined_count', 'integer', ({ state }) => state.https?.declined?.count],
  // Null: that of HTTP.
  [
    'site_latest',
    'bigint',
    ({ state: { site, http } }) => (site?.latest === http?.latest ? null : site?.latest),
  ],
];

/** Null leaves these columns as they are: most observations change nothing in them. */
export const SELDOM_COLUMNS: Columns<DomainChanges> = [
  [
    'dns_types',
    'jsonb',
    ({ state, stateBefore }) => (state.types === stateBefore?.types ? null : storedTypes(state.types)),
  ],
  ['site_scheme', 'text', (row) => changedSite(row)?.scheme],
  ['site_status', 'integer', (row) => changedSite(row)?.status],
  ['site_first', 'bigint', (row) => changedSite(row)?.first],
];

function changedSite({ state: { site }, stateBefore }: DomainChanges): SiteState | null {
  const before = stateBefore?.site;
  const isSame =
    site?.first === before?.first && site?.status === before?.status && site?.scheme === before?.scheme;
  return isSame ? null : site;
}

export const DOMAIN_COLUMNS: Columns<DomainChanges> = [
  ['name', 'text', ({ name }) => name],
  ['version', 'bigint', ({ before, recorded }) => leastNextVersion(before, recorded)],
  ['version_before', 'bigint', ({ before }) => before?.version],
  ['record_octets', 'bigint', ({ added, gone }) => octetsOfStays(added.stays) - octetsOfStays(gone?.stays)],
  ['header_octets', 'bigint', ({ added, gone }) => headerOctets(added.headers) - headerOctets(gone?.headers)],
  ['kept_times', 'jsonb', ({ keptTimes }) => (keptTimes.size === 0 ? null : storedKeptTimes(keptTimes))],
  ['is_replaced', 'boolean', ({ gone }) => gone !== undefined],
  ...SELDOM_COLUMNS,
  ...STATE_COLUMNS,
];

function octetsOfStays(stays: readonly RecordStay[] = []): number {
  return recordOctets(stays.map(({ record }) => record));
}

export interface StoredDomain extends Omit<Domain, 'dnsTypes' | 'siteScheme' | 'keptTimes'> {
  readonly dnsTypes: Readonly<Record<string, StoredType>>;
  readonly siteScheme: SiteState['scheme'] | null;
  readonly keptTimes: StoredKeptTimes | null;
}

/** The part of it that an observation is applied to. */
export type DomainRow = Omit<StoredDomain, 'recordedAt' | 'recordOctets' | 'headerOctets' | 'keptTimes'>;

export const DOMAIN_SELECTED = selected([
  'name',
  'version',
  ...namesOf(STATE_COLUMNS),
  ...namesOf(SELDOM_COLUMNS),
]);
export const STORED_SELECTED = `${DOMAIN_SELECTED}, ${selected(['recorded_at', 'record_octets', 'header_octets', 'kept_times'])}`;

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
function leastNextVersion(before: DomainRow | null, recorded: number): bigint {
  const secondBefore = ((before?.version ?? 0n) + MICROSECONDS - 1n) / MICROSECONDS;
  const places = Math.max(1, Number(MICROSECONDS) - recorded);
  return secondBefore * MICROSECONDS + BigInt(recorded) + BigInt(Math.floor(Math.random() * places));
}

const MICROSECONDS = 1_000_000n;

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
  const sighted = partTimes(sightedFirst, sightedLatest);
  return { digest, named: partTimes(first, latest), ...(sighted && { sighted }) };
}

type StoredInstant = Instant | string | null | undefined;

function partTimes(first: StoredInstant, latest: StoredInstant): PartTimes | null {
  return first == null || latest == null ? null : { first: BigInt(first), latest: BigInt(latest) };
}

function storedKeptTimes(times: KeptTimes): string {
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
