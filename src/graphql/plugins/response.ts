import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import { formatError, retryAfterOf, shownError } from '../format-error.js';
import type { GraphqlContext } from '../server.js';

/** Of a request that is not paid for. */
const RATE_LIMITED_STATUS = 429;

/** What a response tells besides its data: the cost, and when to try again. */
export function responsePlugin(): ApolloServerPlugin<GraphqlContext> {
  const listener: GraphQLRequestListener<GraphqlContext> = {
    async willSendResponse({ response: { body, http }, contextValue }) {
      if (body.kind !== 'single') return;
      const { singleResult } = body;
      // What is not executed costs 1.
      if (singleResult.data === undefined && contextValue.spent.units === 0) {
        await contextValue.charge(1).catch((error: unknown) => {
          const shown = shownError(error);
          http.status = RATE_LIMITED_STATUS;
          singleResult.errors = [formatError(shown.toJSON(), shown)];
        });
      }
      const retryAfter = retryAfterOf(singleResult.errors);
      if (retryAfter !== undefined) http.headers.set('retry-after', String(retryAfter));
      if (singleResult.data !== undefined) singleResult.extensions = { cost: contextValue.spent.units };
    },
  };
  return { requestDidStart: async () => listener };
}
