import type { ApolloServerPlugin } from '@apollo/server';
import { GraphQLError } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import type { RequestBudget } from '../resolvers/request-budget.js';
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

/**
 * What a client is told of a request's cost: the units that it has taken from the rate limit, and the estimate
 * that is held against the limit of a request.
 */
export function costExtensions({ units }: RequestBudget, estimatedCost: number | undefined) {
  return { cost: units, estimatedCost };
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
    willSendResponse: async ({ response: { body, http }, contextValue: { budget, cost, mediaType } }) => {
      if (body.kind !== 'single') return;
      const { exceeded } = budget;
      // The fields that came first would be answered: which these are depends on how it is executed.
      if (exceeded !== undefined) {
        const { message, code } = exceeded;
        body.singleResult = { errors: [{ message, extensions: { code } }] };
      }
      const { data, errors } = body.singleResult;
      if (data !== undefined) {
        const extensions = costExtensions(budget, cost);
        body.singleResult.extensions = { ...body.singleResult.extensions, ...extensions };
        return;
      }
      // Clients that know automatic persisted queries by `application/json` expect 200, and then register.
      const toRegister = errors?.[0]?.extensions?.['code'] === NOT_FOUND && mediaType !== GRAPHQL_RESPONSE;
      if ((http.status ?? 200) < 400 && !toRegister) http.status = 400;
    },
  }),
};
