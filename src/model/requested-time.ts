import { attempt } from './attempt.js';
import { EARLIEST_INSTANT, type Instant, parseInstant } from './instant.js';
import { invalidText } from './text.js';

/** In microseconds. */
const UNITS: Readonly<Record<string, bigint>> = {
  w: 604_800_000_000n,
  d: 86_400_000_000n,
  h: 3_600_000_000n,
  m: 60_000_000n,
  s: 1_000_000n,
  ms: 1_000n,
};

/** In microseconds, of a text like `2w`, `90d`, `12h`, `30m`, `10s` or `500ms`; undefined: it is none. */
export function durationOf(text: string): bigint | undefined {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,11})(ms|s|m|h|d|w)$/.exec(text) ?? [];
  const microseconds = UNITS[unit];
  return microseconds && BigInt(digits) * microseconds;
}

/** A duration as durationOf() parses it, in the largest unit without a fraction, days at most. */
export function durationText(microseconds: bigint): string {
  const [, ...units] = Object.entries(UNITS);
  const [unit, size] = units.find(([, length]) => microseconds % length === 0n) ?? ['ms', 1_000n];
  return `${microseconds / size}${unit}`;
}

const NOTHING = /^(?:now|0(?:ms|s|m|h|d|w))$/;

/** In microseconds, how far back from now a text asks for; undefined: it is no duration. */
export function timeBack(text: string): bigint | undefined {
  return NOTHING.test(text) ? 0n : durationOf(text);
}

const DATE = /^\d{4}-\d\d-\d\d$/;
/** What can only be meant as a time or a date: it has more precise complaints. */
const WITH_DATE = /^\d{4}-\d\d-\d\d/;

/**
 * By an RFC 3339 time, a date (its midnight, UTC), or a duration back from now, such as `36h`; `now` is `0s`.
 *
 * @throws InvalidObservationError for any other text, and for an instant outside the years 0000 to 9999.
 */
export function parseRequestedTime(text: string, now: Instant): Instant {
  const duration = timeBack(text);
  if (duration !== undefined) {
    if (duration <= now - EARLIEST_INSTANT) return now - duration;
    throw invalidText(text, 'in the years 0000 to 9999, back from now');
  }
  if (!WITH_DATE.test(text))
    throw invalidText(
      text,
      'a time: write it like 2024-03-01T10:20:30Z, a date like 2024-03-01, a duration back from now like 36h, 30d or 2w, or now',
    );
  if (!DATE.test(text)) return parseInstant(text);
  const midnight = attempt(() => parseInstant(`${text}T00:00:00Z`));
  if (midnight !== undefined) return midnight;
  throw invalidText(text, 'a date of the calendar: write year, month and day like 2024-03-01');
}
