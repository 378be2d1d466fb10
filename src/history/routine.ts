import { hash } from 'node:crypto';
import type { RoutineReason } from '../model/change-kinds.js';
import { compareInstants, type Instant } from '../model/instant.js';

/**
 * The number of these rules: another one for each change of them, after which all is judged anew. The migration
 * that comes with it sets it in a database without domains.
 */
export const RULES = 1;

/** What of a record follows something else, by type: it is left out where two are compared. */
const FOLLOWING: Readonly<Record<string, readonly [RoutineReason, RegExp]>> = {
  // Another one for each edit of any record of the zone, and where it is signed again (RFC 1035, section
  // 3.3.13).
  SOA: ['SERIAL_ONLY', /"serial":\d+/],
  // The addresses of the target, again (RFC 9460, section 7.3).
  HTTPS: ['ADDRESS_HINT', / ipv[46]hint=[^ "]*/g],
  SVCB: ['ADDRESS_HINT', / ipv[46]hint=[^ "]*/g],
};

/**
 * Why a change of a record is routine by what is in it: another one stands in its place that says the same.
 *
 * @param others Of one that was added, what its RRset had before; of one that was removed, what it has after.
 */
export function routineOfRecord(
  type: string,
  rdata: string,
  others: readonly string[],
): RoutineReason | null {
  const [reason] = FOLLOWING[type] ?? [];
  if (reason === undefined) return null;
  const said = withoutFollowing(type, rdata);
  return others.some((other) => withoutFollowing(type, other) === said) ? reason : null;
}

/** What a record says by itself. */
export function withoutFollowing(type: string, rdata: string): string {
  const [, following] = FOLLOWING[type] ?? [];
  return following === undefined ? rdata : rdata.replace(following, '');
}

/** Fields that follow the content of a response (RFC 9110, sections 8.6 and 8.8; RFC 9530; RFC 1864). */
const VALIDATORS: ReadonlySet<string> = new Set(
  'etag last-modified content-length content-md5 digest content-digest repr-digest'.split(' '),
);

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
  return withoutNonce(before) === withoutNonce(after) ? 'NONCE_ONLY' : null;
}

export function withoutNonce(value: string): string {
  return value.replace(NONCE, '');
}

/** What is known of an RRset, or of a header, from its changes that were not routine by what is in them. */
export interface EarlierChanges {
  /** Of an RRset; empty: it is of a header. */
  readonly type: string;
  /** The owner name, or the field name in lower case. */
  readonly name: string;
  /**
   * The times of the latest ones, the latest first, joined by commas: as many as are examined. The first
   * observation is no change. As text, since most are only kept, and are read and written as such.
   */
  readonly times: string;
  readonly count: number;
  /** When it last had a value that it never had before; the first of the changes counts as one. */
  readonly latestNew: Instant;
  /**
   * Digests of the values that it had, in the order in which they first came, one after the other: those of the
   * latest 1,000.
   */
  readonly digests: string;
}

/** How many earlier changes are examined: six intervals lie between them. */
const EXAMINED = 7;
/** Of how many changes it is known what they change. */
export const KNOWN_BY = 10;
/** As many as RRset.pool tells. A set that had more is never seen whole. */
const MAX_VALUES = 1_000;

/** @param before The values that it had before its first change. */
export function noChanges(
  type: string,
  name: string,
  date: Instant,
  before: readonly string[],
): EarlierChanges {
  return { type, name, times: '', count: 0, latestNew: date, digests: before.map(digestOf).sort().join('') };
}

/**
 * Judges a change by those before it.
 *
 * @param values What it has from then on, that it had not just before.
 * @returns whether it is one of many, and what is known with it.
 */
export function judgeByEarlier(
  earlier: EarlierChanges,
  date: Instant,
  values: readonly string[],
): { readonly isRotation: boolean; readonly earlier: EarlierChanges } {
  const { type, name, count, latestNew, digests } = earlier;
  const times = earlier.times === '' ? [] : earlier.times.split(',', EXAMINED);
  const found = values.map(digestOf).filter((digest) => !hasDigest(digests, digest));
  const isNew = found.length > 0;
  return {
    isRotation: isRotation(times.map(BigInt), earlier, date, isNew),
    earlier: {
      type,
      name,
      times: [date, ...times.slice(0, EXAMINED - 1)].join(),
      count: count + 1,
      latestNew: isNew ? date : latestNew,
      digests: isNew ? (digests + found.sort().join('')).slice(-MAX_VALUES * DIGEST_LENGTH) : digests,
    },
  };
}

/** The first eight octets of the SHA-256 in base64url: eleven characters. */
const DIGEST_LENGTH = 11;

function digestOf(value: string): string {
  return hash('sha256', value, 'base64url').slice(0, DIGEST_LENGTH);
}

function hasDigest(digests: string, digest: string): boolean {
  for (let at = digests.indexOf(digest); at >= 0; at = digests.indexOf(digest, at + 1)) {
    if (at % DIGEST_LENGTH === 0) return true;
  }
  return false;
}

const DAY = 86_400_000_000n;

/**
 * Whether a change is one of many. `bench/signal.js` has the figures for the numbers in it.
 *
 * The change with which an RRset or a header begins to rotate is not, nor is the first one after it was quiet.
 * Nor is a value that it never had, where it has long been seen whole: a foreign address in a known pool.
 *
 * @param isNew Whether it has a value that it never had before.
 */
export function isRotation(
  times: readonly Instant[],
  { count, latestNew }: Pick<EarlierChanges, 'count' | 'latestNew'>,
  date: Instant,
  isNew: boolean,
): boolean {
  const gap = medianGap(times);
  if (gap === null) return false;
  const longest = (one: bigint, other: bigint) => (one > other ? one : other);
  const since = date - longest(8n * gap, 2n * DAY);
  if (times.filter((time) => time >= since).length < 3) return false;
  const isWhole = count >= KNOWN_BY && latestNew < date - longest(12n * gap, 3n * DAY);
  return !(isNew && isWhole);
}

/** The median of the latest six times between changes; null: there are too few changes. */
function medianGap(times: readonly Instant[]): bigint | null {
  const gaps = times.slice(1).map((time, index) => (times[index] ?? time) - time);
  return gaps.sort(compareInstants)[gaps.length >> 1] ?? null;
}
