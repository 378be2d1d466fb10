import { Counter, type Registry } from 'prom-client';

/** The budgets of clients, as `RateLimit-Policy` names them. */
const POLICIES = ['anonymous', 'token', 'failures', 'documents'] as const;

export type RateLimitPolicy = (typeof POLICIES)[number];

/** Counts what was not answered as it was asked. */
export interface RefusalMetrics {
  /** A request or a limited field was refused, since the client has used up this budget. */
  rateLimited(policy: RateLimitPolicy): void;
  /** GraphQL has answered with an error that is not the client's, whatever the response's status. */
  graphqlFailed(code: 'INTERNAL' | 'UNAVAILABLE'): void;
}

/**
 * Makes the counters of refusals in a registry (once for each registry):
 *
 * - `dms_rate_limit_refusals_total{policy}`
 * - `dms_graphql_failures_total{code}`
 */
export function createRefusalMetrics(registry: Registry): RefusalMetrics {
  const refusals = new Counter({
    name: 'dms_rate_limit_refusals_total',
    help: 'What was refused since a budget was used up, by the name of its policy.',
    labelNames: ['policy'],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'dms_graphql_failures_total',
    help: 'Errors in GraphQL responses that are not the client’s, by code.',
    labelNames: ['code'],
    registers: [registry],
  });
  // What has never happened is 0, and not absent: an alert on a rate needs a first value.
  for (const policy of POLICIES) refusals.inc({ policy }, 0);
  for (const code of ['INTERNAL', 'UNAVAILABLE']) failures.inc({ code }, 0);
  return {
    rateLimited: (policy) => refusals.inc({ policy }),
    graphqlFailed: (code) => failures.inc({ code }),
  };
}
