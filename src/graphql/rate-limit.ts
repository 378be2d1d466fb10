import type { GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import type { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Viewer } from '../auth/viewer.js';
import { RateLimitedError } from '../model/errors.js';
import type { Limiters } from '../rates/limiters.js';
import { ratePolicy, secondsUntilReset } from '../rates/rate-policy.js';
import type { RequestContext } from '../resolvers/context.js';

/** How often a viewer of each kind may ask for a limited field: occurrences in a minute. */
export type RateLimits = Readonly<Record<Viewer['kind'], number>>;

/** A viewer, and whether any limited field was granted to this request. */
export interface CountedViewer extends Viewer {
  granted?: boolean;
}

/** Told of each occurrence of a limited field that is refused. */
export type OnRateLimited = (viewer: Viewer['kind']) => void;

/**
 * The schema with the limits that its `@rateLimit` names, and with the given ones where it names none.
 * Every occurrence of a field counts. A limiter has one limit for all its clients, so that each kind of
 * viewer has a limiter of its own, in which the other kind's requests cost nothing. What a viewer has left
 * is in its `rates` afterwards.
 */
export function limitRates(schema: GraphQLSchema, options: RateLimiting): GraphQLSchema {
  return limitKind(limitKind(schema, 'token', options), 'anonymous', options);
}

/** The limits, and where requests are counted. */
export interface RateLimiting {
  readonly limits: RateLimits;
  readonly limiters: Limiters;
  readonly onRateLimited?: OnRateLimited | undefined;
}

function limitKind(
  schema: GraphQLSchema,
  kind: Viewer['kind'],
  { limits, limiters, onRateLimited }: RateLimiting,
): GraphQLSchema {
  const policy = ratePolicy(kind, limits[kind]);
  const { rateLimitDirectiveTransformer } = rateLimitDirective<RequestContext, RateLimiterMemory>({
    limiterClass: limiters.classFor(policy),
    pointsCalculator: (_directive, _source, _args, { viewer, counted }) =>
      viewer.kind === kind && counted !== true ? 1 : 0,
    // The library's own key is the field alone: one budget for all clients together.
    keyGenerator: (_directive, _source, _args, { viewer }) => viewer.rateLimitKey,
    setState: (
      { consumedPoints, remainingPoints: remaining, msBeforeNext: resetAfter },
      { limit = policy.limit },
      _source,
      _args,
      context,
    ) => {
      const viewer: CountedViewer = context.viewer;
      viewer.rates = { policy, remaining, resetAfter };
      // It is told of refused ones as well.
      if (consumedPoints <= limit) viewer.granted = true;
    },
    onLimit: ({ msBeforeNext: resetAfter }) => {
      onRateLimited?.(kind);
      throw new RateLimitedError(secondsUntilReset({ resetAfter }));
    },
  });
  return rateLimitDirectiveTransformer(schema);
}
