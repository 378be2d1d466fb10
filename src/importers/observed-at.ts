import { InvalidObservationError } from '../model/errors.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import { readAt, requireText } from '../model/json-values.js';

/** How far an observer's clock may be ahead: five minutes, in microseconds. */
const CLOCK_TOLERANCE = 300_000_000n;

/**
 * The time of an observation, as RFC 3339 writes it.
 *
 * @param key Where the line has it, for the message of a refusal.
 * @param now The present, which no observation may be ahead of by more than five minutes.
 * @throws InvalidObservationError for anything else.
 */
export function parseObservedAt(key: string, value: unknown, now: Instant): Instant {
  return readAt(key, () => {
    const observedAt = parseInstant(requireText(value));
    if (observedAt <= now + CLOCK_TOLERANCE) return observedAt;
    throw new InvalidObservationError(
      `${formatInstant(observedAt)} is more than five minutes in the future.`,
    );
  });
}
