import { recordsByType } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import { compareInstants, type Instant } from '../model/instant.js';
import type { Observation, SiteResponse } from '../model/observation.js';
import {
  type DomainState,
  isFirstSighted,
  isLastSighted,
  OTHER_TYPES,
  type PartTimes,
  type RecordStay,
} from './state.js';
import { EVERY_TYPE, type History, HTTP, type KeptTime } from './stored-history.js';

/** By time and observer, the parts that were observed: DNS types by name, EVERY_TYPE, and HTTP. */
type PartsByTime = Map<Instant, Map<string | null, Set<string>>>;

/**
 * The observations that lead to a history, but for sightings, in the order of time: one for each time at which
 * something changed, was last seen, or a part was observed first or last, by each observer. Those in between
 * left no trace.
 *
 * @param others Types that are among OTHER_TYPES.
 */
export function* momentsOf(history: History, others: readonly string[] = []): Generator<Observation> {
  const moments = collectParts(history);
  const responses = responsesByTime(history);
  const timeline = new Timeline(history);
  for (const observedAt of [...moments.keys()].sort(compareInstants)) {
    timeline.advanceTo(observedAt);
    const response = responses.get(observedAt);
    const groups = [...(moments.get(observedAt) ?? [])].flatMap(([source, parts]) =>
      divided(parts).map((each) => ({ source, parts: each })),
    );
    // Types by name first: an observation of all types then leaves them alone.
    groups.sort((a, b) => Number(a.parts.has(EVERY_TYPE)) - Number(b.parts.has(EVERY_TYPE)));
    for (const { source, parts } of groups) {
      yield {
        domain: history.name,
        observedAt,
        ...dnsOf(parts, timeline, others),
        ...(parts.has(HTTP) && { httpHeaders: timeline.headers(), ...(response && { response }) }),
        ...(source !== null && { source }),
      };
    }
  }
}

/** An observation of all types, and one of types by name, where there were both. */
function divided(parts: ReadonlySet<string>): ReadonlySet<string>[] {
  const named = [...parts].filter((part) => part !== EVERY_TYPE && part !== HTTP);
  if (!parts.has(EVERY_TYPE) || named.length === 0) return [parts];
  return [new Set(named), new Set([...parts].filter((part) => !named.includes(part)))];
}

function dnsOf(
  parts: ReadonlySet<string>,
  timeline: Timeline,
  others: readonly string[],
): Pick<Observation, 'dns'> {
  if (parts.has(EVERY_TYPE)) return { dns: { records: timeline.present(null) } };
  const types = [...parts].filter((part) => part !== HTTP).sort();
  if (types.length === 0) return {};
  const named = types.includes(OTHER_TYPES) ? [...types, ...others] : types;
  return { dns: { types: new Set(named), records: timeline.present(types) } };
}

/** What is known to have been observed, by part. Sightings are not among it. */
export function observedTimes(history: Told): Map<string, KeptTime[]> {
  const times = new Map<string, KeptTime[]>();
  for (const [observedAt, groups] of collectParts(history)) {
    for (const [source, parts] of groups) {
      for (const part of parts) addTo(times, part, { observedAt, source });
    }
  }
  return times;
}

type Told = Pick<History, 'state' | 'stays' | 'headers' | 'responses' | 'keptTimes'>;

function collectParts(history: Told): PartsByTime {
  const moments: PartsByTime = new Map();
  for (const { time, part, source, toldBy } of evidenceIn(history)) {
    const groups = moments.get(time) ?? new Map<string | null, Set<string>>();
    if ([...groups.values()].some((parts) => toldBy.some((each) => parts.has(each)))) continue;
    const [other = null] = groups.keys();
    const observer = source === undefined ? other : source;
    moments.set(time, groups.set(observer, (groups.get(observer) ?? new Set()).add(part)));
  }
  return moments;
}

interface Evidence {
  readonly time: Instant;
  readonly part: string;
  /** Undefined: it is not known who observed. */
  readonly source: string | null | undefined;
  /** It may have changed nothing: where one of these parts was observed at that time, it is there already. */
  readonly toldBy: readonly string[];
}

