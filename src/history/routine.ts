import type { ChangeKind, RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';

/** When a part of a domain was seen first. */
export interface FirstTimes {
  /** Its first observation; null: there was none. */
  readonly observed: Instant | null;
  /** The first sighting of a record of it; null: there was none. */
  readonly sighted: Instant | null;
}

/**
 * Why a change is routine; null: it is notable.
 *
 * What the first observation of a part showed was there before: nothing is known to have changed. The same holds for the first
 * sighting of a type that was not observed before it. Both depend on nothing later, unless it is put before them.
 *
 * @param first of the part that the change is of.
 */
export function routineOf(kind: ChangeKind, date: Instant, first: FirstTimes): RoutineReason | null {
  if (kind === 'HISTORY_EXTENDED') return 'BACKFILL';
  if (kind !== 'DNS_RECORD_ADDED' && kind !== 'HEADER_CREATED') return null;
  const { observed, sighted } = first;
  const isFirst = date === observed || (date === sighted && (observed === null || sighted < observed));
  return isFirst ? 'INITIAL' : null;
}

/** What of a record follows something else, by type: it is left out where two are compared. */
const FOLLOWING: Readonly<Record<string, readonly [RoutineReason, RegExp]>> = {
  // Another one for each edit of any record of the zone, and where it is signed again (RFC 1035, section 3.3.13).
  SOA: ['SERIAL_ONLY', /"serial":\d+/],
  // The addresses of the target, again (RFC 9460, section 7.3).
  HTTPS: ['ADDRESS_HINT', / ipv[46]hint=[^ "]*/g],
  SVCB: ['ADDRESS_HINT', / ipv[46]hint=[^ "]*/g],
};

/**
 * Why a change of a record is routine by what is in it: another one stands in its place that says the same.
 *
 * @param rdata Of the record, as in DnsRecord.
 * @param others Of one that was added, what its RRset had before; of one that was removed, what it has after.
 */
export function routineOfRecord(
  type: string,
  rdata: string,
  others: readonly string[],
): RoutineReason | null {
  const [reason, following] = FOLLOWING[type] ?? [];
  if (reason === undefined || following === undefined) return null;
  const said = rdata.replace(following, '');
  return others.some((other) => other.replace(following, '') === said) ? reason : null;
}

/** Fields that follow the content of a response (RFC 9110, sections 8.6 and 8.8; RFC 9530; RFC 1864). */
const VALIDATORS: ReadonlySet<string> = new Set([
  ...['etag', 'last-modified', 'content-length', 'content-md5'],
  ...['digest', 'content-digest', 'repr-digest'],
]);

/** Of a policy: another one for each response (Content Security Policy Level 3, section 7.1). */
const NONCE = /'nonce-[^']*'/g;

/** Why a change of a header is routine by what is in it. @param name In lower case. */
export function routineOfHeader(
  name: string,
  before: string | null,
  after: string | null,
): RoutineReason | null {
  if (VALIDATORS.has(name)) return 'VALIDATOR';
  if (before === null || after === null) return null;
  return before.replace(NONCE, '') === after.replace(NONCE, '') ? 'NONCE_ONLY' : null;
}

/** What is known of an RRset, or of a header, before a change of it that is not routine by what is in it. */
export interface EarlierChanges {
  /** The times of others, the latest first: EXAMINED are enough. Its first observation is none of them. */
  readonly times: readonly Instant[];
  /** When it last had a value that it never had before, its first observation included. */
  readonly latestNew: Instant;
}

/** How many earlier changes are looked at. */
export const EXAMINED = 10;

const DAY = 86_400_000_000n;

/**
 * Whether a change is one of many. `bench/signal.js` has the figures for the numbers in it.
 *
 * The change with which an RRset or a header begins to rotate is not, nor is the first one after it was quiet. Nor is a value that it
 * never had, where it has long been seen whole: a foreign address in a known pool.
 *
 * @param isNew Whether it has a value that it never had before.
 */
export function isRotation({ times, latestNew }: EarlierChanges, date: Instant, isNew: boolean): boolean {
  const gap = medianGap(times);
  if (gap === null) return false;
  const since = date - longest(8n * gap, 2n * DAY);
  if (times.filter((time) => time >= since).length < 3) return false;
  const isWhole = times.length >= EXAMINED && latestNew < date - longest(12n * gap, 3n * DAY);
  return !(isNew && isWhole);
}

/** The median of the latest six times between changes; null: there are too few changes. */
function medianGap(times: readonly Instant[]): bigint | null {
  const gaps = times.slice(1, 7).map((time, at) => (times[at] ?? time) - time);
  const sorted = gaps.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[sorted.length >> 1] ?? null;
}

function longest(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
