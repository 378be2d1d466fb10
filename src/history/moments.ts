import { recordsByType } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import { compareInstants, type Instant } from '../model/instant.js';
import type { DnsObservation, Observation, SiteResponse } from '../model/observation.js';
import {
  type DomainState,
  isFirstSighted,
  isLastSighted,
  OTHER_TYPES,
  type PartTimes,
  type RecordStay,
} from './state.js';
import { EVERY_TYPE, HTTP, type KeptTime, type StoredHistory } from './stored-history.js';

/** The parts that one observer observed at one time: DNS types by name, EVERY_TYPE, and HTTP. */
type Parts = Set<string>;

type PartsByTime = Map<Instant, Map<string | null, Parts>>;

/**
 * The observations that lead to a history, in the order of time: one for each time at which something changed,
 * was last seen, or a part was observed first or last, by each observer. Those in between left no trace.
 * Sightings are not among them.
 *
 * @param others Types that are among OTHER_TYPES.
 */
export function* momentsOf(history: StoredHistory, others: readonly string[] = []): Generator<Observation> {
  const moments = collectParts(history);
  const timeline = new Timeline(history);
  for (const observedAt of [...moments.keys()].sort(compareInstants)) {
    timeline.advanceTo(observedAt);
    const groups = [...(moments.get(observedAt) ?? [])].flatMap(([source, parts]) =>
      divided(parts).map((each) => ({ source, parts: each })),
    );
    // Types by name first: an observation of all types then leaves them alone.
    groups.sort((a, b) => Number(a.parts.has(EVERY_TYPE)) - Number(b.parts.has(EVERY_TYPE)));
    for (const { source, parts } of groups) {
      yield {
        ...{ domain: history.name, observedAt },
        ...dnsOf(parts, timeline, others),
        ...(parts.has(HTTP) && { httpHeaders: timeline.headers() }),
        ...(source !== null && { source }),
      };
    }
  }
}

/** An observation of all types, and one of types by name, where there were both. */
function divided(parts: Parts): Parts[] {
  const named = [...parts].filter((part) => part !== EVERY_TYPE && part !== HTTP);
  if (!parts.has(EVERY_TYPE) || named.length === 0) return [parts];
  return [new Set(named), new Set([...parts].filter((part) => !named.includes(part)))];
}

function dnsOf(parts: Parts, timeline: Timeline, others: readonly string[]): Pick<Observation, 'dns'> {
  if (parts.has(EVERY_TYPE)) return { dns: { records: timeline.present(null) } };
  const types = [...parts].filter((part) => part !== HTTP).sort();
  if (types.length === 0) return {};
  const named = types.includes(OTHER_TYPES) ? [...types, ...others] : types;
  return { dns: { types: new Set(named), records: timeline.present(types) } };
}

/**
 * What is known to have been observed, by part: DNS types by name, EVERY_TYPE, and HTTP. Sightings are not
 * among it.
 */
export function observedTimes(history: StoredHistory): Map<string, KeptTime[]> {
  const times = new Map<string, KeptTime[]>();
  for (const [observedAt, groups] of collectParts(history)) {
    for (const [source, parts] of groups) {
      for (const part of parts) addTo(times, part, { observedAt, source });
    }
  }
  return times;
}

function collectParts(history: StoredHistory): PartsByTime {
  const { state, stays, headers, responses, keptTimes } = history;
  const moments: PartsByTime = new Map();
  addChanges(moments, history);
  const add = (time: Instant, part: string, source?: string | null) =>
    addUnchanged(moments, { time, part, source }, [part]);
  for (const [part, kept] of keptTimes ?? []) {
    for (const { observedAt, source } of kept) add(observedAt, part, source);
  }
  for (const time of endsOf(state.everyType)) add(time, EVERY_TYPE);
  for (const [type, { named }] of state.types) for (const time of endsOf(named)) add(time, type);
  for (const [time, type] of lastSights(stays)) {
    const part = partOf(state, type, time);
    addUnchanged(moments, { time, part, source: undefined }, [part, EVERY_TYPE]);
  }
  for (const { observedAt, source } of responses) add(observedAt, HTTP, source);
  const ofHeaders = headers.flatMap(({ lastSeen }) => lastSeen ?? []);
  const ofSite = endsOf(state.site);
  for (const time of [...endsOf(state.http), ...ofSite, ...ofHeaders]) add(time, HTTP);
  return moments;
}

/** The responses that a history tells of, by time. */
export function responsesByTime({ state, responses }: StoredHistory): Map<Instant, SiteResponse> {
  const { site } = state;
  return new Map<Instant, SiteResponse>([
    ...(site === null ? [] : [[site.latest, { ...responseOf(site), address: null }] as const]),
    ...responses.map((each) => [each.observedAt, { ...responseOf(each), address: each.address }] as const),
  ]);
}

