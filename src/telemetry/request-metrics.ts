import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What a request is for: one of a few values, never a text of the client. */
export interface RequestKind {
  readonly api: 'rest' | 'graphql' | 'page' | 'none';
  readonly operation: string;
}

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

export function createRequestMetrics(registry: Registry) {
  const registers = [registry];
  const inFlight = new Gauge({
    name: 'dms_http_requests_in_flight',
    help: 'HTTP requests in progress.',
    registers,
  });
  const requests = new Counter({
    name: 'dms_http_requests_total',
    help: 'HTTP requests answered, by API, operation and status; status 0: the client disconnected before.',
    labelNames: ['api', 'operation', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'dms_http_request_duration_seconds',
    help: 'Duration of HTTP requests, from their header section to the end of the response; not of event streams.',
    labelNames: ['api', 'operation'],
    // In seconds: from a response out of memory to a timeout of the database.
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return {
    /** answered() must be called when it ends. */
    began: () => inFlight.inc(),
    /**
     * @param status 0: the client disconnected before there was one.
     * @param seconds Undefined: the duration says nothing.
     */
    answered({ api, operation }: RequestKind, status: number, seconds: number | undefined): void {
      inFlight.dec();
      requests.inc({ api, operation, status });
      if (seconds !== undefined) durations.observe({ api, operation }, seconds);
    },
    /** Before it became a request: its duration is unknown. */
    rejected: ({ api, operation }: RequestKind, status: number) => requests.inc({ api, operation, status }),
  };
}

/** As in `RateLimit-Policy`. */
const POLICIES = ['anonymous', 'token'] as const;

export function createRejectionMetrics(registry: Registry) {
  const rejections = new Counter({
    name: 'dms_rate_limit_rejections_total',
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
    rateLimited: (policy: (typeof POLICIES)[number]) => rejections.inc({ policy }),
    graphqlFailed: (code: 'INTERNAL' | 'UNAVAILABLE') => failures.inc({ code }),
  };
}
