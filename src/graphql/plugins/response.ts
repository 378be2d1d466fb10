import type { GraphqlPlugin } from '../context.js';
import { formatError, retryAfterOf, shownError } from '../format-error.js';

/** What a response tells besides data: its status, and when to try again. What was not executed is charged. */
export const responsePlugin: GraphqlPlugin = {
  async willSendResponse({ request, response: { body, http }, contextValue }) {
    if (body.kind !== 'single') return;
    const { singleResult } = body;
    const isExecuted = singleResult.data !== undefined;
    // GraphQL over HTTP, section 6.4.2, also where Apollo Server answers JSON with 200.
    const isStrict = request.http?.headers.get('accept')?.startsWith('application/graphql-response+json');
    if (!isExecuted && isStrict === true && (http.status ?? 200) === 200) http.status = 400;
    // What is not executed costs 1, unless it was to be sent again later.
    const isToRepeat = retryAfterOf(singleResult.errors) !== undefined;
    if (!isExecuted && !isToRepeat && contextValue.spent.units === 0) {
      await contextValue.charge(1).catch((error: unknown) => {
        const shown = shownError(error);
        http.status = 429;
        singleResult.errors = [formatError(shown.toJSON(), shown)];
      });
    }
    const retryAfter = retryAfterOf(singleResult.errors);
    if (retryAfter !== undefined) http.headers.set('retry-after', String(retryAfter));
  },
};
