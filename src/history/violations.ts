import { attempt } from '../model/attempt.js';
import { isCanonicalRecord } from '../model/dns-record.js';
import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { canonicalFieldName, canonicalFieldValue } from '../model/header-fields.js';
import type { Instant } from '../model/instant.js';
import { canonicalIp } from '../model/ip-address.js';
import { parseSourceName } from '../model/text.js';
import { digestOfHeaders, unseenOf } from './digest.js';
import { extendHistory } from './extend-history.js';
import {
  earlierText,
  factsText,
  headerText,
  type ItemText,
  isWritable,
  responseText,
  stayText,
  timeText,
} from './history-text.js';
import { type DomainState, latestOfType, OTHER_TYPES, type PartTimes } from './state.js';
import type { StoredHistory } from './stored-history.js';

/**
 * Finds what breaks the rules in a domain's stored history: one line for each violation. Values have to be in
 * their canonical form, and all else what the rules make of the observations that the history tells of: it is
 * extended by nothing, and compared.
 */
export function findViolations(history: StoredHistory): string[] {
  // What the rules cannot be applied to.
  const unusable = [...invalidTimes(history), ...invalidRecords(history)];
  return [
    ...invalidValues(history),
    ...invalidHeaders(history),
    ...unusable,
    ...https(history.state),
    ...headersDigest(history),
    ...(unusable.length === 0 ? contradictions(history) : []),
  ];
}

function* invalidValues({ name, version, recordedAt, stays, responses }: StoredHistory): Generator<string> {
  if (!isCanonical(name, parseDomainName)) yield 'the name is not in canonical form';
  if (version < 1n || recordedAt < 0n || !isWritable(recordedAt)) {
    yield `version ${version} or time of recording ${recordedAt} is not positive, or too large`;
  }
  for (const stay of stays) {
    if ([stay.source, stay.removal?.source].some(isNoSource)) yield `${stayText(stay)[0]} has ${NO_SOURCE}`;
  }
  for (const response of responses) {
    const { address } = response;
    if (address !== null && !isCanonical(address, canonicalIp))
      yield `${responseText(response)[0]} is of ${JSON.stringify(address)}, ${NO_ADDRESS}`;
  }
}

function* invalidHeaders({ headers }: StoredHistory): Generator<string> {
  for (const change of headers) {
    const [text] = headerText(change);
    const { name, value, source } = change;
    if (!isCanonical(name, canonicalFieldName)) yield `${text}: its name is not in canonical form`;
    if (value !== null && !isCanonical(value, canonicalFieldValue))
      yield `${text}: its value is not in canonical form`;
    if (isNoSource(source)) yield `${text} has ${NO_SOURCE}`;
  }
}

const NO_ADDRESS = 'which is not an IP address in canonical form';
const NO_SOURCE = 'a source that is not 1 to 64 printable characters';

function isNoSource(source: string | null | undefined): boolean {
  return source != null && !isCanonical(source, parseSourceName);
}

export function isCanonical(text: string, parse: (text: string) => string): boolean {
  return attempt(() => parse(text)) === text;
}

function* invalidTimes({ state, stays, headers, responses }: StoredHistory): Generator<string> {
  const ofTypes = [...state.types.values()].flatMap(({ named, sighted = null }) => [named, sighted]);
  const parts = [state.everyType, state.http, ...ofTypes].filter((times) => times !== null);
  if (parts.length === 0) yield 'no part has the time of an observation';
  if (parts.some(({ first, latest }) => first > latest))
    yield "a part's first observation is later than its latest";
  const times: Record<string, readonly (Instant | null | undefined)[]> = {
    "a part's observation": parts.flatMap(({ first, latest }) => [first, latest]),
    'a record': stays.flatMap(({ firstSeen, sightings = [], removal }) => [
      ...[firstSeen, removal?.removed, removal?.lastSeen, ...sightings.map(({ seenAt }) => seenAt)],
    ]),
    'a header': headers.flatMap(({ observedAt, lastSeen }) => [observedAt, lastSeen]),
    'a response': responses.map(({ observedAt }) => observedAt),
  };
  for (const [what, all] of Object.entries(times)) {
    for (const time of all)
      if (time != null && !isWritable(time)) yield `the time of ${what} is ${timeText(time)}`;
  }
}