function responseOf({ scheme, status }: Pick<SiteResponse, 'scheme' | 'status'>) {
  return { scheme, status };
}

/** When records of which types were last observed before their removals. */
function lastSights(stays: readonly RecordStay[]): [time: Instant, type: string][] {
  return stays.flatMap((stay) => {
    const { removal, record } = stay;
    return removal === null || isLastSighted(stay) ? [] : [[removal.lastSeen, record.type]];
  });
}

/** The sightings that a history tells of, each of one record. */
export function sightingMoments({ name, stays }: StoredHistory): Observation[] {
  return stays.flatMap(({ sightings = [], record }) => {
    const records = recordsByType([record]);
    return sightings.map(({ seenAt, source }) => ({
      domain: name,
      observedAt: seenAt,
      dns: { records, sighted: true },
      ...(source !== null && { source }),
    }));
  });
}

function addChanges(moments: PartsByTime, { state, stays, headers }: StoredHistory): void {
  for (const stay of stays) {
    const { firstSeen, removal, source, record } = stay;
    if (!isFirstSighted(stay)) partsAt(moments, firstSeen, source).add(partOf(state, record.type, firstSeen));
    if (removal === null) continue;
    partsAt(moments, removal.removed, removal.source).add(partOf(state, record.type, removal.removed));
  }
  for (const { observedAt, source } of headers) partsAt(moments, observedAt, source).add(HTTP);
}

/** A type that was not queried by name around that time was observed among all. */
function partOf({ types }: DomainState, type: string, time: Instant): string {
  const named = types.get(type)?.named ?? null;
  return named !== null && named.first <= time && time <= named.latest ? type : EVERY_TYPE;
}

interface Unchanged {
  readonly time: Instant;
  readonly part: string;
  /** Undefined: it is not known who observed. */
  readonly source: string | null | undefined;
}

/**
 * Adds an observation of a part that is known though it may have changed nothing. Where one of the parts that
 * tell of it was observed at that time, it is there already.
 */
function addUnchanged(
  moments: PartsByTime,
  { time, part, source }: Unchanged,
  tell: readonly string[],
): void {
  const groups = moments.get(time) ?? new Map<string | null, Parts>();
  if ([...groups.values()].some((parts) => tell.some((each) => parts.has(each)))) return;
  const [other = null] = groups.keys();
  partsAt(moments, time, source === undefined ? other : source).add(part);
}

function endsOf(times: PartTimes | null): Instant[] {
  return times === null ? [] : [times.first, times.latest];
}

function partsAt(moments: PartsByTime, time: Instant, source: string | null): Parts {
  const groups = moments.get(time) ?? new Map<string | null, Parts>();
  moments.set(time, groups);
  const parts = groups.get(source) ?? new Set();
  groups.set(source, parts);
  return parts;
}

type TimelineEvent = { readonly time: Instant } & (
  | { readonly begins: RecordStay }
  | { readonly ends: RecordStay }
  | { readonly change: StoredHistory['headers'][number] }
);

/** A domain's records and headers, as they were at a time that only goes forward. */
class Timeline {
  readonly #open = new Map<string, Set<RecordStay>>();
  readonly #held = new Map<string, string | null>();
  readonly #events: readonly TimelineEvent[];
  #next = 0;

  constructor({ stays, headers }: StoredHistory) {
    const beginnings = stays.map((stay) => ({ time: stay.firstSeen, begins: stay }));
    const ends = stays.flatMap((stay) =>
      stay.removal === null ? [] : [{ time: stay.removal.removed, ends: stay }],
    );
    const changes = headers.map((change) => ({ time: change.observedAt, change }));
    this.#events = [...beginnings, ...ends, ...changes].sort((a, b) => compareInstants(a.time, b.time));
  }

  advanceTo(time: Instant): void {
    for (let event = this.#events[this.#next]; event !== undefined && event.time <= time; ) {
      this.#apply(event);
      this.#next += 1;
      event = this.#events[this.#next];
    }
  }

  #apply(event: TimelineEvent): void {
    if ('begins' in event) {
      const { type } = event.begins.record;
      this.#open.set(type, (this.#open.get(type) ?? new Set()).add(event.begins));
    } else if ('ends' in event) {
      this.#open.get(event.ends.record.type)?.delete(event.ends);
    } else {
      const { name, value } = event.change;
      this.#held.set(name, value);
    }
  }

  present(types: readonly string[] | null): DnsObservation['records'] {
    const ofTypes = [...(types ?? this.#open.keys())].sort().map((type) => [...(this.#open.get(type) ?? [])]);
    return recordsByType(ofTypes.flat().map(({ record }) => record));
  }

  headers(): Map<string, string> {
    return new Map([...this.#held].flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
  }
}
