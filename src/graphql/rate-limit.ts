import type { GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Viewer } from '../auth/viewer.js';
import type { Limiters } from '../limits/limiters.js';
import { ratePolicy, secondsUntilReset } from '../limits/rate-policy.js';
import { RateLimitedError } from '../model/errors.js';
import type { RequestContext } from '../resolvers/context.js';

/** The rate limit of each kind of viewer: units in a minute. */
export type RateLimits = Readonly<Record<Viewer['kind'], number>>;

/** Called for each occurrence of a limited field that is rejected. */
export type OnRateLimited = (viewer: Viewer['kind']) => void;

/** A schema whose fields are limited, and a function that charges a viewer for more than their number. */
interface LimitedSchema {
  readonly schema: GraphQLSchema;
  /**
   * Takes units from the viewer's limit, more than it has if necessary.
   *
   * @throws RateLimitedError where nothing is left.
   */
  charge(viewer: Viewer, units: number): Promise<void>;
}

/** The limits, and where requests are counted. */
interface RateLimiting {
  readonly limits: RateLimits;
  readonly limiters: Limiters;
  readonly onRateLimited?: OnRateLimited | undefined;
}

/**
 * The schema with its `@rateLimit` fields limited: every occurrence of one counts. What a viewer has left is in its `rates` afterwards.
 */
export function limitRates(
  schema: GraphQLSchema,
  { limits, limiters, onRateLimited }: RateLimiting,
): LimitedSchema {
  const policies = {
    token: ratePolicy('token', limits.token),
    anonymous: ratePolicy('anonymous', limits.anonymous),
  };
  // A limiter has one limit for all its clients.
  const ofKind = { token: limiters(policies.token), anonymous: limiters(policies.anonymous) };
  const note = (viewer: Viewer, remaining: number, resetAfter: number) => {
    viewer.rates = { policy: policies[viewer.kind], remaining, resetAfter };
  };
  const rejected = ({ kind }: Viewer, resetAfter: number) => {
    onRateLimited?.(kind);
    return new RateLimitedError(secondsUntilReset({ resetAfter }));
  };
  const { rateLimitDirectiveTransformer } = rateLimitDirective<RequestContext, RateLimiterMemory>({
    // All fields are counted together with what is charged.
    limiterClass: class extends RateLimiterMemory {
      override consume(key: string | number, points = 1) {
        const { kind, client } = clientOf(String(key));
        return ofKind[kind].consume(client, points);
      }
    },
    pointsCalculator: (_directive, _source, _args, { cost }, { path }) => cost.units.get(path.key) ?? 0,
    // The library's own key is the field alone: one budget for all clients together.
    keyGenerator: (_directive, _source, _args, { caller }) => keyOf(caller.viewer),
    setState: ({ remainingPoints, msBeforeNext }, _directive, _source, _args, context, { path }) => {
      note(context.caller.viewer, remainingPoints, msBeforeNext);
      context.spent.units += context.cost.units.get(path.key) ?? 0;
    },
    onLimit: ({ msBeforeNext }, _directive, _source, _args, context, { path }) => {
      context.spent.units -= context.cost.units.get(path.key) ?? 0;
      throw rejected(context.caller.viewer, msBeforeNext);
    },
  });
  return {
    schema: rateLimitDirectiveTransformer(schema),
    async charge(viewer, units) {
      const { limit } = policies[viewer.kind];
      const { consumedPoints, msBeforeNext } = await ofKind[viewer.kind].penalty(viewer.rateLimitKey, units);
      note(viewer, Math.max(0, limit - consumedPoints), msBeforeNext);
      if (consumedPoints - units >= limit) throw rejected(viewer, msBeforeNext);
    },
  };
}

const TOKEN_PREFIX = 'token ';

function keyOf({ kind, rateLimitKey }: Viewer): string {
  return kind === 'token' ? TOKEN_PREFIX + rateLimitKey : rateLimitKey;
}

/** What keyOf() has joined. No address of a client begins like the prefix. */
function clientOf(key: string): { readonly kind: Viewer['kind']; readonly client: string } {
  return key.startsWith(TOKEN_PREFIX)
    ? { kind: 'token', client: key.slice(TOKEN_PREFIX.length) }
    : { kind: 'anonymous', client: key };
}
