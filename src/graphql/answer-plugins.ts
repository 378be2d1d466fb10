import type { ApolloServerPlugin } from '@apollo/server';
import { GraphQLError, OperationTypeNode } from 'graphql';
import { retryAfterOf } from './retry-after.js';

/** Refuses mutations and subscriptions: the schema has none, which validation does not tell. */
export const readOnlyPlugin: ApolloServerPlugin = {
  requestDidStart: async () => ({
    didResolveOperation: async ({ operation: resolved }) => {
      const operation = resolved?.operation;
      if (operation === undefined || operation === OperationTypeNode.QUERY) return;
      throw new GraphQLError(`This service is read-only: it has queries, and no ${operation}s.`, {
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400 } },
      });
    },
  }),
};

/** Where an error says when trying again makes sense, the field Retry-After does (RFC 9110, section 10.2.3). */
export const retryAfterPlugin: ApolloServerPlugin = {
  requestDidStart: async () => ({
    willSendResponse: async ({ response: { body, http } }) => {
      const retryAfter = body.kind === 'single' ? retryAfterOf(body.singleResult.errors) : undefined;
      if (retryAfter !== undefined) http.headers.set('retry-after', String(retryAfter));
    },
  }),
};
