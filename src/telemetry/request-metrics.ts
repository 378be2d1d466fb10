import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What a request is for: one of a few values, never a text of the client. */
export interface RequestKind {
  /** The API, a page, or an unknown path. */
  readonly door: 'rest' | 'graphql' | 'page' | 'none';
  readonly operation: string;
}

/** Counts requests. */
export interface RequestMetrics {
  /** A request has begun: answered() must be called when it ends. */
  began(): void;
  /**
   * @param kind one object for each kind: counts are found by it.
   * @param status 0: the client disconnected before there was one.
   */
  answered(kind: RequestKind, status: number, seconds: number): void;
  /** Something was rejected before it became a request: its duration is unknown. */
  rejected(kind: RequestKind, status: number): void;
}

/** Upper bounds in seconds: from a response out of memory to a timeout of the database. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The counts of one kind of request. The library would look up each label at every request. */
interface Tally {
  readonly statuses: Map<number, { count: number }>;
  readonly durations: { observe(seconds: number): void };
}

/**
 * Creates the counters of requests in a registry (once for each registry):
 *
 * - `dms_http_requests_in_flight`
 * - `dms_http_requests_total{door, operation, status}`
 * - `dms_http_request_duration_seconds{door, operation}`
 */
export function createRequestMetrics(registry: Registry): RequestMetrics {
  const tallies = new Map<RequestKind, Tally>();
  let inFlight = 0;
  registry.registerMetric(
    new Gauge({
      name: 'dms_http_requests_in_flight',
      help: 'HTTP requests in progress.',
      registers: [],
      collect() {
        this.set(inFlight);
      },
    }),
  );
  registry.registerMetric(
    new Counter({
      name: 'dms_http_requests_total',
      help: 'HTTP requests answered, by door, operation and status; status 0: the client disconnected before.',
      labelNames: ['door', 'operation', 'status'],
      registers: [],
      collect() {
        this.reset();
        for (const [{ door, operation }, { statuses }] of tallies) {
          for (const [status, { count }] of statuses) this.inc({ door, operation, status }, count);
        }
      },
    }),
  );
  const durations = new Histogram({
    name: 'dms_http_request_duration_seconds',
    help: 'Duration of HTTP requests, from their header section to the end of the response.',
    labelNames: ['door', 'operation'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const tallyOf = (kind: RequestKind): Tally => {
    const tally = { statuses: new Map(), durations: durations.labels(kind.door, kind.operation) };
    tallies.set(kind, tally);
    return tally;
  };
  const count = ({ statuses }: Tally, status: number) => {
    const counted = statuses.get(status);
    if (counted === undefined) statuses.set(status, { count: 1 });
    else counted.count += 1;
  };
  return {
    began() {
      inFlight += 1;
    },
    answered(kind, status, seconds) {
      inFlight -= 1;
      const tally = tallies.get(kind) ?? tallyOf(kind);
      count(tally, status);
      tally.durations.observe(seconds);
    },
    rejected(kind, status) {
      count(tallies.get(kind) ?? tallyOf(kind), status);
    },
  };
}

/** The rate limits, as in `RateLimit-Policy`. */
const POLICIES = ['anonymous', 'token', 'failures', 'documents'] as const;

export type RateLimitPolicy = (typeof POLICIES)[number];

/** Counts rejections by rate limits, and failures. */
export interface RejectionMetrics {
  /** A request or a limited field was rejected, since the client has reached this limit. */
  rateLimited(policy: RateLimitPolicy): void;
  /** A GraphQL response has an error that is not the client's, whatever its status. */
  graphqlFailed(code: 'INTERNAL' | 'UNAVAILABLE'): void;
}

/**
 * Creates the counters of rejections in a registry (once for each registry):
 *
 * - `dms_rate_limit_refusals_total{policy}`
 * - `dms_graphql_failures_total{code}`
 */
export function createRejectionMetrics(registry: Registry): RejectionMetrics {
  const rejections = new Counter({
    name: 'dms_rate_limit_refusals_total',
    help: 'Rejections by rate limits, by the name of the policy.',
    labelNames: ['policy'],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'dms_graphql_failures_total',
    help: 'Errors in GraphQL responses that are not the client’s, by code.',
    labelNames: ['code'],
    registers: [registry],
  });
  // 0 from the start: an alert on a rate needs a first value.
  for (const policy of POLICIES) rejections.inc({ policy }, 0);
  for (const code of ['INTERNAL', 'UNAVAILABLE']) failures.inc({ code }, 0);
  return {
    rateLimited: (policy) => rejections.inc({ policy }),
    graphqlFailed: (code) => failures.inc({ code }),
  };
}
