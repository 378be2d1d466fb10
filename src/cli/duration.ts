import { durationOf } from '../model/duration.js';
import { UsageError } from '../model/errors.js';

const SECOND = 1_000_000n;
/** A hundred years: longer than anybody means, and short of the last time that can be written. */
const LONGEST = 36_525n * 86_400n * SECOND;

/**
 * The microseconds of a duration like `90d`, `12h`, `30m` or `10s`.
 *
 * @throws UsageError for any other text, for less than a second, and for more than a hundred years.
 */
export function parseDuration(text: string): bigint {
  const duration = durationOf(text);
  if (duration !== undefined && duration >= SECOND && duration <= LONGEST) return duration;
  throw new UsageError(
    `${JSON.stringify(text)} is no duration: write seconds, minutes, hours or days, such as 10s, 30m, 12h or 90d.`,
  );
}
