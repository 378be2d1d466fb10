import type { GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Viewer } from '../auth/viewer.js';
import type { Caller } from '../limits/caller.js';
import { type Limiters, secondsUntilReset } from '../limits/rates.js';
import { RateLimitedError } from '../model/errors.js';
import type { RequestContext } from '../resolvers/context.js';

/** The rate limit of each kind of viewer: units in a minute. */
export type RateLimits = Readonly<Record<Viewer['kind'], number>>;

export type OnRateLimited = (viewer: Viewer['kind']) => void;

/**
 * @returns the schema with its `@rateLimit` fields limited in each occurrence, and `charge`, which takes units,
 *   more than are left if necessary. It throws RateLimitedError where nothing is left.
 */
export function limitRates(
  schema: GraphQLSchema,
  limits: RateLimits,
  limiters: Limiters,
  onRateLimited?: OnRateLimited,
) {
  const policyOf = (name: Viewer['kind']) => ({ name, limit: limits[name], seconds: 60 });
  // A limiter has one limit for all its clients.
  const ofKind = { token: limiters(policyOf('token')), anonymous: limiters(policyOf('anonymous')) };
  const note = (viewer: Viewer, counted: RateLimiterRes) => {
    viewer.rates = { policy: policyOf(viewer.kind), counted };
  };
  const rejected = ({ kind }: Viewer, counted: RateLimiterRes) => {
    onRateLimited?.(kind);
    return new RateLimitedError(secondsUntilReset(counted));
  };
  const { rateLimitDirectiveTransformer } = rateLimitDirective<RequestContext, RateLimiterMemory>({
    // All fields are counted together with what is charged.
    limiterClass: class extends RateLimiterMemory {
      override consume(key: string | number, points = 1) {
        const [kind = '', client = ''] = String(key).split(/ (.*)/s);
        return ofKind[kind === 'token' ? 'token' : 'anonymous'].consume(client, points);
      }
    },
    pointsCalculator: (_directive, _source, _args, { cost }, { path }) => cost.units.get(path.key) ?? 0,
    // The library's own key is the field alone: one budget for all clients together.
    keyGenerator: (_directive, _source, _args, { caller: { viewer } }) =>
      `${viewer.kind} ${viewer.rateLimitKey}`,
    setState: (counted, _directive, _source, _args, context, { path }) => {
      note(context.caller.viewer, counted);
      context.spent.units += context.cost.units.get(path.key) ?? 0;
    },
    // The library has called setState for it, too.
    onLimit: (counted, _directive, _source, _args, context, { path }) => {
      context.spent.units -= context.cost.units.get(path.key) ?? 0;
      throw rejected(context.caller.viewer, counted);
    },
  });
  return {
    schema: rateLimitDirectiveTransformer(schema),
    async charge({ viewer }: Pick<Caller, 'viewer'>, units: number): Promise<void> {
      try {
        note(viewer, await ofKind[viewer.kind].consume(viewer.rateLimitKey, units));
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        note(viewer, error);
        throw rejected(viewer, error);
      }
    },
  };
}
