import { requireScope } from '../auth/viewer.js';
import { PAGE_GIVEN } from '../loaders/live-feed.js';
import type { RequestContext } from './context.js';
import type { ChangePage } from './pages.js';
import { feedPage, feedQuestion, onManyOf } from './Query/search.js';
import type { SubscriptionResolvers } from './types.generated.js';

export const Subscription: SubscriptionResolvers = {
  changes: {
    async subscribe(_root, args, context) {
      const { viewer, budget } = context;
      requireScope(viewer, 'search:read');
      // Before anything may be wrong with the arguments: what is rejected costs, too.
      await budget.readPage(PAGE_GIVEN);
      const asked = feedQuestion(args);
      context.resumeAfter = args.after ?? undefined;
      return pages(asked, context);
    },
    resolve: (page: ChangePage) => page,
  },
};

/** The pages of a listener. The next one is loaded when the result of the last one is executed and sent. */
async function* pages(
  { question, filter, after }: ReturnType<typeof feedQuestion>,
  context: RequestContext,
): AsyncGenerator<ChangePage, void, void> {
  const { viewer, budget, loaders, recipient } = context;
  const key = { ...filter, recipient, client: viewer.rateLimitKey, recheck: viewer.recheck };
  const listening = loaders.live.listen({
    ...{ ...key, after },
    async load(place) {
      if (place !== after) await budget.readPage(PAGE_GIVEN);
      return loaders.newestFeed.load({ ...key, first: PAGE_GIVEN, after: place, onMany: onManyOf(context) });
    },
  });
  for await (const found of listening) {
    const page = feedPage(question, found, context.resumeAfter);
    yield page;
    context.resumeAfter = page.end;
    budget.nextResult();
  }
}
