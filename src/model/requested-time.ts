import { attempt } from './attempt.js';
import { durationOf } from './duration.js';
import { EARLIEST_INSTANT, type Instant, parseInstant } from './instant.js';
import { invalidText } from './text.js';

const DATE = /^\d{4}-\d\d-\d\d$/;
/** What can only be meant as a time or a date: it has more precise complaints. */
const WITH_DATE = /^\d{4}-\d\d-\d\d/;

const NOTHING = /^(?:now|0(?:ms|s|m|h|d|w))$/;

/** In microseconds, how far back from now a text asks for; undefined: it is no duration. */
export function timeBack(text: string): bigint | undefined {
  return NOTHING.test(text) ? 0n : durationOf(text);
}

/**
 * The instant that a user means by an RFC 3339 time, by a date (its midnight, UTC), or by a duration back from
 * now, such as `36h`, `30d` or `2w`; `now` is `0s`.
 *
 * @param now Wall-clock time.
 * @throws InvalidObservationError for any other text, and for an instant outside the years 0000 to 9999.
 */
export function parseRequestedTime(text: string, now: Instant): Instant {
  const duration = timeBack(text);
  if (duration !== undefined) {
    if (duration <= now - EARLIEST_INSTANT) return now - duration;
    throw invalidText(text, 'in the years 0000 to 9999, back from now');
  }
  if (!WITH_DATE.test(text)) {
    throw invalidText(
      text,
      'a time: write it like 2024-03-01T10:20:30Z, a date like 2024-03-01, a duration back from now like 36h, 30d or 2w, or now',
    );
  }
  if (!DATE.test(text)) return parseInstant(text);
  const midnight = attempt(() => parseInstant(`${text}T00:00:00Z`));
  if (midnight !== undefined) return midnight;
  throw invalidText(text, 'a date of the calendar: write year, month and day like 2024-03-01');
}
