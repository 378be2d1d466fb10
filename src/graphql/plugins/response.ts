import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import { retryAfterOf } from '../format-error.js';
import type { GraphqlContext } from '../server.js';

/** What a response tells besides its data: the cost, and when to try again. */
export function responsePlugin(): ApolloServerPlugin<GraphqlContext> {
  const listener: GraphQLRequestListener<GraphqlContext> = {
    async willSendResponse({ response: { body, http }, contextValue }) {
      if (body.kind !== 'single') return;
      const { singleResult } = body;
      const retryAfter = retryAfterOf(singleResult.errors);
      if (retryAfter !== undefined) http.headers.set('retry-after', String(retryAfter));
      if (singleResult.data !== undefined) singleResult.extensions = { cost: contextValue.spent.units };
    },
  };
  return { requestDidStart: async () => listener };
}
