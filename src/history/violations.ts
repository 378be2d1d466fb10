import { compareDnsRecords, dnsRecordData, parseDnsRecord } from '../model/dns-record.js';
import { parseDomainName } from '../model/domain-name.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { identityOf } from './diff-records.js';
import { digestOfHeaders, digestOfRecords } from './digest.js';
import { latestOfType, type PartTimes, type RecordStay } from './state.js';
import type { StoredHeaderChange, StoredHistory } from './stored-history.js';

/**
 * Finds what breaks the rules in a domain's stored history.
 *
 * @returns one line for each breach; none when the history is sound.
 */
export function findViolations(history: StoredHistory): string[] {
  return [
    ...canonicalForm(history),
    ...timesOfDomain(history),
    ...history.stays.flatMap((stay) => [...timesOfStay(history, stay)]),
    ...overlaps(history.stays),
    ...positions(history.stays),
    ...digestsOfTypes(history),
    ...headers(history),
  ];
}

function* canonicalForm({ name, stays }: StoredHistory): Generator<string> {
  if (canonicalOrNull(() => parseDomainName(name)) !== name) {
    yield 'the name is not in canonical form';
  }
  for (const stay of stays) {
    const record = canonicalOrNull(() => parseDnsRecord(dnsRecordData(stay.record)));
    if (
      record === null ||
      record.type !== stay.record.type ||
      identityOf(record) !== identityOf(stay.record)
    ) {
      yield `${textOf(stay)} is not in canonical form`;
    }
  }
}

function canonicalOrNull<Value>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch {
    return null;
  }
}

function* timesOfDomain({ state, stays, headers, version, recordedAt }: StoredHistory): Generator<string> {
  const parts = [state.everyType, state.http, ...[...state.types.values()].map(({ named }) => named)].filter(
    (times): times is PartTimes => times !== null,
  );
  if (parts.length === 0) {
    yield 'no part has the time of an observation';
    return;
  }
  if (parts.some(({ first, latest }) => first > latest)) {
    yield "a part's first observation is later than its latest";
  }
  const changes = [...stays.flatMap(changeTimes), ...headers.map(({ observedAt }) => observedAt)];
  yield* expectTime('created', state.created, least(parts.map(({ first }) => first)));
  yield* expectTime('lastUpdate', state.lastUpdate, greatest(parts.map(({ latest }) => latest)));
  yield* expectTime('lastChange', state.lastChange, greatest(changes));
  if (version < 1n || recordedAt < 0n) {
    yield `version ${version} or time of recording ${recordedAt} is not positive`;
  }
}

function changeTimes({ firstSeen, removal }: RecordStay): Instant[] {
  return removal === null ? [firstSeen] : [firstSeen, removal.removed];
}

function* expectTime(what: string, stored: Instant | null, derived: Instant | null): Generator<string> {
  if (stored !== derived) {
    yield `${what} is ${timeText(stored)}; the history says ${timeText(derived)}`;
  }
}

function* timesOfStay({ state }: StoredHistory, stay: RecordStay): Generator<string> {
  const { firstSeen, removal, record } = stay;
  const latest = latestOfType(state, record.type);
  if (latest === null || firstSeen > latest) {
    yield `${textOf(stay)} was first seen after the latest observation of ${record.type}`;
  }
  if (removal !== null && (removal.lastSeen < firstSeen || removal.lastSeen >= removal.removed)) {
    yield `${textOf(stay)} was last seen ${timeText(removal.lastSeen)}, not between its first sight and its removal`;
  }
  if (removal !== null && (latest === null || removal.removed > latest)) {
    yield `${textOf(stay)} was removed after the latest observation of ${record.type}`;
  }
}

function* overlaps(stays: readonly RecordStay[]): Generator<string> {
  const latest = new Map<string, RecordStay>();
  for (const stay of stays) {
    const key = `${stay.record.type}\n${identityOf(stay.record)}`;
    const before = latest.get(key);
    if (before !== undefined && (before.removal === null || before.removal.removed > stay.firstSeen)) {
      yield `${textOf(stay)} begins while the same record is still present`;
    }
    latest.set(key, stay);
  }
}

function* positions(stays: readonly RecordStay[]): Generator<string> {
  let before: RecordStay | undefined;
  for (const stay of stays) {
    const together = before?.firstSeen === stay.firstSeen && before.record.type === stay.record.type;
    const expected = together && before !== undefined ? before.position + 1 : 0;
    if (stay.position !== expected) {
      yield `${textOf(stay)} has position ${stay.position} in place of ${expected}`;
    }
    if (together && before !== undefined && compareDnsRecords(before.record, stay.record) >= 0) {
      yield `${textOf(stay)} stands behind a record that it should precede`;
    }
    before = stay;
  }
}

function* digestsOfTypes({ state, stays }: StoredHistory): Generator<string> {
  const present = new Map([...state.types.keys()].map((type) => [type, [] as RecordStay[]]));
  for (const stay of stays.filter(({ removal }) => removal === null)) {
    const { type } = stay.record;
    present.set(type, [...(present.get(type) ?? []), stay]);
  }
  for (const [type, open] of present) {
    const records = open.map(({ record }) => record).sort(compareDnsRecords);
    if (digestOfRecords(records) !== (state.types.get(type)?.digest ?? '')) {
      yield `the digest of ${type} is not that of its present records`;
    }
  }
}

function* headers({ state, headers: changes }: StoredHistory): Generator<string> {
  const held = new Map<string, { value: string; present: boolean }>();
  for (const change of changes) {
    const before = held.get(change.name);
    const breach = breachOfHeader(change, before);
    if (breach !== null) {
      yield `header ${change.name} at ${formatInstant(change.observedAt)}: ${breach}`;
    }
    if (
      state.http === null ||
      change.observedAt < state.http.first ||
      change.observedAt > state.http.latest
    ) {
      yield `header ${change.name} changed outside the observations of HTTP`;
    }
    held.set(change.name, { value: change.value ?? before?.value ?? '', present: change.present });
  }
  const present = [...held].filter(([, header]) => header.present);
  const digest = digestOfHeaders(new Map(present.map(([name, { value }]) => [name, value])));
  if (digest !== (state.http?.digest ?? '')) {
    yield 'the digest of the headers is not that of the present ones';
  }
}

function breachOfHeader(
  { value, present }: StoredHeaderChange,
  before: { readonly value: string; readonly present: boolean } | undefined,
): string | null {
  if (before === undefined) {
    return value === null ? 'its history does not begin with a value' : null;
  }
  if (value !== null) {
    return value === before.value ? 'the new value is the old one' : null;
  }
  return present === before.present ? 'it went or came back twice in a row' : null;
}

function textOf({ record, firstSeen }: RecordStay): string {
  return `${record.host} ${record.class} ${record.type} ${record.rdata} of ${formatInstant(firstSeen)}`;
}

function timeText(time: Instant | null): string {
  return time === null ? 'none' : formatInstant(time);
}

function least(times: readonly Instant[]): Instant | null {
  return times.reduce<Instant | null>((found, time) => (found === null || time < found ? time : found), null);
}

function greatest(times: readonly Instant[]): Instant | null {
  return times.reduce<Instant | null>((found, time) => (found === null || time > found ? time : found), null);
}
