import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { canonicalFieldName, canonicalFieldValue } from '../model/header-fields.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { canonicalIp } from '../model/ip-address.js';
import { digestOfHeaders, unseenOf } from './digest.js';
import { type HeaderState, latestOfType, OTHER_TYPES, type RecordStay } from './state.js';
import { findStayViolations, latestBefore } from './stay-violations.js';
import type { StoredHeaderChange, StoredHistory } from './stored-history.js';
import { isCanonical, isSourceOrNull, isWithin, isWritable, timeText } from './violation-text.js';

/** Finds what breaks the rules in a domain's stored history: one line for each violation. */
export function findViolations(history: StoredHistory): string[] {
  return [
    ...nameAndVersion(history),
    ...timesOfDomain(history),
    ...types(history),
    ...findStayViolations(history),
    ...headerChanges(history),
    ...https(history),
    ...responses(history),
  ];
}

function* nameAndVersion({ name, version, recordedAt }: StoredHistory): Generator<string> {
  if (!isCanonical(name, parseDomainName)) yield 'the name is not in canonical form';
  if (version < 1n || recordedAt < 0n || !isWritable(recordedAt)) {
    yield `version ${version} or time of recording ${recordedAt} is not positive, or too large`;
  }
}

function* timesOfDomain({ state, stays, headers }: StoredHistory): Generator<string> {
  const ofTypes = [...state.types.values()].flatMap(({ named, sighted = null }) => [named, sighted]);
  const parts = [state.everyType, state.http, ...ofTypes].filter((times) => times !== null);
  if (parts.length === 0) {
    yield 'no part has the time of an observation';
    return;
  }
  if (parts.some(({ first, latest }) => first > latest)) {
    yield "a part's first observation is later than its latest";
  }
  for (const time of parts.flatMap(({ first, latest }) => [first, latest])) {
    if (!isWritable(time)) yield `the time of a part's observation is ${timeText(time)}`;
  }
  const changes = [...stays.flatMap(changeTimes), ...headers.map(({ observedAt }) => observedAt)];
  for (const [what, stored, derived] of [
    ['created', state.created, inOrder(parts.map(({ first }) => first))[0] ?? null],
    ['lastUpdate', state.lastUpdate, inOrder(parts.map(({ latest }) => latest)).at(-1) ?? null],
    ['lastChange', state.lastChange, inOrder(changes).at(-1) ?? null],
  ] as const) {
    if (stored !== derived) yield `${what} is ${timeText(stored)}; the history says ${timeText(derived)}`;
  }
}

function inOrder(times: readonly Instant[]): Instant[] {
  return [...times].sort(compareInstants);
}

function changeTimes({ firstSeen, removal }: RecordStay): Instant[] {
  return removal === null ? [firstSeen] : [firstSeen, removal.removed];
}

function* types({ state, stays }: StoredHistory): Generator<string> {
  // Types that are not OTHER_TYPES are known with these; an interrupted import lacks their own observations.
  const mayLack = state.types.has(OTHER_TYPES);
  for (const type of state.types.keys()) {
    if (canonicalType(type) !== type && type !== OTHER_TYPES)
      yield `the type ${JSON.stringify(type)} is not in canonical form`;
    if (!mayLack && latestOfType(state, type) === null && state.types.get(type)?.sighted == null) {
      yield `the type ${JSON.stringify(type)} is there, but was never observed`;
    }
  }
  for (const type of new Set(stays.map(({ record }) => record.type))) {
    if (!state.types.has(type)) {
      yield `there are records of the type ${JSON.stringify(type)}, which the domain does not list`;
    }
  }
}

function* headerChanges({ state, headers }: StoredHistory): Generator<string> {
  const held = new Map<string, HeaderState>();
  const observed = headers.flatMap(({ observedAt, lastSeen }) => [observedAt, lastSeen ?? observedAt]);
  const times = inOrder([...observed, ...(state.http === null ? [] : [state.http.first, state.http.latest])]);
  for (const change of headers) {
    const before = held.get(change.name);
    const header = `header ${JSON.stringify(change.name)}`;
    for (const violation of [...violationsOfForm(change), ...violationsOfOrder(change, before)]) {
      yield `${header} at ${timeText(change.observedAt)}: ${violation}`;
    }
    if (!isWithin(state.http, change.observedAt)) yield `${header} changed outside the observations of HTTP`;
    const lastSeen = before?.present === false ? before.lastSeen : latestBefore(times, change.observedAt);
    if (change.lastSeen !== null && lastSeen !== change.lastSeen) {
      yield `${header} was last seen ${timeText(change.lastSeen)}, not by the observation before its change at ${timeText(change.observedAt)}`;
    }
    const value = change.value ?? before?.value ?? '';
    held.set(change.name, { value, present: change.value !== null, lastSeen: change.lastSeen });
  }
  const present = [...held].filter(([, header]) => header.present);
  const known = state.http?.digest ?? '';
  const values = new Map(present.map(([name, { value }]) => [name, value]));
  if (digestOfHeaders(values, new Set(unseenOf(known))) !== known) {
    yield 'the digest of the headers is not that of the present ones';
  }
}

function* violationsOfForm({ name, value, lastSeen, source }: StoredHeaderChange): Generator<string> {
  if (!isCanonical(name, canonicalFieldName)) yield 'its name is not in canonical form';
  if (value !== null && !isCanonical(value, canonicalFieldValue)) yield 'its value is not in canonical form';
  if (value === null && lastSeen === null) yield 'it is gone, and has no time at which it was last seen';
  if (!isSourceOrNull(source)) yield 'its source is not 1 to 64 printable characters';
}

function* violationsOfOrder(
  { value, lastSeen }: StoredHeaderChange,
  before: HeaderState | undefined,
): Generator<string> {
  if (value !== null) {
    const isAnother = before !== undefined && before.value !== value;
    if (lastSeen !== null && !isAnother)
      yield 'no other value was before, and has a time at which it was last seen';
    if (before?.present === true && value === before.value) yield 'the new value is the old one';
  } else if (before === undefined) {
    yield 'its history does not begin with a value';
  } else if (!before.present) {
    yield 'it disappeared twice in a row';
  }
}

function* https({ state: { http, https } }: StoredHistory): Generator<string> {
  if (https === null) return;
  if (!isWithin(http, https.latest)) yield 'the latest observation over HTTPS is outside those of HTTP';
  const { declined } = https;
  if (declined === null) return;
  const { first, latest, count } = declined;
  if (first <= https.latest || !isWritable(latest)) {
    yield `HTTPS was declined from ${timeText(first)} to ${timeText(latest)}, answered at ${timeText(https.latest)}`;
  }
  if (count < 1 || (count === 1) !== (first === latest) || first > latest) {
    yield `HTTPS was declined in ${count} observations from ${timeText(first)} to ${timeText(latest)}`;
  }
}

function* responses({ state, stays, headers, responses }: StoredHistory): Generator<string> {
  const changes = new Set([...stays.flatMap(changeTimes), ...headers.map(({ observedAt }) => observedAt)]);
  for (const { observedAt, address } of responses) {
    const response = `the response at ${timeText(observedAt)}`;
    if (!isWithin(state.http, observedAt)) yield `${response} is outside the observations of HTTP`;
    if (!changes.has(observedAt)) yield `${response} is of an observation that changed nothing`;
    if (address !== null && !isCanonical(address, canonicalIp)) {
      yield `${response} is of ${JSON.stringify(address)}, which is not an IP address in canonical form`;
    }
  }
}
