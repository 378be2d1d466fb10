import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import type { ActingType } from './acting-parts.js';
import type { EarlierChanges } from './routine.js';
import {
  type HeaderChange,
  type HeaderChangeKind,
  type HeaderState,
  type Holdings,
  holdStay,
  identityOf,
  lastSeenOf,
  partKey,
  type RecordStay,
  type ResponseChange,
} from './state.js';

export interface DnsChanges {
  readonly added: readonly RecordStay[];
  readonly removed: readonly RecordStay[];
}

/** What there is to write of an observation besides the domain's new state. */
export interface Changes extends DnsChanges {
  readonly headers: readonly HeaderChange[];
  /** At most one, where something changed, or its scheme or status. */
  readonly responses: readonly ResponseChange[];
  /** What the next changes of the RRsets and headers that changed are judged by. */
  readonly earlier: readonly EarlierChanges[];
}

/**
 * Compares the records of one type that an observation holds with those present. One that is not present begins
 * a new stay; one that is no longer held ends its stay.
 *
 * @param latest when the type was observed before.
 */
export function diffRecords(
  { records }: ActingType,
  present: ReadonlyMap<string, RecordStay>,
  observation: Observation,
  latest: Instant | null,
): DnsChanges {
  const { observedAt, source = null } = observation;
  const begun = (record: DnsRecord, position: number): RecordStay => ({
    firstSeen: observedAt,
    position,
    record,
    source,
    routine: null,
    removal: null,
  });
  // The first observation of a type: nothing to compare.
  if (present.size === 0) return { added: records.map(begun), removed: [] };
  const held = new Set(records.map(identityOf));
  return {
    added: records.filter((record) => !present.has(identityOf(record))).map(begun),
    removed: [...present]
      .filter(([identity]) => !held.has(identity))
      .map(([, stay]) => ({
        ...stay,
        removal: { removed: observedAt, lastSeen: lastSeenOf(stay, latest), source, routine: null },
      })),
  };
}

/** @param known every header ever seen of the domain. @param latest when headers were observed before. */
export function diffHeaders(
  headers: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, HeaderState>,
  observation: Observation,
  latest: Instant | null,
): HeaderChange[] {
  const { observedAt, source = null } = observation;
  const changes: HeaderChange[] = [];
  const add = (
    name: string,
    kind: HeaderChangeKind,
    { value, old, lastSeen }: Pick<HeaderChange, 'value' | 'old' | 'lastSeen'>,
  ) => changes.push({ name, kind, value, old, observedAt, source, lastSeen, routine: null });
  for (const [name, value] of headers) {
    const before = known.get(name);
    if (before === undefined) add(name, 'created', { value, old: null, lastSeen: null });
    else if (before.value !== value) {
      add(name, 'updated', { value, old: before.value, lastSeen: before.present ? latest : before.lastSeen });
    } else if (!before.present) add(name, 'returned', { value, old: value, lastSeen: null });
  }
  for (const [name, { present, value: old }] of known) {
    if (present && !headers.has(name)) add(name, 'gone', { value: null, old, lastSeen: latest });
  }
  return changes;
}

/** Makes what is held that which is held after changes. */
export function hold(holdings: Holdings, { added, removed, headers, earlier }: Changes): void {
  for (const { record } of removed) holdings.records.get(record.type)?.delete(identityOf(record));
  for (const stay of added) holdStay(holdings, stay);
  for (const { name, kind, value, old, lastSeen, routine } of headers) {
    const steady = routine === 'ERROR_PAGE' ? (holdings.headers.get(name)?.steady ?? null) : value;
    holdings.headers.set(name, { value: value ?? old ?? '', present: kind !== 'gone', lastSeen, steady });
  }
  for (const each of earlier) holdings.earlier.set(partKey(each.type, each.name), each);
}

/**
 * Joins the changes of a domain's observations, so that each stay is written once: one that ended as well is in
 * `added`.
 */
export function mergeChanges(changes: readonly Changes[]): Changes {
  const [only] = changes;
  if (only !== undefined && changes.length === 1) return only;
  const added = new Map<string, RecordStay>();
  const removed: RecordStay[] = [];
  const earlier = new Map<string, EarlierChanges>();
  for (const change of changes) {
    for (const each of change.earlier) earlier.set(partKey(each.type, each.name), each);
    for (const stay of change.removed) {
      const key = keyOf(stay);
      if (added.has(key)) added.set(key, stay);
      else removed.push(stay);
    }
    for (const stay of change.added) added.set(keyOf(stay), stay);
  }
  return {
    added: [...added.values()],
    removed,
    headers: changes.flatMap(({ headers }) => headers),
    responses: changes.flatMap(({ responses }) => responses),
    earlier: [...earlier.values()],
  };
}

function keyOf({ firstSeen, position, record }: RecordStay): string {
  return `${firstSeen} ${position} ${record.type}`;
}

/** All changes of an observation have its time; undefined: there is none. */
export function timeOf({ added, removed, headers, responses }: Changes): Instant | undefined {
  return added[0]?.firstSeen ?? removed[0]?.removal?.removed ?? (headers[0] ?? responses[0])?.observedAt;
}
