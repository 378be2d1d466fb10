import { compareDnsRecords, isCanonicalRecord } from '../model/dns-record.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { parseSourceName } from '../model/text.js';
import { identityOf } from './diff.js';
import { digestOfRecords } from './digest.js';
import type { DomainState, PartTimes, RecordStay } from './state.js';
import type { StoredHistory } from './stored-history.js';
import { canonicalOrNull, stayText, timeText } from './violation-text.js';

/**
 * Finds what breaks the rules in the stays of a domain's records.
 *
 * @returns one line for each breach.
 */
export function* findStayViolations({ state, stays }: StoredHistory): Generator<string> {
  const canonical = new Set(stays.filter(({ record }) => isCanonicalRecord(record)));
  const times = observedTimes(state, stays);
  for (const stay of stays) {
    if (!canonical.has(stay)) {
      yield `${stayText(stay)} is not in canonical form`;
    }
    yield* sources(stay);
    yield* timesOfStay(state, stay, times.get(stay.record.type) ?? []);
  }
  yield* overlaps(stays);
  yield* positions(stays, canonical);
  yield* digests(state, stays, canonical);
}

function* sources(stay: RecordStay): Generator<string> {
  for (const source of [stay.source, stay.removal?.source ?? null]) {
    if (source !== null && canonicalOrNull(() => parseSourceName(source)) !== source) {
      yield `${stayText(stay)} has a source that is not 1 to 64 printable characters`;
    }
  }
}

/**
 * The times, in order, at which each type is known to have been observed. Those of all types at once are
 * not among them: such an observation may have come too late for this type.
 */
function observedTimes(state: DomainState, stays: readonly RecordStay[]): Map<string, Instant[]> {
  const times = new Map<string, Instant[]>();
  for (const [type, { named }] of state.types) {
    times.set(type, named === null ? [] : [named.first, named.latest]);
  }
  for (const { firstSeen, removal, record } of stays) {
    const ofType = times.get(record.type) ?? [];
    times.set(record.type, ofType);
    ofType.push(firstSeen);
    if (removal !== null) ofType.push(removal.lastSeen, removal.removed);
  }
  for (const ofType of times.values()) ofType.sort(compareInstants);
  return times;
}

function* timesOfStay(state: DomainState, stay: RecordStay, times: readonly Instant[]): Generator<string> {
  const { firstSeen, removal, record } = stay;
  const outside = (time: Instant) => !isWithinObservations(state, record.type, time);
  if (outside(firstSeen)) {
    yield `${stayText(stay)} was first seen outside the observations of ${record.type}`;
  }
  if (removal === null) {
    return;
  }
  const { lastSeen, removed } = removal;
  if (outside(removed)) {
    yield `${stayText(stay)} was removed outside the observations of ${record.type}`;
  }
  if (lastSeen < firstSeen || lastSeen >= removed || outside(lastSeen)) {
    yield `${stayText(stay)} was last seen ${timeText(lastSeen)}, not between its first sight and its removal`;
  } else if (latestBefore(times, removed) !== lastSeen) {
    yield `${stayText(stay)} was last seen ${timeText(lastSeen)}, not by the observation before its removal`;
  }
}

/** The latest of the times, which are in order, that is before another; it is found by halving. */
function latestBefore(times: readonly Instant[], end: Instant): Instant | null {
  let low = 0;
  for (let high = times.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? end) < end) low = middle + 1;
    else high = middle;
  }
  return times[low - 1] ?? null;
}

/** Each change of a type is at a time between the first and the latest observation by name, or of all. */
function isWithinObservations({ everyType, types }: DomainState, type: string, time: Instant): boolean {
  const within = (times: PartTimes | null) => times !== null && times.first <= time && time <= times.latest;
  return within(everyType) || within(types.get(type)?.named ?? null);
}

function* overlaps(stays: readonly RecordStay[]): Generator<string> {
  const latest = new Map<string, RecordStay>();
  for (const stay of stays) {
    const key = `${stay.record.type}\n${identityOf(stay.record)}`;
    const before = latest.get(key);
    if (before !== undefined && (before.removal === null || before.removal.removed >= stay.firstSeen)) {
      yield `${stayText(stay)} begins while the same record is still present`;
    }
    latest.set(key, stay);
  }
}

/** Records that are not in canonical form have no place in the order. */
function* positions(stays: readonly RecordStay[], canonical: ReadonlySet<RecordStay>): Generator<string> {
  let before: RecordStay | undefined;
  for (const stay of stays) {
    const together = before?.firstSeen === stay.firstSeen && before.record.type === stay.record.type;
    const expected = together && before !== undefined ? before.position + 1 : 0;
    if (stay.position !== expected) {
      yield `${stayText(stay)} has position ${stay.position} in place of ${expected}`;
    }
    const comparable = together && before !== undefined && canonical.has(before) && canonical.has(stay);
    if (comparable && before !== undefined && compareDnsRecords(before.record, stay.record) >= 0) {
      yield `${stayText(stay)} stands behind a record that it should precede`;
    }
    before = stay;
  }
}

function* digests(
  state: DomainState,
  stays: readonly RecordStay[],
  canonical: ReadonlySet<RecordStay>,
): Generator<string> {
  const present = new Map([...state.types.keys()].map((type) => [type, [] as RecordStay[]]));
  for (const stay of stays.filter(({ removal }) => removal === null)) {
    const { type } = stay.record;
    present.set(type, [...(present.get(type) ?? []), stay]);
  }
  for (const [type, open] of present) {
    const records = open.map(({ record }) => record);
    if (open.every((stay) => canonical.has(stay))) records.sort(compareDnsRecords);
    if (digestOfRecords(records) !== (state.types.get(type)?.digest ?? '')) {
      yield `the digest of ${type} is not that of its present records`;
    }
  }
}