function* invalidRecords({ state, stays }: StoredHistory): Generator<string> {
  // Types that are not OTHER_TYPES are known with these; an interrupted import lacks their own observations.
  const mayLack = state.types.has(OTHER_TYPES);
  for (const [type, { sighted }] of state.types) {
    if (canonicalType(type) !== type && type !== OTHER_TYPES)
      yield `the type ${JSON.stringify(type)} is not in canonical form`;
    if (!mayLack && latestOfType(state, type) === null && sighted == null)
      yield `the type ${JSON.stringify(type)} is there, but was never observed`;
  }
  for (const stay of stays) {
    if (!isCanonicalRecord(stay.record)) yield `${stayText(stay)[0]} is not in canonical form`;
  }
}

/** What the history tells of HTTPS, of which the replay knows nothing. */
function* https({ http, https }: DomainState): Generator<string> {
  if (https === null) return;
  if (!isWithin(http, https.latest)) yield 'the latest observation over HTTPS is outside those of HTTP';
  const { declined } = https;
  if (declined === null) return;
  const { first, latest, count } = declined;
  const times = `${timeText(first)} to ${timeText(latest)}`;
  if (first <= https.latest || !isWritable(latest)) {
    yield `HTTPS was declined from ${times}, answered at ${timeText(https.latest)}`;
  }
  if (count < 1 || (count === 1) !== (first === latest) || first > latest) {
    yield `HTTPS was declined in ${count} observations from ${times}`;
  }
}

function isWithin(times: PartTimes | null, time: Instant): boolean {
  return times !== null && times.first <= time && time <= times.latest;
}

/** The replay takes the digest as it is, since it tells which headers observers left out. */
function* headersDigest({ state, headers }: StoredHistory): Generator<string> {
  const present = new Map<string, string>();
  for (const { name, value } of headers) {
    if (value === null) present.delete(name);
    else present.set(name, value);
  }
  const known = state.http?.digest ?? '';
  if (digestOfHeaders(present, new Set(unseenOf(known))) !== known) {
    yield 'the digest of the headers is not that of the present ones';
  }
}

function* contradictions(history: StoredHistory): Generator<string> {
  const { state, stays, headers, responses, earlier } = extendHistory(history, [], { older: true });
  yield* differences(stateTexts(history.state), stateTexts(state));
  yield* differences(history.stays.map(stayText), stays.map(stayText));
  yield* differences(history.headers.map(headerText), headers.map(headerText));
  yield* differences(history.responses.map(responseText), responses.map(responseText));
  yield* differences(history.earlier.map(earlierText), earlier.map(earlierText));
  for (const response of history.responses) {
    if (!isWithin(state.http, response.observedAt))
      yield `${responseText(response)[0]} is outside the observations of HTTP`;
  }
}

function stateTexts({ types, everyType, http, https: _, ...times }: DomainState): ItemText[] {
  return [
    ...Object.entries({ ...times, everyType, http }).map(([key, value]): ItemText => [key, factsText(value)]),
    ...Array.from(
      types,
      ([type, { digest, named, sighted }]): ItemText => [
        `the type ${JSON.stringify(type)}`,
        factsText({ digest, named, sighted }),
      ],
    ),
  ];
}

function* differences(stored: readonly ItemText[], replayed: readonly ItemText[]): Generator<string> {
  const expected = new Map(replayed);
  for (const [name, facts] of stored) {
    const given = expected.get(name);
    expected.delete(name);
    if (given === undefined) yield `${name} is stored, and the observations do not give it`;
    else if (given !== facts) yield `${name} is ${facts}; the observations give ${given}`;
  }
  for (const [name, facts] of expected) yield `${name} is not stored; the observations give ${facts}`;
}
