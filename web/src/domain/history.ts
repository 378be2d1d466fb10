import type { ChangeItemFragment } from '../operations.generated.js';
import { compareTypes, keyOf, type RecordEntry, rrsetOf, textOf } from '../records.js';
import { type Microseconds, microsecondsOf } from '../time.js';

/** A change of the domain. */
export type FeedChange = ChangeItemFragment;
/** A change of a domain's history: that older observations were put into it is told by the feed alone. */
export type Change = Exclude<FeedChange, { readonly earliest: unknown }>;

export function isChange(change: FeedChange): change is Change {
  return !('earliest' in change);
}

/** A stay of a record, or a time in which a header had a value. */
export interface Bar {
  readonly value: string;
  /** Of a header there is none. */
  readonly record?: RecordEntry;
  /** Null: it began before what is loaded, when is not known. */
  readonly from: Microseconds | null;
  /** Up to then it was observed: between `lastSeen` and `to` it went. */
  readonly lastSeen: Microseconds;
  /** Null: it is present. */
  readonly to: Microseconds | null;
}

/** An RRset or a header over time. */
export interface Lane {
  readonly id: string;
  readonly kind: 'records' | 'header';
  /** The type of the records, or the header's field name. */
  readonly name: string;
  /** The owner name of the records; '' for a header. */
  readonly owner: string;
  /** By their beginning. */
  readonly bars: readonly Bar[];
  /** The first bar of each distinct value, in order of appearance. */
  readonly values: readonly Bar[];
}

/** A header as it is now. */
export interface PresentHeader {
  readonly name: string;
  readonly value: string;
  readonly present: boolean;
  readonly lastSeen: string;
}

/**
 * What is loaded of a domain's history: its changes from the newest on, as far back as they were read, and what is present.
 * All that was present at any time since `since` is in it.
 */
export interface LoadedHistory {
  /** The newest first. */
  readonly changes: readonly Change[];
  readonly records: readonly RecordEntry[];
  readonly headers: readonly PresentHeader[];
  /** From when on the changes are complete; null: all of them are loaded. */
  readonly since: Microseconds | null;
  /**
   * The headers as of `since`: a later change tells the value before, and not whether the header was gone. Null: they are not
   * loaded yet.
   */
  readonly before: readonly PresentHeader[] | null;
}

/** Adds a page of older changes to a history. */
export function withOlder(
  history: LoadedHistory,
  older: readonly Change[],
  isComplete: boolean,
): LoadedHistory {
  const since = isComplete ? null : (sinceOf(older) ?? history.since);
  return { ...history, changes: merged(history.changes, older), since, before: null };
}

/** From when on a page of changes, the newest first, is complete: others of the oldest one's observation may follow. */
export function sinceOf(page: readonly Change[]): Microseconds | null {
  const oldest = page.at(-1);
  return oldest === undefined ? null : microsecondsOf(oldest.date) + 1;
}

