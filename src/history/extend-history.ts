import { compareDnsRecords } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import { compareInstants, type Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { compareUtf8 } from '../model/utf8-order.js';
import { type Changes, mergeChanges, timeOf } from './diff.js';
import { digestOfHeaders, unseenOf } from './digest.js';
import { observedTimes } from './moments.js';
import type { Outcome } from './record-observations.js';
import { isSighted, Replay, type ReplayOptions, STALE } from './replay.js';
import {
  type DomainState,
  earlierOf,
  type Holdings,
  identityOf,
  latestOfType,
  type PartTimes,
  type RecordStay,
  timesOfType,
} from './state.js';
import { EVERY_TYPE, type History, type KeptTime, type KeptTimes } from './stored-history.js';

export interface ExtendedHistory extends History {
  /** In the order of the observations. */
  readonly outcomes: readonly Outcome[];
  /** The changes after the latest observation that was known, by their times. */
  readonly later: readonly Changes[];
  /** The earliest time up to that at which something changed that did not before, or not any more. */
  readonly extendedFrom: Instant | null;
}

/**
 * Puts observations into a history: sightings wherever they belong, complete observations before the first of
 * their parts, where that is allowed, and after the latest; those between are stale. The rules are applied
 * again to what is known to have been observed, and to these, in the order of time: the history is then what it
 * would be had all of it been recorded so. A pure rule: no clock, no database.
 *
 * @param observations of one domain; at least one if the history is null.
 * @throws Error if nothing is recorded after all.
 */
export function extendHistory(
  history: History | null,
  observations: readonly Observation[],
  options: ReplayOptions,
): ExtendedHistory {
  const outcomes = new Map<Observation, Outcome>();
  let [known, changes]: [History | null, readonly Changes[]] = [history, []];
  const sighted = observations.filter(isSighted);
  const complete = observations.filter((observation) => !isSighted(observation));
  // Sightings come last, as if the observations had been recorded before: what they displace of these is kept.
  const runs = [complete, sighted].filter(({ length }) => length > 0);
  for (const given of runs.length === 0 ? [[]] : runs) {
    const replay = new Replay(known, given, options);
    for (const [observation, outcome] of replay.outcomes) outcomes.set(observation, outcome);
    changes = replay.changes;
    const name = history?.name ?? observations[0]?.domain ?? '';
    known = { name, ...assemble(known, replay) };
  }
  if (known === null) throw new Error('A history is extended by at least one observation.');
  return {
    ...known,
    outcomes: observations.map((observation) => outcomes.get(observation) ?? STALE),
    later: changesAfter(history?.state.lastUpdate ?? null, changes),
    extendedFrom: history === null ? null : firstMoved(history, known),
  };
}

/**
 * Whether an observation that is complete belongs into what is known: before the first of a part, where that is
 * allowed, or among or after sightings of a type, up to the first one after them. One of the time of the latest
 * does, too: what that held is not what is known now.
 */
export function isInside(
  state: DomainState,
  { dns, httpHeaders, observedAt }: Observation,
  older: boolean,
): boolean {
  const precedes = (times: PartTimes | null) => times !== null && observedAt < times.first;
  if (older && httpHeaders !== undefined && precedes(state.http)) return true;
  if (dns === undefined) return false;
  if (older && dns.types === undefined && precedes(state.everyType)) return true;
  for (const type of dns.types ?? state.types.keys()) {
    if (followsSightings(state, type, observedAt) || (older && precedes(timesOfType(state, type))))
      return true;
  }
  return false;
}

/** Also of the first one after them: it is kept, even if it holds just what was sighted. */
function followsSightings(state: DomainState, type: string, observedAt: Instant): boolean {
  const sighted = state.types.get(type)?.sighted ?? null;
  if (sighted === null) return false;
  const latest = latestOfType(state, type);
  return latest === null || (sighted.latest >= latest && observedAt >= latest);
}

type Assembled = Omit<History, 'name'>;

function assemble(history: History | null, replay: Replay): Assembled {
  const { changes, holdings, state } = replay;
  if (state === null) throw new Error('A history is extended by at least one observation.');
  const stays = inOrder([
    ...changes.flatMap(({ removed }) => removed),
    ...[...holdings.records.values()].flatMap((stays) => [...stays.values()]),
  ]);
  const headers = changes
    .flatMap((change) => change.headers)
    .map(({ kind: _kind, old: _old, ...stored }) => stored)
    .sort((a, b) => compareUtf8(a.name, b.name) || compareTimes(a, b));
  const earlier = [...holdings.earlier.values()].sort(
    (a, b) => compareUtf8(a.type, b.type) || compareUtf8(a.name, b.name),
  );
  const responses = evidenceOf(history, changes, { stays, headers });
  const assembled = { state: stateWith(history, state, holdings), stays, headers, responses, earlier };
  const keptTimes = findKeptTimes(history, assembled, replay);
  return keptTimes.size === 0 ? assembled : { ...assembled, keptTimes };
}

/** Those of one time together. @param latest null: all. */
function changesAfter(latest: Instant | null, changes: readonly Changes[]): Changes[] {
  const byTime = new Map<Instant, Changes[]>();
  for (const each of changes) {
    const time = timeOf(each);
    if (time !== undefined && (latest === null || time > latest)) addTo(byTime, time, each);
  }
  return Array.from(byTime.values(), mergeChanges);
}

/** The earliest time, up to the latest observation that was known, of a change that only one history has. */
function firstMoved(before: History, after: Assembled): Instant | null {
  const [known, now] = [timesOfChanges(before), timesOfChanges(after)];
  let first: Instant | null = null;
  for (const [change, time] of [...known, ...now]) {
    if (known.has(change) && now.has(change)) continue;
    if (time <= before.state.lastUpdate) first = earlierOf(first, time);
  }
  return first;
}

function timesOfChanges({ stays, headers, responses }: Assembled): Map<string, Instant> {
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

/** What the replay cannot know of the state: which headers observers left out, and HTTPS. */
function stateWith(history: History | null, state: DomainState, { headers }: Holdings): DomainState {
  const before = history?.state ?? null;
  if (before === null) return state;
  const { http } = state;
  const https = before.https ?? state.https;
  if (http === null || http.latest !== before.http?.latest) return { ...state, https };
  const present = [...headers].filter(([, header]) => header.present);
  const values = new Map(present.map(([name, { value }]) => [name, value]));
  const digest = digestOfHeaders(values, new Set(unseenOf(before.http.digest)));
  return { ...state, https, http: { ...http, digest } };
}

/** The responses of observations that still change something, or with another scheme or status than before. */
function evidenceOf(
  history: History | null,
  changes: readonly Changes[],
  { stays, headers }: Pick<History, 'stays' | 'headers'>,
): History['responses'] {
  const times = new Set([
    ...stays.flatMap(({ firstSeen, removal }) => [firstSeen, removal?.removed ?? firstSeen]),
    ...headers.map(({ observedAt }) => observedAt),
  ]);
  const known = (history?.responses ?? []).filter(({ observedAt }) => times.has(observedAt));
  const replayed = changes.flatMap(({ responses }) => responses).map(({ old: _old, ...stored }) => stored);
  const byTime = new Map([...known, ...replayed].map((each) => [each.observedAt, each]));
  return [...byTime.values()].sort(compareTimes);
}

/**
 * The observations that nothing else tells of: first ones that changed nothing, those whose changes sightings
 * moved to an earlier time, and the first ones after sightings. What they tell of other records must not depend
 * on the order in which sightings came.
 */
function findKeptTimes(
  history: History | null,
  assembled: Assembled,
  { firsts, afterSightings }: Replay,
): KeptTimes {
  const types = [...assembled.state.types].flatMap(([type, { sighted }]) => (sighted ? [type] : []));
  if (types.length === 0) return firsts;
  const kept = new Map<string, readonly KeptTime[]>(firsts);
  const before = history === null ? new Map<string, KeptTime[]>() : observedTimes(history);
  const after = observedTimes({ ...assembled, keptTimes: firsts });
  for (const part of [EVERY_TYPE, ...types]) {
    const known = [...(before.get(part) ?? []), ...(afterSightings.get(part) ?? [])];
    const left = new Map(known.map((time) => [textOf(time), time]));
    for (const told of [part, EVERY_TYPE].flatMap((each) => after.get(each) ?? [])) left.delete(textOf(told));
    if (left.size > 0) kept.set(part, [...(firsts.get(part) ?? []), ...left.values()].sort(compareTimes));
  }
  return kept;
}

function textOf({ observedAt, source }: KeptTime): string {
  return `${observedAt} ${source ?? ''}`;
}

function compareTimes(a: { readonly observedAt: Instant }, b: { readonly observedAt: Instant }): number {
  return compareInstants(a.observedAt, b.observedAt);
}

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
