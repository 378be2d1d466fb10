import { compareInstants, type Instant } from '../model/instant.js';
import type { DnsEntry } from './dns-entries.js';
import type { HeaderEntry } from './header-entries.js';
import type { TimesOfParts } from './observed-parts.js';

/** The net difference between the states of a domain at two instants, in the order of Get domain. */
export interface StateDiff {
  readonly from: Instant;
  readonly to: Instant;
  /** Present at `to` only. */
  readonly dnsRecordsAdded: readonly DnsEntry[];
  /** Present at `from` only. */
  readonly dnsRecordsRemoved: readonly DnsEntry[];
  readonly httpHeaders: readonly HeaderDifference[];
}

/** The difference between the states of one header. */
interface HeaderDifference {
  readonly name: string;
  readonly difference: 'ADDED' | 'CHANGED' | 'REMOVED';
  /** The value at `from`; null where the header was not there. */
  readonly old: string | null;
  /** The value at `to`; null where the header was not there. */
  readonly new: string | null;
}

/** The lists of a history. */
interface Entries {
  readonly dnsRecords: readonly DnsEntry[];
  readonly httpHeaders: readonly HeaderEntry[];
}

/** So many entries are compared in so many milliseconds. */
const ENTRIES_OF_PART = 4_000;
const MILLISECONDS_OF_PART = 2;

/**
 * Compares the states of a history at two instants, the earlier first. Records are as of the later one.
 *
 * @param times Of the history's parts; null: when the records were last seen is not needed.
 * @yields before each part of the work how many milliseconds it takes.
 */
export function* compareStates(
  { dnsRecords, httpHeaders }: Entries,
  from: Instant,
  to: Instant,
  times: TimesOfParts | null,
): Generator<number, StateDiff> {
  yield (Math.min(weightOf({ dnsRecords, httpHeaders }), ENTRIES_OF_PART) / ENTRIES_OF_PART) *
    MILLISECONDS_OF_PART;
  const came: DnsEntry[] = [];
  const went: DnsEntry[] = [];
  for (const [at, entry] of dnsRecords.entries()) {
    if (at % ENTRIES_OF_PART === 0 && at > 0) yield MILLISECONDS_OF_PART;
    const [before, after] = [isPresent(entry, from), isPresent(entry, to)];
    if (after && !before) came.push(entry);
    if (before && !after) went.push(entry);
  }
  // Of a record that went and returned, one stay is at each of the instants.
  const smaller = came.length < went.length ? came : went;
  const known = yield* identitiesOf(smaller);
  const both = yield* identitiesOf(smaller === came ? went : came, known);
  const isOfOne = (entry: DnsEntry) => both.size === 0 || !both.has(identityOf(entry));
  if (both.size > 0) yield ((came.length + went.length) / ENTRIES_OF_PART) * MILLISECONDS_OF_PART;
  return {
    from,
    to,
    dnsRecordsAdded: came
      .filter(isOfOne)
      .map((entry) => ({ ...entry, removed: null, lastSeen: lastSeenAt(entry, to, times) })),
    dnsRecordsRemoved: went.filter(isOfOne),
    httpHeaders: yield* compareHeaders(httpHeaders, from, to),
  };
}

function* compareHeaders(
  headers: readonly HeaderEntry[],
  from: Instant,
  to: Instant,
): Generator<number, HeaderDifference[]> {
  const differences: HeaderDifference[] = [];
  let visited = 0;
  for (const header of headers) {
    visited += weightOfHeader(header);
    if (visited > ENTRIES_OF_PART) {
      yield (visited / ENTRIES_OF_PART) * MILLISECONDS_OF_PART;
      visited = 0;
    }
    for (const difference of differenceOf(header.name, valueAt(header, from), valueAt(header, to))) {
      differences.push(difference);
    }
  }
  return differences;
}

/** How many entries and items of history are compared. */
export function weightOf({ dnsRecords, httpHeaders }: Entries): number {
  return httpHeaders.reduce((sum, header) => sum + weightOfHeader(header), dnsRecords.length);
}

function weightOfHeader({ history, absences }: HeaderEntry): number {
  return history.length + absences.length;
}

/** When a record that was present at an instant was last seen up to it: the latest time that is known. */
function lastSeenAt(
  { type, firstSeen, lastSeen }: DnsEntry,
  at: Instant,
  times: TimesOfParts | null,
): Instant {
  const { first = firstSeen, latest = firstSeen } = times?.types.get(type) ?? {};
  const known = [firstSeen, lastSeen ?? firstSeen, first, latest].filter((time) => time <= at);
  return known.sort(compareInstants).at(-1) ?? firstSeen;
}

/** The identities of entries, of those that are among others if these are given; none where there are no others. */
function* identitiesOf(
  entries: readonly DnsEntry[],
  others?: ReadonlySet<string>,
): Generator<number, Set<string>> {
  const identities = new Set<string>();
  if (others?.size === 0) return identities;
  for (const [at, entry] of entries.entries()) {
    if (at % ENTRIES_OF_PART === 0 && at > 0) yield 2 * MILLISECONDS_OF_PART;
    const identity = identityOf(entry);
    if (others === undefined || others.has(identity)) identities.add(identity);
  }
  return identities;
}

function isPresent({ firstSeen, removed }: DnsEntry, at: Instant): boolean {
  return firstSeen <= at && (removed === null || removed > at);
}

/** Text that two entries share if and only if they are of the same record. */
function identityOf({ firstSeen: _first, removed: _removed, lastSeen: _last, ...record }: DnsEntry): string {
  return JSON.stringify(record);
}

/** The value of a header at an instant; null where it was not there. */
function valueAt({ history, absences }: HeaderEntry, at: Instant): string | null {
  if (absences.some(({ from, to }) => from <= at && (to === null || to > at))) return null;
  return history.findLast(({ date }) => date <= at)?.new ?? null;
}

function differenceOf(name: string, old: string | null, value: string | null): HeaderDifference[] {
  if (old === value) return [];
  const difference = old === null ? 'ADDED' : value === null ? 'REMOVED' : 'CHANGED';
  return [{ name, difference, old, new: value }];
}
