import { Counter, type Registry } from 'prom-client';

/** Counts what was not answered as it was asked. */
export interface RefusalMetrics {
  /** A limited field was refused, since its viewer has used up the budget. */
  rateLimited(viewer: 'anonymous' | 'token'): void;
  /** GraphQL has answered with an error that is not the client's, whatever the response's status. */
  graphqlFailed(code: 'INTERNAL' | 'UNAVAILABLE'): void;
}

/**
 * Makes the counters of refusals in a registry (once for each registry):
 *
 * - `dms_rate_limit_refusals_total{viewer}`
 * - `dms_graphql_failures_total{code}`
 */
export function createRefusalMetrics(registry: Registry): RefusalMetrics {
  const refusals = new Counter({
    name: 'dms_rate_limit_refusals_total',
    help: 'Occurrences of a limited field that were refused, by kind of viewer.',
    labelNames: ['viewer'],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'dms_graphql_failures_total',
    help: 'Errors in GraphQL responses that are not the client’s, by code.',
    labelNames: ['code'],
    registers: [registry],
  });
  // What has never happened is 0, and not absent: an alert on a rate needs a first value.
  for (const viewer of ['anonymous', 'token']) refusals.inc({ viewer }, 0);
  for (const code of ['INTERNAL', 'UNAVAILABLE']) failures.inc({ code }, 0);
  return {
    rateLimited: (viewer) => refusals.inc({ viewer }),
    graphqlFailed: (code) => failures.inc({ code }),
  };
}
