import { UsageError } from '../model/errors.js';

const MICROSECONDS_OF_UNIT: ReadonlyMap<string, bigint> = new Map([
  ['m', 60_000_000n],
  ['h', 3_600_000_000n],
  ['d', 86_400_000_000n],
]);

/** A hundred years: longer than anybody means, and short of the last time that can be written. */
const LONGEST = 36_525n * 86_400_000_000n;

/**
 * The microseconds of a duration like `90d`, `12h` or `30m`.
 *
 * @throws UsageError for any other text, for none at all, and for more than a hundred years.
 */
export function parseDuration(text: string): bigint {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,8})([mhd])$/.exec(text) ?? [];
  const duration = BigInt(digits) * (MICROSECONDS_OF_UNIT.get(unit) ?? 0n);
  if (duration > 0n && duration <= LONGEST) return duration;
  throw new UsageError(
    `${JSON.stringify(text)} is no duration: write minutes, hours or days, such as 30m, 12h or 90d.`,
  );
}
