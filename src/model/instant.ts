import { type InvalidObservationError, invalidParameter } from './errors.js';
import { memoized } from './memoized.js';
import { invalidText } from './text.js';

/** Microseconds since the Unix epoch, UTC, without leap seconds. `Date` would lose the microseconds. */
export type Instant = bigint;

/** 0000-01-01T00:00:00.000000Z and 9999-12-31T23:59:59.999999Z: what RFC 3339 can write. */
export const EARLIEST_INSTANT: Instant = -62_167_219_200_000_000n;
export const LATEST_INSTANT: Instant = 253_402_300_799_999_999n;

const SECONDS_PER_DAY = 86_400;
const MILLISECONDS_PER_DAY = 86_400_000;
const MICROSECONDS_PER_DAY = 86_400_000_000;
const DAYS_IN_400_YEARS = 146_097;

/** RFC 3339, section 5.6, but for the lengths of months. */
const RFC_3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * The instant that an RFC 3339 time names, in any offset and with any number of fraction digits; those after
 * the sixth are cut. A leap second, 23:59:60 UTC at the end of June or December, is the second that follows it.
 *
 * @throws InvalidObservationError for any other text, and for a time outside the years 0000 to 9999 UTC.
 */
export function parseInstant(text: string): Instant {
  if (!RFC_3339.test(text)) throw invalid(text, 'write it like 2024-03-01T10:20:30.123456Z');
  const inUtc = text.endsWith('Z') || text.endsWith('z');
  const zone = text.length - (inUtc ? 1 : 6);
  const offset = inUtc ? 0 : minutesAt(text, zone + 1) * (text.charAt(zone) === '-' ? -60 : 60);
  const second = minutesAt(text, 11) * 60 + digitsAt(text, 17, 19) - offset;
  const seconds = dayAt(text) * SECONDS_PER_DAY + second;
  if (text.startsWith('60', 17) && !followsLeapSecond(seconds))
    throw invalid(text, 'it is not a leap second');
  // The first six digits of the fraction, which ends where the zone begins.
  const end = Math.min(zone, 26);
  const microsecond = zone > 20 ? digitsAt(text, 20, end) * 10 ** (26 - end) : 0;
  const number = seconds * 1_000_000 + microsecond;
  if (Number.isSafeInteger(number)) return BigInt(number);
  const instant = BigInt(seconds) * 1_000_000n + BigInt(microsecond);
  if (instant >= EARLIEST_INSTANT && instant <= LATEST_INSTANT) return instant;
  throw invalid(text, 'it is outside the years 0000 to 9999 in UTC');
}

/** The days from the epoch to the date at the text's beginning. */
function dayAt(text: string): number {
  const year = digitsAt(text, 0, 4);
  const month = digitsAt(text, 5, 7);
  const day = digitsAt(text, 8, 10);
  const days = daysSinceEpoch(year, month, day);
  // Every month has 28 days: the calendar is needed for few dates.
  if (day <= 28 || days < daysSinceEpoch(year, month + 1, 1)) return days;
  throw invalid(text, 'the month has no such day');
}

/** Days from 1970-01-01 to a date of the proleptic Gregorian calendar (ISO 8601). The month may be 13. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  // Date.UTC takes the years 0 to 99 for 1900 to 1999. The calendar repeats every 400 years.
  return Date.UTC(year + 400, month - 1, day) / MILLISECONDS_PER_DAY - DAYS_IN_400_YEARS;
}

function minutesAt(text: string, start: number): number {
  return digitsAt(text, start, start + 2) * 60 + digitsAt(text, start + 3, start + 5);
}

function digitsAt(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = number * 10 + text.charCodeAt(at) - 0x30;
  return number;
}

/** RFC 3339, appendix D: leap seconds come at the end of June or December, UTC. */
function followsLeapSecond(seconds: number): boolean {
  return /-0[17]-01T00:00:00/.test(new Date(seconds * 1000).toISOString());
}

function invalid(text: string, reason: string): InvalidObservationError {
  return invalidText(text, `an RFC 3339 time: ${reason}`);
}

/** Computed once: a response of the API has some sixty times. */
function digits(count: number, width: number, suffix: string): readonly string[] {
  return Array.from({ length: count }, (_, number) => String(number).padStart(width, '0') + suffix);
}

const MINUTES_OF_DAY = digits(24, 2, ':').flatMap((hour) => digits(60, 2, ':').map((rest) => hour + rest));
const SECONDS = digits(60, 2, '.');
const MILLISECONDS = digits(1000, 3, '');
const MICROSECONDS = digits(1000, 3, 'Z');

/**
 * The instant in the only form in which the API writes one (specification, 2.1): `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
 * It must be within the years 0000 to 9999.
 */
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

/** `YYYY-MM-DDT` of the day that begins so many days after 1970-01-01. */
const dateText = memoized(
  (day: number) => new Date(day * MILLISECONDS_PER_DAY).toISOString().slice(0, 11),
  4096,
);

/** In microseconds: clocks differ. */
const FIVE_MINUTES = 300_000_000n;

/** @throws PublicError INVALID_PARAMETER for an instant more than five minutes ahead of the wall clock. */
export function requireReached(at: Instant, now: Instant): Instant {
  if (at <= now + FIVE_MINUTES) return at;
  throw invalidParameter(`${formatInstant(at)} is more than five minutes ahead: request an earlier time.`);
}

/** For sort(). */
export function compareInstants(left: Instant, right: Instant): number {
  return left < right ? -1 : Number(left > right);
}
