const MICROSECONDS_OF_UNIT: ReadonlyMap<string, bigint> = new Map([
  ['ms', 1_000n],
  ['s', 1_000_000n],
  ['m', 60_000_000n],
  ['h', 3_600_000_000n],
  ['d', 86_400_000_000n],
  ['w', 604_800_000_000n],
]);

const DURATION = /^([1-9]\d{0,11})(ms|s|m|h|d|w)$/;

/**
 * The microseconds of a duration like `2w`, `90d`, `12h`, `30m`, `10s` or `500ms`; undefined for any other text,
 * and for none at all.
 */
export function durationOf(text: string): bigint | undefined {
  const [, digits = '', unit = ''] = DURATION.exec(text) ?? [];
  const microseconds = MICROSECONDS_OF_UNIT.get(unit);
  return microseconds === undefined ? undefined : BigInt(digits) * microseconds;
}

/** A duration as durationOf() parses it, in the largest unit without a fraction, days at most. */
export function durationText(microseconds: bigint): string {
  const units = [...MICROSECONDS_OF_UNIT].reverse().filter(([unit]) => unit !== 'w');
  const [unit, size] = units.find(([, length]) => microseconds % length === 0n) ?? ['ms', 1_000n];
  return `${microseconds / size}${unit}`;
}
