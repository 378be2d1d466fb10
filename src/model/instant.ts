import { type InvalidObservationError, invalidParameter } from './errors.js';
import { memoized } from './memoized.js';
import { invalidText } from './text.js';

/** Microseconds since the Unix epoch, UTC, without leap seconds. `Date` would lose the microseconds. */
export type Instant = bigint;

/** 0000-01-01T00:00:00.000000Z to 9999-12-31T23:59:59.999999Z: what RFC 3339 can write. */
export const EARLIEST_INSTANT: Instant = -62_167_219_200_000_000n;
export const LATEST_INSTANT: Instant = 253_402_300_799_999_999n;

const MICROSECONDS_PER_DAY = 86_400_000_000;

/** RFC 3339, section 5.6, but for the lengths of months. */
const RFC_3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * In any offset, with any number of fraction digits, of which those after the sixth are cut. A leap second,
 * 23:59:60 UTC at the end of June or December, is the second that follows it.
 *
 * @throws InvalidObservationError for any other text, and for a time outside the years 0000 to 9999 UTC.
 */
export function parseInstant(text: string): Instant {
  if (!RFC_3339.test(text)) throw invalid(text, 'write it like 2024-03-01T10:20:30.123456Z');
  const date = text.slice(0, 10);
  // Every month has 28 days. Date takes 30 February for a day in March.
  if (text.slice(8, 10) > '28' && !new Date(date).toISOString().startsWith(date))
    throw invalid(text, 'the month has no such day');
  const isUtc = text.endsWith('Z') || text.endsWith('z');
  const zone = text.length - (isUtc ? 1 : 6);
  const minute = Date.parse(`${date}T${text.slice(11, 16)}${isUtc ? 'Z' : text.slice(zone)}`);
  const seconds = minute / 1000 + Number(text.slice(17, 19));
  // RFC 3339, appendix D: leap seconds come at the end of June or December, UTC.
  if (text.startsWith('60', 17) && !/-0[17]-01T00:00:00/.test(new Date(seconds * 1000).toISOString()))
    throw invalid(text, 'it is not a leap second');
  const microsecond = zone > 20 ? Number(text.slice(20, Math.min(zone, 26)).padEnd(6, '0')) : 0;
  const number = seconds * 1_000_000 + microsecond;
  if (Number.isSafeInteger(number)) return BigInt(number);
  const instant = BigInt(seconds) * 1_000_000n + BigInt(microsecond);
  if (instant >= EARLIEST_INSTANT && instant <= LATEST_INSTANT) return instant;
  throw invalid(text, 'it is outside the years 0000 to 9999 in UTC');
}

function invalid(text: string, reason: string): InvalidObservationError {
  return invalidText(text, `an RFC 3339 time: ${reason}`);
}

/** A response of the API has some sixty times. */
function digits(count: number, width: number, suffix: string): readonly string[] {
  return Array.from({ length: count }, (_, number) => String(number).padStart(width, '0') + suffix);
}

const MINUTES_OF_DAY = digits(24, 2, ':').flatMap((hour) => digits(60, 2, ':').map((rest) => hour + rest));
const SECONDS = digits(60, 2, '.');
const MILLISECONDS = digits(1000, 3, '');
const MICROSECONDS = digits(1000, 3, 'Z');

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ` (specification, 2.1). @param instant Within the years 0000 to 9999. */
export function formatInstant(instant: Instant): string {
  const number = Number(instant);
  // Before 1684 and after 2255 a Number does not hold it exactly.
  if (!Number.isSafeInteger(number)) return formatDistant(instant);
  const day = Math.floor(number / MICROSECONDS_PER_DAY);
  const microsecond = number - day * MICROSECONDS_PER_DAY;
  const second = Math.floor(microsecond / 1_000_000);
  const minute = Math.floor(second / 60);
  const millisecond = Math.floor((microsecond % 1_000_000) / 1000);
  return `${dateText(day)}${MINUTES_OF_DAY[minute]}${SECONDS[second % 60]}${MILLISECONDS[millisecond]}${MICROSECONDS[microsecond % 1000]}`;
}

function formatDistant(instant: Instant): string {
  const microsecond = (instant - EARLIEST_INSTANT) % 1000n;
  const date = new Date(Number((instant - microsecond) / 1000n)).toISOString().slice(0, -1);
  return `${date}${MICROSECONDS[Number(microsecond)]}`;
}

/** `YYYY-MM-DDT`. @param day Since 1970-01-01. */
const dateText = memoized((day: number) => new Date(day * 86_400_000).toISOString().slice(0, 11), 4096);

/** Five minutes in microseconds. */
export const CLOCK_TOLERANCE = 300_000_000n;

/** @throws PublicError INVALID_PARAMETER for an instant more than five minutes ahead of the wall clock. */
export function requireReached(at: Instant, now: Instant): Instant {
  if (at <= now + CLOCK_TOLERANCE) return at;
  throw invalidParameter(`${formatInstant(at)} is more than five minutes ahead: request an earlier time.`);
}

export function compareInstants(left: Instant, right: Instant): number {
  return left < right ? -1 : Number(left > right);
}
