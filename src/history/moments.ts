import { compareInstants, type Instant } from '../model/instant.js';
import type { DomainState, PartTimes, RecordStay } from './state.js';
import type { StoredHistory } from './stored-history.js';

/** What was observed of a domain at one time, by one observer: enough to be recorded again. */
export interface Moment {
  readonly observedAt: Instant;
  readonly source: string | null;
  /** The present records of the types observed; null when DNS was not. */
  readonly stays: readonly RecordStay[] | null;
  /** The types queried by name; null when all were queried. */
  readonly types: readonly string[] | null;
  /** The headers held; null when HTTP was not observed. */
  readonly headers: ReadonlyMap<string, string> | null;
}

/** The parts that one observer observed at one time. */
interface Parts {
  everyType: boolean;
  readonly types: Set<string>;
  http: boolean;
}

/**
 * Gives the observations that lead to a history: one for each time at which something changed, was
 * last seen, or a part was observed first or last. Those in between left no trace.
 *
 * @returns in the order of time, so that recording them gives the same history.
 */
export function* momentsOf(history: StoredHistory): Generator<Moment> {
  const moments = collectParts(history);
  const timeline = new Timeline(history);
  for (const observedAt of [...moments.keys()].sort(compareInstants)) {
    timeline.advanceTo(observedAt);
    const groups = [...(moments.get(observedAt) ?? [])];
    // Types by name first: an observation of all types then leaves them alone.
    for (const [source, parts] of groups.sort(([, left], [, right]) => rank(left) - rank(right))) {
      const headers = parts.http ? timeline.headers() : null;
      yield { observedAt, source, headers, ...dnsOf(parts, timeline) };
    }
  }
}

function dnsOf({ everyType, types }: Parts, timeline: Timeline): Pick<Moment, 'stays' | 'types'> {
  if (everyType) {
    return { stays: timeline.present(null), types: null };
  }
  return types.size === 0
    ? { stays: null, types: null }
    : { stays: timeline.present(types), types: [...types].sort() };
}

function rank({ everyType }: Parts): number {
  return everyType ? 1 : 0;
}

/** By time, then by observer. */
type PartsByTime = Map<Instant, Map<string | null, Parts>>;

function collectParts({ state, stays, headers }: StoredHistory): PartsByTime {
  const moments: PartsByTime = new Map();
  for (const { firstSeen, removal, source, record } of stays) {
    addType(state, partsAt(moments, firstSeen, source), record.type, firstSeen);
    if (removal !== null) {
      addType(state, partsAt(moments, removal.removed, removal.source), record.type, removal.removed);
    }
  }
  for (const { observedAt, source } of headers) {
    partsAt(moments, observedAt, source).http = true;
  }
  addUnchanged(moments, { state, stays });
  return moments;
}

/**
 * Adds the observations that changed nothing and are known all the same. Their observer is unknown; where the part
 * changed at that time, its observation is there already.
 */
function addUnchanged(moments: PartsByTime, { state, stays }: Pick<StoredHistory, 'state' | 'stays'>): void {
  for (const time of endsOf(state.everyType)) {
    addIfMissing(
      moments,
      time,
      (parts) => parts.everyType,
      (parts) => {
        parts.everyType = true;
      },
    );
  }
  for (const [type, { named }] of state.types) {
    for (const time of endsOf(named)) {
      addUnchangedType(moments, state, type, time);
    }
  }
  for (const { removal, record } of stays) {
    if (removal !== null) {
      addUnchangedType(moments, state, record.type, removal.lastSeen);
    }
  }
  for (const time of endsOf(state.http)) {
    addIfMissing(
      moments,
      time,
      (parts) => parts.http,
      (parts) => {
        parts.http = true;
      },
    );
  }
}

function addUnchangedType(moments: PartsByTime, state: DomainState, type: string, time: Instant): void {
  addIfMissing(
    moments,
    time,
    (parts) => parts.everyType || parts.types.has(type),
    (parts) => addType(state, parts, type, time),
  );
}

function addIfMissing(
  moments: PartsByTime,
  time: Instant,
  has: (parts: Parts) => boolean,
  add: (parts: Parts) => void,
): void {
  const groups = moments.get(time);
  if (![...(groups?.values() ?? [])].some(has)) {
    const [source = null] = groups?.keys() ?? [];
    add(partsAt(moments, time, source));
  }
}

function endsOf(times: PartTimes | null): Instant[] {
  return times === null ? [] : [times.first, times.latest];
}

/** A type that was not queried by name around that time was observed among all. */
function addType(state: DomainState, parts: Parts, type: string, time: Instant): void {
  const named = state.types.get(type)?.named ?? null;
  if (named !== null && named.first <= time && time <= named.latest) {
    parts.types.add(type);
  } else {
    parts.everyType = true;
  }
}

function partsAt(moments: PartsByTime, time: Instant, source: string | null): Parts {
  const groups = moments.get(time) ?? new Map<string | null, Parts>();
  moments.set(time, groups);
  const parts = groups.get(source) ?? { everyType: false, types: new Set<string>(), http: false };
  groups.set(source, parts);
  return parts;
}

/** A domain's records and headers, as they were at a time that only goes forward. */
class Timeline {
  private readonly beginning: readonly RecordStay[];
  private readonly ending: readonly RecordStay[];
  private readonly changes: StoredHistory['headers'];
  private readonly open = new Map<string, Set<RecordStay>>();
  private readonly held = new Map<string, { value: string; present: boolean }>();
  private readonly next = { beginning: 0, ending: 0, change: 0 };

  constructor({ stays, headers }: StoredHistory) {
    this.beginning = stays;
    this.ending = stays
      .filter(({ removal }) => removal !== null)
      .sort((left, right) => compareInstants(left.removal?.removed ?? 0n, right.removal?.removed ?? 0n));
    this.changes = [...headers].sort((left, right) => compareInstants(left.observedAt, right.observedAt));
  }

  advanceTo(time: Instant): void {
    for (; (this.beginning[this.next.beginning]?.firstSeen ?? time + 1n) <= time; this.next.beginning += 1) {
      this.begin(this.beginning[this.next.beginning]);
    }
    for (; (this.ending[this.next.ending]?.removal?.removed ?? time + 1n) <= time; this.next.ending += 1) {
      const stay = this.ending[this.next.ending];
      if (stay !== undefined) {
        this.open.get(stay.record.type)?.delete(stay);
      }
    }
    for (; (this.changes[this.next.change]?.observedAt ?? time + 1n) <= time; this.next.change += 1) {
      this.change(this.changes[this.next.change]);
    }
  }

  /** The records present, of the given types or of all. */
  present(types: ReadonlySet<string> | null): RecordStay[] {
    return [...(types ?? this.open.keys())].sort().flatMap((type) => [...(this.open.get(type) ?? [])]);
  }

  headers(): Map<string, string> {
    const present = [...this.held].filter(([, header]) => header.present);
    return new Map(present.map(([name, { value }]) => [name, value]));
  }

  private begin(stay: RecordStay | undefined): void {
    if (stay !== undefined) {
      const open = this.open.get(stay.record.type) ?? new Set();
      this.open.set(stay.record.type, open.add(stay));
    }
  }

  private change(change: StoredHistory['headers'][number] | undefined): void {
    if (change !== undefined) {
      const { name, value, present } = change;
      this.held.set(name, { value: value ?? this.held.get(name)?.value ?? '', present });
    }
  }
}
