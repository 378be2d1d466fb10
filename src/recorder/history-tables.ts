import type { DnsRecord } from '../database/generated/client.js';
import type { EarlierChanges } from '../history/routine.js';
import {
  isFirstSighted,
  isLastSighted,
  type KeptSighting,
  type RecordedResponse,
  type RecordStay,
  type StoredHeaderChange,
} from '../history/state.js';
import type { StoredHistory } from '../history/stored-history.js';
import type { RoutineReason } from '../model/change-kinds.js';
import type { Columns } from './bulk-write.js';

/** Of one domain, with a table for each. */
export type HistoryItems = Pick<StoredHistory, 'stays' | 'headers' | 'responses' | 'earlier'>;

export interface RowOf<Item> {
  readonly domain: string;
  readonly item: Item;
}

export interface Table<Item> {
  readonly name: string;
  /** The primary key, in whose order rows are read: the domain, and others. */
  readonly key: Columns<RowOf<Item>>;
  /** Those of the key come first. */
  readonly columns: Columns<RowOf<Item>>;
}

/** @param keyLength How many of the columns belong to the primary key, beside the domain. */
function tableOf<Item>(name: string, keyLength: number, columns: Columns<RowOf<Item>>): Table<Item> {
  const all: Columns<RowOf<Item>> = [['domain', 'text', ({ domain }) => domain], ...columns];
  return { name, key: all.slice(0, keyLength + 1), columns: all };
}

/** Written when a stay ends. */
export const STAY_END: Columns<RowOf<RecordStay>> = [
  ['removed', 'bigint', ({ item }) => item.removal?.removed],
  ['last_seen', 'bigint', ({ item }) => item.removal?.lastSeen ?? item.sightings?.at(-1)?.seenAt],
  [
    'last_sighted',
    'boolean',
    ({ item }) => (item.removal === null ? item.sightings !== undefined : isLastSighted(item)),
  ],
  ['removed_source', 'text', ({ item }) => item.removal?.source],
  ['removed_routine', 'text', ({ item }) => item.removal?.routine],
];

export const STAYS = tableOf<RecordStay>('dns_record', 3, [
  ['first_seen', 'bigint', ({ item }) => item.firstSeen],
  ['type', 'text', ({ item }) => item.record.type],
  ['position', 'integer', ({ item }) => item.position],
  ['host', 'text', ({ item }) => item.record.host],
  ['class', 'text', ({ item }) => item.record.class],
  ['rdata', 'json', ({ item }) => item.record.rdata],
  ['source', 'text', ({ item }) => item.source],
  ['first_sighted', 'boolean', ({ item }) => isFirstSighted(item)],
  ['sightings', 'json', ({ item }) => storedSightings(item)],
  ['routine', 'text', ({ item }) => item.routine],
  ...STAY_END,
]);

export const HEADERS = tableOf<StoredHeaderChange>('header_change', 2, [
  ['name', 'text', ({ item }) => item.name],
  ['observed_at', 'bigint', ({ item }) => item.observedAt],
  ['value', 'text', ({ item }) => item.value],
  ['source', 'text', ({ item }) => item.source],
  ['last_seen', 'bigint', ({ item }) => item.lastSeen],
  ['routine', 'text', ({ item }) => item.routine],
]);

export const RESPONSES = tableOf<RecordedResponse>('site_response', 1, [
  ['observed_at', 'bigint', ({ item }) => item.observedAt],
  ['scheme', 'text', ({ item }) => item.scheme],
  ['status', 'integer', ({ item }) => item.status],
  ['address', 'text', ({ item }) => item.address],
  ['source', 'text', ({ item }) => item.source],
  ['routine', 'text', ({ item }) => item.routine],
]);

export const EARLIER = tableOf<EarlierChanges>('earlier_changes', 2, [
  ['type', 'text', ({ item }) => item.type],
  ['name', 'text', ({ item }) => item.name],
  ['times', 'text', ({ item }) => item.times],
  ['count', 'integer', ({ item }) => item.count],
  ['latest_new', 'bigint', ({ item }) => item.latestNew],
  ['digests', 'text', ({ item }) => item.digests],
]);

/** Of type json: parsed, they would be written in another order. */
const JSON_COLUMNS = ['rdata', 'sightings'];

/** Columns to select, by the names that Prisma's model has for them. */
export function selected(columns: readonly string[]): string {
  const toName = (column: string) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return columns
    .map((column) => `${column}${JSON_COLUMNS.includes(column) ? '::text' : ''} AS "${toName(column)}"`)
    .join(', ');
}

/** JSON as the text that was stored. */
export interface StayRow
  extends Omit<DnsRecord, 'domainName' | 'rdata' | 'sightings' | 'routine' | 'removedRoutine'> {
  readonly domain: string;
  readonly rdata: string;
  readonly sightings: string | null;
  readonly routine: RoutineReason | null;
  readonly removedRoutine: RoutineReason | null;
}

export function stayOfRow(row: StayRow): RecordStay {
  const { firstSeen, removed, removedSource: source, removedRoutine: routine } = row;
  return {
    firstSeen,
    position: row.position,
    record: { host: row.host, class: row.class, type: row.type, rdata: row.rdata },
    source: row.source,
    routine: row.routine,
    removal: removed === null ? null : { removed, lastSeen: row.lastSeen ?? firstSeen, source, routine },
    ...(row.sightings !== null && { sightings: parseSightings(row.sightings) }),
  };
}

/** Times and observers, times as decimal text. */
function storedSightings({ sightings }: RecordStay): string | undefined {
  return sightings && JSON.stringify(sightings.map(({ seenAt, source }) => [String(seenAt), source]));
}

function parseSightings(stored: string): KeptSighting[] {
  const parsed: readonly (readonly [string, string | null])[] = JSON.parse(stored);
  return parsed.map(([seenAt, source]) => ({ seenAt: BigInt(seenAt), source }));
}
