import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What a request asks for, in as few words as there are routes: never in a client's own. */
export interface RequestKind {
  /** Which way in: REST, GraphQL, a page, or none that there is. */
  readonly door: 'rest' | 'graphql' | 'page' | 'none';
  readonly operation: string;
}

/** Counts the requests that are answered. */
export interface RequestMetrics {
  /** A request has come, which answered() will be called for. */
  began(): void;
  /**
   * @param kind one object for each kind there is: what is counted is found by it.
   * @param status 0: the client went before there was one.
   */
  answered(kind: RequestKind, status: number, seconds: number): void;
  /** Something was refused that has never become a request: nobody knows how long it took. */
  refused(kind: RequestKind, status: number): void;
}

/** Upper bounds in seconds: from an answer out of memory to one that the database is too slow for. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What one kind of request has come to. The library would look each label up at every request. */
interface Tally {
  readonly statuses: Map<number, { count: number }>;
  readonly durations: { observe(seconds: number): void };
}

/**
 * Makes the counters of requests in a registry (once for each registry):
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
      help: 'HTTP requests that have come and are not answered yet.',
      registers: [],
      collect() {
        this.set(inFlight);
      },
    }),
  );
  registry.registerMetric(
    new Counter({
      name: 'dms_http_requests_total',
      help: 'HTTP requests answered, by door, operation and status; status 0: the client went before.',
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
    help: 'How long HTTP requests took, from the head to the end of the response.',
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
    refused(kind, status) {
      count(tallies.get(kind) ?? tallyOf(kind), status);
    },
  };
}
