import type { GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import { type IRateLimiterOptions, RateLimiterMemory } from 'rate-limiter-flexible';
import type { Viewer } from '../auth/viewer.js';
import { RateLimitedError } from '../model/errors.js';
import type { RequestContext } from '../resolvers/context.js';

/** How often a viewer of each kind may ask for a limited field: occurrences in a minute. */
export type RateLimits = Readonly<Record<Viewer['kind'], number>>;

/** Told of each occurrence of a limited field that is refused. */
export type OnRateLimited = (viewer: Viewer['kind']) => void;

/**
 * The schema with the limits that its `@rateLimit` names, and with the given ones where it names none.
 * Every occurrence of a field counts. A limiter has one limit for all its clients, so that each kind of
 * viewer has a limiter of its own, in which the other kind's requests cost nothing.
 */
export function limitRates(
  schema: GraphQLSchema,
  limits: RateLimits,
  onRateLimited: OnRateLimited = () => {},
): GraphQLSchema {
  const withTokens = limitKind(schema, 'token', limits.token, onRateLimited);
  return limitKind(withTokens, 'anonymous', limits.anonymous, onRateLimited);
}

function limitKind(
  schema: GraphQLSchema,
  kind: Viewer['kind'],
  limit: number,
  onRateLimited: OnRateLimited,
): GraphQLSchema {
  const { rateLimitDirectiveTransformer } = rateLimitDirective<RequestContext, RateLimiterMemory>({
    limiterClass: limiterWithDefault(limit),
    pointsCalculator: (_directive, _source, _args, { viewer }) => (viewer.kind === kind ? 1 : 0),
    // The library's own key is the field alone: one budget for all clients together.
    keyGenerator: (_directive, _source, _args, { viewer }) => viewer.rateLimitKey,
    onLimit: ({ msBeforeNext }) => {
      onRateLimited(kind);
      throw new RateLimitedError(Math.max(1, Math.ceil(msBeforeNext / 1000)));
    },
  });
  return rateLimitDirectiveTransformer(schema);
}

/** The library's default limit stands in an SDL of its own, which ours, without one, replaces. */
function limiterWithDefault(limit: number) {
  return class extends RateLimiterMemory {
    constructor(options: IRateLimiterOptions) {
      super({ ...options, points: options.points ?? limit, duration: options.duration ?? 60 });
    }
  };
}
