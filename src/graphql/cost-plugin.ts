import type { ApolloServerPlugin } from '@apollo/server';
import { GraphQLError } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import { GRAPHQL_RESPONSE } from './media-type.js';

/** What Apollo Server is told of a request beside what the resolvers need. */
export interface ExaminedContext extends RequestContext {
  /** Whether the document was held within the limits. */
  readonly examined: boolean;
  /** What the request costs; undefined where the document does not say which operation is meant. */
  readonly cost: number | undefined;
  /** What the response is written in. */
  readonly mediaType: string;
}

const NOT_FOUND = 'PERSISTED_QUERY_NOT_FOUND';

/** Lets no operation through that was not examined, and tells what the others cost. */
export const costPlugin: ApolloServerPlugin<ExaminedContext> = {
  requestDidStart: async () => ({
    didResolveOperation: async ({ contextValue }) => {
      // Registered by another client between the examination and here: this one sends the document then.
      if (!contextValue.examined) {
        throw new GraphQLError('PersistedQueryNotFound', {
          extensions: { code: NOT_FOUND, http: { status: 200 } },
        });
      }
    },
    willSendResponse: async ({ response: { body, http }, contextValue: { cost, mediaType } }) => {
      if (body.kind !== 'single') return;
      const { data, errors } = body.singleResult;
      if (data !== undefined) {
        body.singleResult.extensions = { ...body.singleResult.extensions, cost };
        return;
      }
      // Clients that know automatic persisted queries by `application/json` expect 200, and then register.
      const toRegister = errors?.[0]?.extensions?.['code'] === NOT_FOUND && mediaType !== GRAPHQL_RESPONSE;
      if ((http.status ?? 200) < 400 && !toRegister) http.status = 400;
    },
  }),
};