function evidenceIn({ state, stays, headers, responses, keptTimes = new Map() }: Told): Evidence[] {
  const changed = ({ record }: RecordStay, time: Instant, source: string | null) => ({
    time,
    part: partOf(state, record.type, time),
    source,
    toldBy: [],
  });
  const told = (part: string, { observedAt: time, source }: KeptTime) => ({
    time,
    part,
    source,
    toldBy: [part],
  });
  const unchanged = (part: string, times: readonly Instant[]) =>
    times.map((time) => ({ time, part, source: undefined, toldBy: [part] }));
  return [
    ...stays.flatMap((stay) => [
      ...(isFirstSighted(stay) ? [] : [changed(stay, stay.firstSeen, stay.source)]),
      ...(stay.removal === null ? [] : [changed(stay, stay.removal.removed, stay.removal.source)]),
    ]),
    ...headers.map((change) => ({ ...told(HTTP, change), toldBy: [] })),
    ...[...keptTimes].flatMap(([part, kept]) => kept.map((each) => told(part, each))),
    ...unchanged(EVERY_TYPE, endsOf(state.everyType)),
    ...[...state.types].flatMap(([type, { named }]) => unchanged(type, endsOf(named))),
    ...stays.flatMap((stay) => {
      if (stay.removal === null || isLastSighted(stay)) return [];
      const { part, ...last } = changed(stay, stay.removal.lastSeen, null);
      return { ...last, part, source: undefined, toldBy: [part, EVERY_TYPE] };
    }),
    ...responses.map((response) => told(HTTP, response)),
    ...unchanged(HTTP, [...endsOf(state.http), ...endsOf(state.site)]),
    ...unchanged(
      HTTP,
      headers.flatMap(({ lastSeen }) => lastSeen ?? []),
    ),
  ];
}

function responsesByTime({ state: { site }, responses }: History): Map<Instant, SiteResponse> {
  const latest = site === null ? [] : [{ ...site, observedAt: site.latest, address: null }];
  return new Map(
    [...latest, ...responses].map(({ observedAt, scheme, status, address }) => [
      observedAt,
      { scheme, status, address },
    ]),
  );
}

/** Each of one record. */
export function sightingMoments({ name, stays }: History): Observation[] {
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

/** A type that was not queried by name around that time was observed among all. */
function partOf({ types }: DomainState, type: string, time: Instant): string {
  const named = types.get(type)?.named ?? null;
  return named !== null && named.first <= time && time <= named.latest ? type : EVERY_TYPE;
}

function endsOf(times: PartTimes | null): Instant[] {
  return times === null ? [] : [times.first, times.latest];
}

/** A domain's records and headers, as they were at a time that only goes forward. */
class Timeline {
  readonly #open = new Map<string, Set<RecordStay>>();
  readonly #held = new Map<string, string | null>();
  /** The latest first. */
  readonly #events: { readonly time: Instant; readonly apply: () => unknown }[] = [];

  constructor({ stays, headers }: History) {
    for (const stay of stays) {
      const open = this.#open.get(stay.record.type) ?? new Set();
      this.#open.set(stay.record.type, open);
      this.#events.push({ time: stay.firstSeen, apply: () => open.add(stay) });
      if (stay.removal !== null) {
        this.#events.push({ time: stay.removal.removed, apply: () => open.delete(stay) });
      }
    }
    for (const { observedAt: time, name, value } of headers) {
      this.#events.push({ time, apply: () => this.#held.set(name, value) });
    }
    this.#events.sort((a, b) => compareInstants(a.time, b.time)).reverse();
  }

  advanceTo(time: Instant): void {
    for (let next = this.#events.at(-1); next && next.time <= time; next = this.#events.at(-1)) {
      next.apply();
      this.#events.pop();
    }
  }

  /** @param types null: all. */
  present(types: readonly string[] | null): ReturnType<typeof recordsByType> {
    const stays = [...(types ?? this.#open.keys())]
      .sort()
      .flatMap((type) => [...(this.#open.get(type) ?? [])]);
    return recordsByType(stays.map(({ record }) => record));
  }

  headers(): Map<string, string> {
    return new Map([...this.#held].flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
  }
}
