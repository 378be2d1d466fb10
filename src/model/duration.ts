/** In microseconds. */
const UNITS: Readonly<Record<string, bigint>> = {
  w: 604_800_000_000n,
  d: 86_400_000_000n,
  h: 3_600_000_000n,
  m: 60_000_000n,
  s: 1_000_000n,
  ms: 1_000n,
};

/** In microseconds: a duration like `2w`, `90d`, `12h`, `30m`, `10s` or `500ms`; undefined: it is none. */
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
