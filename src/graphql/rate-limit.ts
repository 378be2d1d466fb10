import type { GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import type { IRateLimiterOptions, RateLimiterMemory } from 'rate-limiter-flexible';
import type { Viewer } from '../auth/viewer.js';
import { RateLimitedError } from '../model/errors.js';
import type { Limiters } from '../rates/limiters.js';
import { ratePolicy, secondsUntilReset } from '../rates/rate-policy.js';
import type { RequestContext } from '../resolvers/context.js';

/** The rate limit of each kind of viewer: occurrences of limited fields in a minute. */
export type RateLimits = Readonly<Record<Viewer['kind'], number>>;

/** The viewer of a request, and whether it was granted any limited field. */
export interface CountedViewer extends Viewer {
  granted?: boolean;
}

/** Called for each occurrence of a limited field that is rejected. */
export type OnRateLimited = (viewer: Viewer['kind']) => void;

/** A schema whose fields are limited, and a function that charges a viewer for more than their number. */
interface LimitedSchema {
  readonly schema: GraphQLSchema;
  /**
   * Takes units from the viewer's limit, more than it has if necessary: otherwise a request that costs more than the
   * whole limit could never succeed.
   *
   * @param paid What the request has taken before.
   * @throws RateLimitedError where other requests have taken the whole limit.
   */
  charge(viewer: Viewer, units: number, paid: number): Promise<void>;
}

/**
 * The schema with the limits that its `@rateLimit` names, and with the given ones where it names none.
 * Every occurrence of a field counts. A limiter has one limit for all its clients, so that each kind of
 * viewer has a limiter of its own, in which the other kind's requests cost nothing. What a viewer has left
 * is in its `rates` afterwards.
 */
export function limitRates(schema: GraphQLSchema, options: RateLimiting): LimitedSchema {
  const token = limitKind(schema, 'token', options);
  const anonymous = limitKind(token.schema, 'anonymous', options);
  return {
    schema: anonymous.schema,
    charge: (viewer, ...units) => (viewer.kind === 'token' ? token : anonymous).charge(viewer, ...units),
  };
}

/** The limits, and where requests are counted. */
interface RateLimiting {
  readonly limits: RateLimits;
  readonly limiters: Limiters;
  readonly onRateLimited?: OnRateLimited | undefined;
}

function limitKind(
  schema: GraphQLSchema,
  kind: Viewer['kind'],
  { limits, limiters, onRateLimited }: RateLimiting,
): LimitedSchema {
  const policy = ratePolicy(kind, limits[kind]);
  const Limiter = limiters.classFor(policy);
  let limiter = new Limiter({});
  const note = (viewer: Viewer, remaining: number, resetAfter: number) => {
    viewer.rates = { policy, remaining, resetAfter };
  };
  const rejected = (resetAfter: number) => {
    onRateLimited?.(kind);
    return new RateLimitedError(secondsUntilReset({ resetAfter }));
  };
  const { rateLimitDirectiveTransformer } = rateLimitDirective<RequestContext, RateLimiterMemory>({
    // Fields without a limit of their own are counted together with what is charged.
    limiterClass: class extends Limiter {
      constructor(options: IRateLimiterOptions) {
        super(options);
        if (options.points === undefined) limiter = this;
      }
    },
    pointsCalculator: (_directive, _source, _args, { viewer, counted, budget }, { path }) =>
      viewer.kind === kind && counted !== true ? budget.pointsOf(path.key) : 0,
    // The library's own key is the field alone: one budget for all clients together.
    keyGenerator: (_directive, _source, _args, { viewer }) => viewer.rateLimitKey,
    setState: (
      { consumedPoints, remainingPoints, msBeforeNext },
      { limit = policy.limit },
      _source,
      _args,
      context,
      { path },
    ) => {
      const viewer: CountedViewer = context.viewer;
      note(viewer, remainingPoints, msBeforeNext);
      // It is called for rejected ones, too.
      if (consumedPoints > limit) return;
      viewer.granted = true;
      if (context.counted !== true) context.budget.granted(path.key);
    },
    onLimit: ({ msBeforeNext }) => {
      throw rejected(msBeforeNext);
    },
  });
  return {
    schema: rateLimitDirectiveTransformer(schema),
    async charge(viewer: CountedViewer, units, paid) {
      const { consumedPoints, msBeforeNext } = await limiter.penalty(viewer.rateLimitKey, units);
      note(viewer, Math.max(0, policy.limit - consumedPoints), msBeforeNext);
      if (consumedPoints - units - paid >= policy.limit) throw rejected(msBeforeNext);
      viewer.granted = true;
    },
  };
}
