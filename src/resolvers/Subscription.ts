import { requireScope } from '../auth/viewer.js';
import { ResponseSize } from '../limits/response-size.js';
import type { RequestContext } from './context.js';
import type { ChangePage } from './pages.js';
import { feedQuestion } from './Query/search.js';
import type { SubscriptionResolvers } from './types.generated.js';

export const Subscription: SubscriptionResolvers = {
  changes: {
    async subscribe(_root, args, context) {
      requireScope(context.caller.viewer, 'search:read');
      const question = feedQuestion(args, context.caller.viewer);
      context.resumeAfter = args.after ?? undefined;
      return pages(question, context);
    },
    resolve: (page: ChangePage) => page,
  },
};

/** So many changes of a stream cost a unit. */
const CHANGES_OF_UNIT = 100;

/** The pages of a listener. The next one is loaded when the result of the last one is executed and sent. */
async function* pages(
  { key, pageOf }: ReturnType<typeof feedQuestion>,
  context: RequestContext,
): AsyncGenerator<ChangePage, void, void> {
  const { caller, feed, cost } = context;
  let sent = 0;
  for await (const found of feed.listen({ ...key, ...caller })) {
    const before = Math.floor(sent / CHANGES_OF_UNIT);
    sent += found.items.length;
    const units = Math.floor(sent / CHANGES_OF_UNIT) - before + cost.unitsOfChange * found.items.length;
    if (units > 0) await context.charge(units);
    const hasPreviousPage = context.resumeAfter !== undefined;
    const page = { ...pageOf({ ...found, next: null }), hasPreviousPage };
    context.size = new ResponseSize();
    yield page;
    context.resumeAfter = page.end;
  }
}
