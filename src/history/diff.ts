import type { DnsRecord } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import type { ActingType } from './acting-parts.js';
import type { EarlierChanges } from './routine.js';
import {
  type EarlierByPart,
  type HeaderChange,
  type HeaderState,
  type Holdings,
  lastSeenOf,
  partKey,
  type RecordStay,
} from './state.js';

export interface DnsChanges {
  readonly added: readonly RecordStay[];
  readonly removed: readonly RecordStay[];
}

/**
 * Compares the records of one type that an observation holds with those present. One that is not present begins
 * a new stay; one that is no longer held ends its stay.
 *
 * @param latest time of the type's observation before this one; null when there was none.
 */
export function diffRecords(
  { records }: ActingType,
  present: readonly RecordStay[],
  observation: Observation,
  latest: Instant | null,
): DnsChanges {
  const { observedAt } = observation;
  const source = observation.source ?? null;
  const begun = (record: DnsRecord, position: number): RecordStay => ({
    firstSeen: observedAt,
    position,
    record,
    source,
    routine: null,
    removal: null,
  });
  // The first observation of a type: nothing to compare.
  if (present.length === 0) return { added: records.map(begun), removed: [] };
  const known = new Set(present.map(({ record }) => identityOf(record)));
  const held = new Set(records.map(identityOf));
  return {
    added: records.filter((record) => !known.has(identityOf(record))).map(begun),
    removed: present
      .filter(({ record }) => !held.has(identityOf(record)))
      .map((stay) => endedAt(stay, observedAt, latest, source)),
  };
}

function endedAt(
  stay: RecordStay,
  removed: Instant,
  latest: Instant | null,
  source: string | null,
): RecordStay {
  return { ...stay, removal: { removed, lastSeen: lastSeenOf(stay, latest), source, routine: null } };
}

/** Text that two records of one type share if and only if they are the same record. */
export function identityOf(record: DnsRecord): string {
  return `${record.host}\n${record.class}\n${record.rdata}`;
}

/**
 * Compares the headers that an observation holds with every header ever seen of the domain.
 *
 * @param latest time of the observation of HTTP headers before this one; null when there was none.
 */
export function diffHeaders(
  headers: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, HeaderState>,
  observation: Observation,
  latest: Instant | null,
): HeaderChange[] {
  const { observedAt, source = null } = observation;
  const changes: HeaderChange[] = [];
  const add = (change: Pick<HeaderChange, 'name' | 'kind' | 'value' | 'old'>, lastSeen: Instant | null) => {
    changes.push(Object.assign(change, { observedAt, source, lastSeen, routine: null }));
  };
  for (const [name, value] of headers) {
    const before = known.get(name);
    if (before === undefined) {
      add({ name, kind: 'created', value, old: null }, null);
    } else if (before.value !== value) {
      const lastSeen = before.present ? latest : before.lastSeen;
      add({ name, kind: 'updated', value, old: before.value }, lastSeen);
    } else if (!before.present) {
      add({ name, kind: 'returned', value, old: value }, null);
    }
  }
  for (const [name, { present, value: old }] of known) {
    if (present && !headers.has(name)) {
      add({ name, kind: 'gone', value: null, old }, latest);
    }
  }
  return changes;
}

export function holdingsAfter(
  { records, headers, earlier }: Holdings,
  changes: DnsChanges & {
    readonly headers: readonly HeaderChange[];
    readonly earlier: readonly EarlierChanges[];
  },
): Holdings {
  return {
    records: recordsAfter(records, changes),
    headers: changes.headers.length === 0 ? headers : headersAfter(headers, changes.headers),
    earlier: earlierAfter(earlier, changes.earlier),
  };
}

function recordsAfter(records: Holdings['records'], { added, removed }: DnsChanges): Holdings['records'] {
  if (added.length === 0 && removed.length === 0) return records;
  const gone = new Set(removed.map(({ record }) => `${record.type}\n${identityOf(record)}`));
  const after = new Map<string, RecordStay[]>();
  for (const [type, stays] of records) {
    const kept = stays.filter(({ record }) => !gone.has(`${type}\n${identityOf(record)}`));
    after.set(type, kept);
  }
  for (const stay of added) addTo(after, stay.record.type, stay);
  return after;
}

function headersAfter(headers: Holdings['headers'], changes: readonly HeaderChange[]): Holdings['headers'] {
  const after = new Map<string, HeaderState>(headers);
  for (const { name, kind, value, old, lastSeen, routine } of changes) {
    const steady = routine === 'ERROR_PAGE' ? (headers.get(name)?.steady ?? null) : value;
    after.set(name, { value: value ?? old ?? '', present: kind !== 'gone', lastSeen, steady });
  }
  return after;
}

function earlierAfter(earlier: EarlierByPart, changed: readonly EarlierChanges[]): EarlierByPart {
  if (changed.length === 0) return earlier;
  const after = new Map(earlier);
  for (const each of changed) after.set(partKey(each.type, each.name), each);
  return after;
}
