/** How long a client may take, in milliseconds. */
export interface TimeLimits {
  /** From the connection, or the request's first byte, to the end of its header section. */
  readonly header: number;
  /** From the same to the end of its body. */
  readonly request: number;
  /** Between an answer and the next request on the same connection. */
  readonly idle: number;
  /** Without a byte in either direction. */
  readonly silence: number;
  /** To read a large answer while others wait for the memory that it takes. */
  readonly reading: number;
  /** How often the first two are checked. */
  readonly checkEvery: number;
}

/**
 * Enough for a client far away on a bad line. The idle time is longer than that of usual proxies (60
 * seconds), so that none sends a request on a connection that is being closed.
 */
export const TIME_LIMITS: TimeLimits = {
  header: 10_000,
  request: 30_000,
  idle: 65_000,
  silence: 60_000,
  reading: 20_000,
  checkEvery: 1_000,
};
