import type { Feed } from '../feed/feed.js';
import type { Caller } from '../limits/caller.js';
import type { RequestCost } from '../limits/costs.js';
import type { ResponseSize } from '../limits/response-size.js';
import type { Loaders } from '../loaders/create-loaders.js';
import type { OfDomain } from '../loaders/dns-entries.js';

export interface RequestContext {
  readonly caller: Caller;
  loaders: Loaders;
  /** Those of the primary, for what a replica does not have. */
  readonly primary: Loaders;
  readonly feed: Pick<Feed, 'listen' | 'page'>;
  /** Of the response, or of one result of a subscription. */
  size: ResponseSize;
  /** What the request costs; set when its operation is known. */
  cost: RequestCost;
  /** How many units the request has taken so far. An object, since Apollo Server copies the context. */
  readonly spent: { units: number };
  /** Takes units for what is known only while it runs. @throws RateLimitedError where nothing is left. */
  charge(units: number): Promise<void>;
  /** Whether large histories are rejected, so that they are read by pages: for REST. */
  readonly rejectsLarge: boolean;
  /** Of a subscription: the cursor after which a client continues that has all results before the latest. */
  resumeAfter?: string | undefined;
}

/** The loaders that a domain was read by: its lists are to be as late as it is. */
export function loadersOf({ of }: { readonly of: OfDomain }, context: RequestContext): Loaders {
  return of.isOfPrimary === true ? context.primary : context.loaders;
}
