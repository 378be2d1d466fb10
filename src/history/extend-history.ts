import { compareDnsRecords } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import { compareInstants, type Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { compareUtf8 } from '../model/utf8-order.js';
import { applySightings, type Changes, type Sighting } from './apply-observation.js';
import { identityOf } from './diff.js';
import { momentsOf, observedTimes, responsesByTime, sightingsOf } from './moments.js';
import {
  beginRecording,
  heldAfter,
  type Outcome,
  type Progress,
  recordObservations,
} from './record-observations.js';
import {
  type DomainState,
  type Holdings,
  latestOfType,
  NOTHING_HELD,
  OTHER_TYPES,
  type PartTimes,
  type RecordStay,
  timesOfType,
} from './state.js';
import {
  EVERY_TYPE,
  type KeptTime,
  type KeptTimes,
  type StoredHeaderChange,
  type StoredHistory,
} from './stored-history.js';

/** A history with observations put where their times belong. */
export interface ExtendedHistory
  extends Pick<StoredHistory, 'state' | 'stays' | 'headers' | 'responses' | 'earlier' | 'keptTimes'> {
  /** Of the observations, in their order. */
  readonly outcomes: readonly Outcome[];
  /** The changes after the latest observation that was known, by their times. */
  readonly later: readonly Changes[];
  /** The earliest time up to that at which something changed that did not before, or not any more; null: there is none. */
  readonly extendedFrom: Instant | null;
}

export interface ExtendOptions {
  /** Observations older than the first of a part count; otherwise they are stale. */
  readonly older: boolean;
  /** As for beginRecording(). */
  readonly httpsGrace?: bigint | undefined;
}

/**
 * Puts observations into a history: sightings wherever they belong, complete observations before the first of their
 * parts, where that is allowed, and after the latest; those between are stale. The rules are applied again to what is
 * known to have been observed, and to these, in the order of time: the history is then what it would be had all of it
 * been recorded so. A pure rule: no clock, no database.
 *
 * @param history null when nothing is recorded of the domain.
 * @param observations of one domain, at least one.
 */
export function extendHistory(
  history: StoredHistory | null,
  observations: readonly Observation[],
  options: ExtendOptions,
): ExtendedHistory {
  const complete = observations.filter((observation) => !isSighted(observation));
  const sighted = observations.filter(isSighted);
  if (complete.length === 0 || sighted.length === 0) {
    const { extended, changes, outcomes } = extendOnce(history, observations, options);
    return { ...extended, ...newsOf(history, extended, changes), outcomes };
  }
  // Sightings come last, as if the observations had been recorded before: what they displace of these is kept.
  const first = extendOnce(history, complete, options);
  const name = observations[0]?.domain ?? '';
  const between = { name, version: 0n, recordedAt: 0n, ...first.extended };
  const { extended, changes, outcomes } = extendOnce(between, sighted, options);
  const byObservation = new Map([
    ...complete.map((observation, at) => [observation, first.outcomes[at] ?? STALE] as const),
    ...sighted.map((observation, at) => [observation, outcomes[at] ?? STALE] as const),
  ]);
  return {
    ...extended,
    ...newsOf(history, extended, changes),
    outcomes: observations.map((observation) => byObservation.get(observation) ?? STALE),
  };
}

function isSighted({ dns }: Observation): boolean {
  return dns?.sighted === true;
}

interface ExtendedOnce {
  readonly extended: Assembled;
  readonly changes: readonly Changes[];
  /** In the order of the observations. */
  readonly outcomes: readonly Outcome[];
}

function extendOnce(
  history: StoredHistory | null,
  observations: readonly Observation[],
  { older, httpsGrace }: ExtendOptions,
): ExtendedOnce {
  const unknown = typesIn(observations).filter((type) => history?.state.types.has(type) === false);
  const events = [
    ...(history === null ? [] : [...momentsOf(history, unknown)]).map((observation) => ({
      ...{ time: observation.observedAt, line: null, observation },
    })),
    // Before those of lines: what is sighted again is known.
    ...(history === null ? [] : sightingsOf(history)).map((sighting) => ({
      time: sighting.seenAt,
      line: null,
      sighting,
    })),
    ...observations.flatMap(eventsOfLine),
  ].sort((a, b) => compareInstants(a.time, b.time) || rankOf(a) - rankOf(b) || bySource(a, b));
  const recorded = { state: history?.state ?? null, older };
  const responses = history === null ? undefined : responsesByTime(history);
  const replayed = replay(events, { recorded, responses, httpsGrace });
  const outcomes = observations.map((_, line) => replayed.outcomes.get(line) ?? STALE);
  return { extended: assembled(history, replayed), changes: replayed.changes, outcomes };
}

/**
 * Whether an observation that is complete belongs into what is known: before the first of a part, where that is allowed,
 * or among or after sightings of a type, up to the first one after them. One of the time of the latest does, too: what that held is not
 * what is known now.
 */
export function isInside(state: DomainState, observation: Observation, older: boolean): boolean {
  const { dns, httpHeaders, observedAt } = observation;
  const precedes = (first: Instant | null | undefined) => older && first != null && observedAt < first;
  if (httpHeaders !== undefined && precedes(state.http?.first)) return true;
  if (dns === undefined) return false;
  if (dns.types === undefined && precedes(state.everyType?.first)) return true;
  // Also the first one after them: it is kept, even if it holds just what was sighted.
  const followsSightings = (type: string) => {
    const sighted = state.types.get(type)?.sighted ?? null;
    if (sighted === null) return false;
    const latest = latestOfType(state, type);
    return latest === null || (sighted.latest >= latest && observedAt >= latest);
  };
  for (const type of dns.types ?? state.types.keys()) {
    if (followsSightings(type) || (older && precedes(timesOfType(state, type)?.first))) return true;
  }
  return false;
}

const STALE: Outcome = {
  kind: 'stale',
  contradicts: false,
  heldBack: null,
  precedes: false,
  isPartial: false,
};

type Event = { readonly time: Instant; readonly line: number | null } & (
  | { readonly observation: Observation }
  | { readonly sighting: Sighting }
);

/** What is known comes first, then observations in the order given; sightings of that time are judged by these. */
const [KNOWN, LINE, SIGHTING] = [0, 1, 2];

function rankOf(event: Event | undefined): number {
  if (event === undefined || 'observation' in event) return event?.line == null ? KNOWN : LINE;
  return SIGHTING;
}

/** Whatever the order of sightings of one time, the same source remains. */
function bySource(a: Event, b: Event): number {
  if (!('sighting' in a && 'sighting' in b)) return 0;
  return compareUtf8(a.sighting.source ?? '', b.sighting.source ?? '');
}

function eventsOfLine(observation: Observation, line: number): Event[] {
  const { observedAt: time, dns, source = null } = observation;
  if (dns?.sighted !== true) return [{ time, line, observation }];
  const records = [...dns.records.values()].flat();
  return records.map((record) => ({ time, line, sighting: { seenAt: time, record, source } }));
}

/** The types that observations name or bring. */
function typesIn(observations: readonly Observation[]): string[] {
  return observations.flatMap(({ dns }) => [...(dns?.types ?? []), ...(dns?.records.keys() ?? [])]);
}

/** How far events have been applied. */
interface Replay {
  state: DomainState | null;
  holdings: Holdings;
  readonly changes: Changes[];
  readonly firsts: Map<string, readonly KeptTime[]>;
  /** By line. */
  readonly outcomes: Map<number, Outcome>;
  /** The types that were sighted since a complete observation of them. */
  readonly sighted: Set<string>;
  /** By part, the first complete observations after sightings. */
  readonly afterSightings: Map<string, KeptTime[]>;
}

interface ReplayOptions extends Pick<Progress, 'recorded' | 'responses'> {
  readonly httpsGrace: bigint | undefined;
}

/**
 * Applies events in their order; sightings that follow each other together, since each would copy what is present. Observations that
 * are not recorded yet are stale by what is.
 */
function replay(events: readonly Event[], { recorded, ...rules }: ReplayOptions): Replay {
  const replayed: Replay = {
    ...{ state: beforeAll(events, recorded?.state?.types ?? new Map()), holdings: NOTHING_HELD },
    ...{ changes: [], firsts: new Map(), outcomes: new Map(), sighted: new Set(), afterSightings: new Map() },
  };
  for (let next = 0; next < events.length; ) {
    const rank = rankOf(events[next]);
    let end = next + 1;
    while (end < events.length && rankOf(events[end]) === rank) end += 1;
    const run = events.slice(next, end);
    next = end;
    if (rank === SIGHTING) replaySightings(replayed, run);
    else replayObservations(replayed, run, { ...rules, ...(rank === LINE && { recorded }) });
  }
  return replayed;
}

/** Nothing but which types are known: an observation of OTHER_TYPES is of none of them. */
function beforeAll([first]: readonly Event[], types: DomainState['types']): DomainState | null {
  if (first === undefined || types.size === 0) return null;
  const known = [...types.keys()].filter((type) => type !== OTHER_TYPES);
  return {
    ...{ created: first.time, lastUpdate: first.time, lastChange: null },
    ...{ everyType: null, http: null, https: null, site: null },
    types: new Map(known.map((type) => [type, { digest: '', named: null }])),
  };
}

function replaySightings(replayed: Replay, run: readonly Event[]): void {
  const sightings = run.flatMap((event) => ('sighting' in event ? [event.sighting] : []));
  const { state, holdings, kinds } = applySightings(replayed.state, replayed.holdings, sightings);
  Object.assign(replayed, { state, holdings });
  for (const { record } of sightings) replayed.sighted.add(record.type);
  for (const [at, { line }] of run.entries()) {
    if (line === null) continue;
    replayed.outcomes.set(line, outcomeOf(replayed.outcomes.get(line), kinds[at] ?? 'known'));
  }
}

function replayObservations(
  replayed: Replay,
  run: readonly Event[],
  { httpsGrace, recorded, responses }: ReplayOptions,
): void {
  const observations = run.flatMap((event) => ('observation' in event ? [event.observation] : []));
  const { state, holdings } = replayed;
  const progress = recordObservations({
    ...beginRecording(state, observations, httpsGrace),
    ...{ holdings, recorded, responses },
  });
  Object.assign(replayed, { state: progress.state, holdings: heldAfter(progress) ?? holdings });
  for (const change of progress.changes) replayed.changes.push(change);
  for (const [part, times] of progress.firsts) replayed.firsts.set(part, times);
  for (const [at, { line }] of run.entries()) {
    const [outcome, observation] = [progress.outcomes[at], observations[at]];
    if (line !== null && outcome !== undefined) replayed.outcomes.set(line, outcome);
    const isActing = outcome?.kind === 'changed' || outcome?.kind === 'unchanged';
    if (isActing && !outcome.isPartial && observation !== undefined) addAfterSightings(replayed, observation);
  }
}

function addAfterSightings(
  { sighted, afterSightings }: Replay,
  { dns, observedAt, source }: Observation,
): void {
  if (dns === undefined) return;
  const { types } = dns;
  const confirmed = [...sighted].filter((type) => types?.has(type) !== false);
  for (const type of confirmed) sighted.delete(type);
  const parts = types === undefined ? confirmed.map(() => EVERY_TYPE).slice(0, 1) : confirmed;
  for (const part of parts) addTo(afterSightings, part, { observedAt, source: source ?? null });
}

const KINDS = { added: 'changed', seen: 'unchanged', known: 'repeated' } as const;
const WEIGHTS = { changed: 2, unchanged: 1, repeated: 0, stale: 0 } as const;

/** The outcome of an observation with several sightings is that of the one that did most. */
function outcomeOf(before: Outcome | undefined, sighting: keyof typeof KINDS): Outcome {
  const kind = KINDS[sighting];
  if (before !== undefined && WEIGHTS[before.kind] >= WEIGHTS[kind]) return before;
  return { kind, contradicts: false, heldBack: null, precedes: false, isPartial: false };
}

type Assembled = Omit<ExtendedHistory, 'outcomes' | 'later' | 'extendedFrom'>;

function assembled(history: StoredHistory | null, replayed: Replay): Assembled {
  const { changes, holdings, state } = replayed;
  if (state === null) throw new Error('A history is extended by at least one observation.');
  const stays = inOrder([
    ...changes.flatMap(({ removed }) => removed),
    ...[...holdings.records.values()].flat(),
  ]);
  const headers = changes
    .flatMap((change) => change.headers)
    .map(({ kind: _kind, old: _old, ...stored }) => stored)
    .sort((a, b) => compareUtf8(a.name, b.name) || compareInstants(a.observedAt, b.observedAt));
  const earlier = [...holdings.earlier.values()].sort(
    (a, b) => compareUtf8(a.type, b.type) || compareUtf8(a.name, b.name),
  );
  const extended = { stays, headers, earlier, state: stateWith(history, state, stays) };
  const responses = responsesOf(history, changes, extended);
  return { ...extended, responses, ...keptOf(history, extended, replayed) };
}

/** What is to be told of an extension. */
function newsOf(
  history: StoredHistory | null,
  extended: Assembled,
  changes: readonly Changes[],
): Pick<ExtendedHistory, 'later' | 'extendedFrom'> {
  const known = history?.state.lastUpdate ?? null;
  const isLater = (time: Instant) => known === null || time > known;
  const before = timesOfChanges(history ?? { stays: [], headers: [], responses: [] });
  const after = timesOfChanges(extended);
  const moved = [
    ...[...before].filter(([change]) => !after.has(change)),
    ...[...after].filter(([change]) => !before.has(change)),
  ].flatMap(([, time]) => (isLater(time) ? [] : [time]));
  const [extendedFrom = null] = moved.sort(compareInstants);
  return { later: laterChanges(extended, changes, isLater), extendedFrom };
}

function laterChanges(
  { stays }: Assembled,
  changes: readonly Changes[],
  isLater: (time: Instant) => boolean,
): Changes[] {
  const later = new Map<Instant, { [Key in keyof Changes]: Changes[Key][number][] }>();
  const at = (time: Instant) => {
    const news = later.get(time) ?? { added: [], removed: [], headers: [], responses: [], earlier: [] };
    later.set(time, news);
    return news;
  };
  for (const stay of stays) {
    if (isLater(stay.firstSeen)) at(stay.firstSeen).added.push(stay);
    if (stay.removal !== null && isLater(stay.removal.removed)) at(stay.removal.removed).removed.push(stay);
  }
  for (const change of changes.flatMap(({ headers }) => headers)) {
    if (isLater(change.observedAt)) at(change.observedAt).headers.push(change);
  }
  for (const response of changes.flatMap(({ responses }) => responses)) {
    if (isLater(response.observedAt)) at(response.observedAt).responses.push(response);
  }
  return [...later].sort(([a], [b]) => compareInstants(a, b)).map(([, news]) => news);
}

/** Each change of a history as text, with its time. */
function timesOfChanges({
  stays,
  headers,
  responses,
}: Pick<StoredHistory, 'stays' | 'headers' | 'responses'>): Map<string, Instant> {
  const times = new Map<string, Instant>();
  for (const { firstSeen, removal, record } of stays) {
    const text = `${record.type}\n${identityOf(record)}`;
    times.set(`+${firstSeen} ${text}`, firstSeen);
    if (removal !== null) times.set(`-${removal.removed} ${text}`, removal.removed);
  }
  for (const { name, observedAt, value } of headers) times.set(`${observedAt} ${name} ${value}`, observedAt);
  for (const [at, { observedAt, status }] of responses.entries()) {
    const before = responses[at - 1]?.status ?? status;
    if (before !== status) times.set(`${observedAt} ${before} ${status}`, observedAt);
  }
  return times;
}

/** What the replay cannot know of the state: which headers observers left out, HTTPS, and the times of sightings. */
function stateWith(
  history: StoredHistory | null,
  state: DomainState,
  stays: readonly RecordStay[],
): DomainState {
  const before = history?.state ?? null;
  const isHttpKnown = before?.http != null && state.http?.latest === before.http.latest;
  return {
    ...state,
    http:
      state.http !== null && isHttpKnown ? { ...state.http, digest: before.http?.digest ?? '' } : state.http,
    https: before?.https ?? state.https,
    types: withSightings(state.types, stays),
  };
}

function withSightings(types: DomainState['types'], stays: readonly RecordStay[]): DomainState['types'] {
  const sighted = new Map<string, PartTimes>();
  for (const { seenAt: time, record } of sightingsOf({ stays })) {
    const { type } = record;
    const { first, latest } = sighted.get(type) ?? { first: time, latest: time };
    sighted.set(type, { first: time < first ? time : first, latest: time > latest ? time : latest });
  }
  if (sighted.size === 0) return types;
  return new Map(
    Array.from(types, ([type, known]) => [
      type,
      { ...known, ...(sighted.has(type) && { sighted: sighted.get(type) ?? null }) },
    ]),
  );
}

/** The responses of observations that still change something, or have another scheme or status than those before. */
function responsesOf(
  history: StoredHistory | null,
  changes: readonly Changes[],
  {
    stays,
    headers,
  }: { readonly stays: readonly RecordStay[]; readonly headers: readonly StoredHeaderChange[] },
): StoredHistory['responses'] {
  const times = new Set([
    ...stays.flatMap(({ firstSeen, removal }) => [firstSeen, removal?.removed ?? firstSeen]),
    ...headers.map(({ observedAt }) => observedAt),
  ]);
  const replayed = changes.flatMap((change) => change.responses).map(({ old: _old, ...stored }) => stored);
  const byTime = new Map([
    ...(history?.responses ?? []).flatMap((each) =>
      times.has(each.observedAt) ? [[each.observedAt, each] as const] : [],
    ),
    ...replayed.map((each) => [each.observedAt, each] as const),
  ]);
  return [...byTime.values()].sort((a, b) => compareInstants(a.observedAt, b.observedAt));
}

/**
 * With the observations that nothing else tells of: those whose changes sightings moved to an earlier time, and the first ones after
 * sightings. What they tell of other records must not depend on the order in which sightings came.
 */
function keptOf(
  history: StoredHistory | null,
  extended: Pick<StoredHistory, 'state' | 'stays' | 'headers'>,
  { firsts, afterSightings }: Replay,
): { readonly keptTimes?: KeptTimes } {
  const kept = new Map<string, readonly KeptTime[]>(firsts);
  const types = [...extended.state.types].flatMap(([type, { sighted }]) => (sighted ? [type] : []));
  if (types.length > 0) {
    const before = history === null ? new Map<string, KeptTime[]>() : observedTimes(history);
    const empty = { name: '', version: 0n, recordedAt: 0n, responses: [], earlier: [] };
    const after = observedTimes({ ...empty, ...history, ...extended, keptTimes: firsts });
    for (const part of [EVERY_TYPE, ...types]) {
      const told = new Set([part, EVERY_TYPE].flatMap((each) => (after.get(each) ?? []).map(textOf)));
      const known = [...(before.get(part) ?? []), ...(afterSightings.get(part) ?? [])];
      const left = new Map(known.map((time) => [textOf(time), time] as const));
      for (const text of told) left.delete(text);
      if (left.size > 0) kept.set(part, [...(firsts.get(part) ?? []), ...left.values()].sort(byTime));
    }
  }
  return kept.size === 0 ? {} : { keptTimes: kept };
}

function textOf({ observedAt, source }: KeptTime): string {
  return `${observedAt} ${source ?? ''}`;
}

function byTime(a: KeptTime, b: KeptTime): number {
  return compareInstants(a.observedAt, b.observedAt);
}

/** The stays in the order of responses, with their places among those that began together. */
function inOrder(stays: readonly RecordStay[]): RecordStay[] {
  const ordered = [...stays].sort(
    (a, b) => compareInstants(a.firstSeen, b.firstSeen) || compareDnsRecords(a.record, b.record),
  );
  let position = 0;
  return ordered.map((stay, at) => {
    const before = ordered[at - 1];
    const isTogether = before?.firstSeen === stay.firstSeen && before.record.type === stay.record.type;
    position = isTogether ? position + 1 : 0;
    return { ...stay, position };
  });
}