/** Adds changes that have just been recorded, and what is present with them. */
export function withRecorded(history: LoadedHistory, recorded: readonly Change[]): LoadedHistory {
  const records = new Map(history.records.map((record) => [keyOf(record), record]));
  const headers = new Map(history.headers.map((header) => [header.name, header]));
  for (const change of recorded) {
    if ('record' in change) {
      if (change.record.removed == null) records.set(keyOf(change.record), change.record);
      else records.delete(keyOf(change.record));
    } else if ('name' in change) {
      const value = 'new' in change ? change.new : change.old;
      const seen = 'new' in change ? change.date : change.lastSeen;
      const known = headers.get(change.name)?.lastSeen ?? seen;
      const lastSeen = known > seen ? known : seen;
      headers.set(change.name, { name: change.name, value, present: 'new' in change, lastSeen });
    }
  }
  const byName = [...headers.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  const changes = merged(history.changes, recorded);
  return { ...history, changes, records: [...records.values()], headers: byName };
}

/** Changes of both, each once, the newest first. */
function merged(known: readonly Change[], added: readonly Change[]): Change[] {
  const ids = new Set(known.map(({ id }) => id));
  const changes = [...known, ...added.filter(({ id }) => !ids.has(id))];
  // Times of one form are in the order of their text. Within an observation they stay as the API has them.
  return changes.sort((one, other) => (one.date < other.date ? 1 : one.date > other.date ? -1 : 0));
}

/** The lanes of a history: RRsets of the domain itself by type, headers by name, and RRsets of other owner names. */
export function lanesOf(history: LoadedHistory, domain: string): Lane[] {
  const records = recordLanes(history).sort(
    (one, other) => compareTypes(one.name, other.name) || (one.owner < other.owner ? -1 : 1),
  );
  const isOwn = ({ owner }: Lane) => owner === domain;
  return [...records.filter(isOwn), ...headerLanes(history), ...records.filter((lane) => !isOwn(lane))];
}

function recordLanes({ changes, records }: LoadedHistory): Lane[] {
  const entries = new Map<string, RecordEntry>();
  // From the oldest on: a later change of an entry has its removal.
  for (const change of changes.toReversed()) {
    if ('record' in change) entries.set(keyOf(change.record), change.record);
  }
  // What is present now was read before or after the changes: a removal among these is later.
  for (const record of records) {
    if (!entries.has(keyOf(record))) entries.set(keyOf(record), record);
  }
  const lanes = groupBy(entries.values(), rrsetOf);
  // A removal is by an observation of the type. An addition may be by a sighting, which tells nothing of other records.
  const observed = latestDates(changes, (change) =>
    change.kind === 'DNS_RECORD_REMOVED' && 'record' in change ? change.record.type : null,
  );
  return [...lanes].map(([id, stays]) => {
    const [{ type, host } = { type: '', host: '' }] = stays;
    const bars = stays.map((stay) => barOf(stay, observed.get(type))).sort(byBeginning);
    return { id: `record ${id}`, kind: 'records', name: type, owner: host, bars, values: valuesOf(bars) };
  });
}

/** The date of the newest change of each part: what is present of it was observed then, too. */
function latestDates(
  changes: readonly Change[],
  partOf: (change: Change) => string | null,
): ReadonlyMap<string, Microseconds> {
  const dates = new Map<string, Microseconds>();
  for (const change of changes) {
    const part = partOf(change);
    if (part !== null && !dates.has(part)) dates.set(part, microsecondsOf(change.date));
  }
  return dates;
}

function barOf(record: RecordEntry, observed = Number.NEGATIVE_INFINITY): Bar {
  const lastSeen = microsecondsOf(record.lastSeen);
  return {
    value: textOf(record),
    record,
    from: microsecondsOf(record.firstSeen),
    lastSeen: record.removed == null ? Math.max(lastSeen, observed) : lastSeen,
    to: record.removed == null ? null : microsecondsOf(record.removed),
  };
}

function byBeginning(one: Bar, other: Bar): number {
  return (one.from ?? 0) - (other.from ?? 0);
}

function valuesOf(bars: readonly Bar[]): Bar[] {
  const values = new Map<string, Bar>();
  for (const bar of bars) if (!values.has(bar.value)) values.set(bar.value, bar);
  return [...values.values()];
}

type HeaderEvent = Extract<Change, { readonly name: string }>;

function headerLanes({ changes, headers, since, before }: LoadedHistory): Lane[] {
  const events = changes
    .filter(
      (change): change is HeaderEvent => 'name' in change && microsecondsOf(change.date) >= (since ?? 0),
    )
    .toReversed();
  const byName = groupBy(events, ({ name }) => name);
  const present = new Map(headers.map((header) => [header.name, header]));
  const earlier = new Map((before ?? []).map((header) => [header.name, header]));
  const names = [...new Set([...byName.keys(), ...present.keys()])].sort();
  const observed = latestDates(changes, (change) => ('name' in change ? 'HTTP' : null)).get('HTTP');
  return names.map((name) => {
    const latest = present.get(name);
    const ofName = byName.get(name) ?? [];
    // Without a change, it was as it is now.
    const isSame = ofName.length === 0 && since !== null;
    const first = isSame ? latest : before === null ? likelyBefore(ofName[0]) : earlier.get(name);
    const bars = headerBars(ofName, first, latest, observed);
    return { id: `header ${name}`, kind: 'header', name, owner: '', bars, values: valuesOf(bars) };
  });
}

/** Most headers are not gone before they change. */
function likelyBefore(first: HeaderEvent | undefined): Pick<PresentHeader, 'value' | 'present'> | undefined {
  return first !== undefined && 'old' in first ? { value: first.old, present: true } : undefined;
}

/**
 * @param events The oldest first.
 * @param before As of the beginning of what is loaded.
 * @param observed When the headers were observed last, as far as changes say.
 */
function headerBars(
  events: readonly HeaderEvent[],
  before: Pick<PresentHeader, 'value' | 'present'> | undefined,
  latest: PresentHeader | undefined,
  observed = Number.NEGATIVE_INFINITY,
): Bar[] {
  const bars: Bar[] = [];
  let open: Pick<Bar, 'value' | 'from'> | undefined;
  if (before?.present) open = { value: before.value, from: null };
  for (const event of events) {
    const date = microsecondsOf(event.date);
    if (open !== undefined) {
      const lastSeen = 'lastSeen' in event ? microsecondsOf(event.lastSeen) : date;
      bars.push({ ...open, lastSeen, to: date });
    }
    open = 'new' in event ? { value: event.new, from: date } : undefined;
  }
  const seen = Math.max(observed, latest === undefined ? observed : microsecondsOf(latest.lastSeen));
  if (open !== undefined) bars.push({ ...open, lastSeen: Math.max(seen, open.from ?? seen), to: null });
  return bars;
}

/** The row of a bar within its lane: bars in one row do not overlap. */
export interface Rows {
  readonly count: number;
  /** By the place of the bar in its lane. */
  readonly rowOf: readonly number[];
}

/**
 * Divides a lane's bars into as few rows as there are bars at once, a value in its former row where that is free.
 *
 * @param most If more rows are needed, these are all that is found out.
 */
export function compactRows({ bars }: Lane, most = Number.POSITIVE_INFINITY): Rows {
  const ends: number[] = [];
  const rowOfValue = new Map<string, number>();
  const rowOf: number[] = [];
  for (const { value, from, to } of bars) {
    if (ends.length > most) break;
    const begins = from ?? Number.NEGATIVE_INFINITY;
    const isFree = (row: number | undefined) =>
      row !== undefined && (ends[row] ?? Number.NEGATIVE_INFINITY) <= begins;
    const former = rowOfValue.get(value);
    const free = isFree(former) ? former : ends.findIndex((_end, row) => isFree(row));
    const row = free === undefined || free === -1 ? ends.length : free;
    ends[row] = to ?? Number.POSITIVE_INFINITY;
    rowOfValue.set(value, row);
    rowOf.push(row);
  }
  return { count: Math.max(1, ends.length), rowOf };
}

/** A row for each value. */
export function rowsByValue({ bars, values }: Lane): Rows {
  const rows = new Map(values.map(({ value }, row) => [value, row]));
  return { count: Math.max(1, values.length), rowOf: bars.map(({ value }) => rows.get(value) ?? 0) };
}

/** Groups values by a key, in order of appearance. (Map.groupBy is newer than some browsers.) */
export function groupBy<Value>(
  values: Iterable<Value>,
  keyOfValue: (value: Value) => string,
): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const key = keyOfValue(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
