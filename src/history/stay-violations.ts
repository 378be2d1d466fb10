import { compareDnsRecords, isCanonicalRecord } from '../model/dns-record.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { identityOf } from './diff.js';
import { digestOfRecords } from './digest.js';
import { type DomainState, type RecordStay, timesOfStay } from './state.js';
import type { StoredHistory } from './stored-history.js';
import { isSourceOrNull, isWithin, stayText, timeText } from './violation-text.js';

/** Finds what breaks the rules in the stays of a domain's records: one line for each violation. */
export function* findStayViolations({ state, stays }: StoredHistory): Generator<string> {
  const canonical = new Set(stays.filter(({ record }) => isCanonicalRecord(record)));
  const times = observedTimes(state, stays);
  for (const stay of stays) {
    if (!canonical.has(stay)) yield `${stayText(stay)} is not in canonical form`;
    for (const source of [stay.source, stay.removal?.source ?? null]) {
      if (!isSourceOrNull(source)) {
        yield `${stayText(stay)} has a source that is not 1 to 64 printable characters`;
      }
    }
    for (const violation of timesOf(state, stay, times.get(stay.record.type) ?? [])) {
      yield `${stayText(stay)} was ${violation}`;
    }
  }
  yield* overlaps(stays);
  yield* positions(stays, canonical);
  yield* digests(state, stays, canonical);
}

/**
 * The times, in order, at which each type is known to have been observed. Those of all types at once are
 * not among them: such an observation may have come too late for this type.
 */
function observedTimes(state: DomainState, stays: readonly RecordStay[]): Map<string, Instant[]> {
  const times = new Map<string, Instant[]>();
  for (const [type, { named }] of state.types) times.set(type, Object.values(named ?? {}));
  for (const stay of stays) {
    const ofType = times.get(stay.record.type) ?? [];
    times.set(stay.record.type, ofType);
    for (const time of timesOfStay(stay)) ofType.push(time);
  }
  for (const ofType of times.values()) ofType.sort(compareInstants);
  return times;
}

/** Each change of a type is at a time between the first and the latest observation by name, or of all. */
function* timesOf(
  { everyType, types }: DomainState,
  { firstSeen, firstSighted, lastSighted, removal, record: { type } }: RecordStay,
  times: readonly Instant[],
): Generator<string> {
  const { named = null, sighted = null } = types.get(type) ?? {};
  const isOutside = (time: Instant, isSighting = false) =>
    isSighting ? !isWithin(sighted, time) : !isWithin(everyType, time) && !isWithin(named, time);
  if (isOutside(firstSeen, firstSighted)) yield `first seen outside the observations of ${type}`;
  if (removal === null) {
    if (lastSighted != null && (lastSighted < firstSeen || isOutside(lastSighted, true))) {
      yield `last sighted ${timeText(lastSighted)}, outside the sightings of ${type}`;
    }
    return;
  }
  const { lastSeen, removed, lastSighted: isSighting = false } = removal;
  if (isOutside(removed)) yield `removed outside the observations of ${type}`;
  const before = latestBefore(times, removed);
  if (lastSeen < firstSeen || lastSeen >= removed || isOutside(lastSeen, isSighting)) {
    yield `last seen ${timeText(lastSeen)}, not between its first sight and its removal`;
  } else if (isSighting ? before !== null && before >= lastSeen : before !== lastSeen) {
    yield `last seen ${timeText(lastSeen)}, not by the observation before its removal`;
  }
}

/** The latest of the times, which are in order, that is before another; by binary search. */
export function latestBefore(times: readonly Instant[], end: Instant): Instant | null {
  let low = 0;
  for (let high = times.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? end) < end) low = middle + 1;
    else high = middle;
  }
  return times[low - 1] ?? null;
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
  let before: RecordStay | null = null;
  for (const stay of stays) {
    const isTogether = before?.firstSeen === stay.firstSeen && before.record.type === stay.record.type;
    const previous: RecordStay | null = isTogether ? before : null;
    const expected = previous === null ? 0 : previous.position + 1;
    if (stay.position !== expected) {
      yield `${stayText(stay)} has position ${stay.position} in place of ${expected}`;
    }
    const comparable = previous !== null && canonical.has(previous) && canonical.has(stay);
    if (comparable && compareDnsRecords(previous.record, stay.record) >= 0) {
      yield `${stayText(stay)} is after a record that it should precede`;
    }
    before = stay;
  }
}

function* digests(
  state: DomainState,
  stays: readonly RecordStay[],
  canonical: ReadonlySet<RecordStay>,
): Generator<string> {
  const present = new Map<string, RecordStay[]>(Array.from(state.types.keys(), (type) => [type, []]));
  for (const stay of stays) {
    if (stay.removal !== null) continue;
    const ofType = present.get(stay.record.type) ?? [];
    present.set(stay.record.type, ofType);
    ofType.push(stay);
  }
  for (const [type, open] of present) {
    const records = open.map(({ record }) => record);
    if (open.every((stay) => canonical.has(stay))) records.sort(compareDnsRecords);
    if (digestOfRecords(records) !== (state.types.get(type)?.digest ?? '')) {
      yield `the digest of ${type} is not that of its present records`;
    }
  }
}
