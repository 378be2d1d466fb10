/** Microseconds since the Unix epoch, UTC, without leap seconds. `Date` would lose the microseconds. */
export type Instant = bigint;
