import { SCOPES, type Scope } from '../auth/viewer.js';
import { durationOf } from '../model/duration.js';
import { UsageError } from '../model/errors.js';

const SECOND = 1_000_000n;
/** A hundred years: longer than anybody means, and short of the last time that can be written. */
const LONGEST_DAYS = 36_525n;
const LONGEST = LONGEST_DAYS * 86_400n * SECOND;
/** More digits than durationOf() reads. */
const TOO_MANY_DIGITS = /^[1-9]\d{12,}(ms|s|m|h|d)$/;

/**
 * The microseconds of a duration like `90d`, `12h`, `30m` or `10s`.
 *
 * @throws UsageError for any other text, for less than a second, and for more than a hundred years.
 */
export function parseDuration(text: string): bigint {
  const duration = durationOf(text);
  if (duration !== undefined && duration >= SECOND && duration <= LONGEST) return duration;
  const isTooLong = duration === undefined ? TOO_MANY_DIGITS.test(text) : duration > LONGEST;
  throw new UsageError(
    isTooLong
      ? `${JSON.stringify(text)} is too long: write at most ${LONGEST_DAYS}d, a hundred years.`
      : `${JSON.stringify(text)} is not a duration: write seconds, minutes, hours or days, such as 10s, 30m, 12h or 90d.`,
  );
}

/**
 * Adds scopes, separated by commas, to those of the option before. Commander's own check of choices is lost when
 * several values are collected.
 *
 * @throws UsageError for a scope that does not exist, and for none.
 */
export function collectScopes(text: string, previous: readonly Scope[] = []): readonly Scope[] {
  return [...previous, ...(text.match(/[^\s,]+/g) ?? [text]).map(parseScope)];
}

function parseScope(text: string): Scope {
  const scope = SCOPES.find((candidate) => candidate === text);
  if (scope !== undefined) return scope;
  throw new UsageError(`${JSON.stringify(text)} is not a scope: write one or more of ${SCOPES.join(', ')}.`);
}
