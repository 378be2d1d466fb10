import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import { HeaderMap } from '@apollo/server';
import { GraphQLError, OperationTypeNode } from 'graphql';
import { requireWithinLimits } from '../../limits/costs.js';
import { PublicError } from '../../model/errors.js';
import type { GraphqlContext } from '../context.js';
import type { GraphqlExecutor } from '../execute.js';
import { shownError, TOO_DEEP } from '../format-error.js';

/**
 * What a request costs is known from its document and variables, before anything is executed. The document is paid for here, each field
 * of the root by the directive `@rateLimit`.
 */
export function costPlugin(
  executor: GraphqlExecutor,
  maxEstimate: number,
): ApolloServerPlugin<GraphqlContext> {
  const listener: GraphQLRequestListener<GraphqlContext> = {
    async didResolveOperation({ document, operation, request, contextValue }) {
      if (operation === undefined) return;
      if (operation.operation === OperationTypeNode.MUTATION) throw readOnly();
      try {
        const ofDocument = executor.costs.of(document, operation);
        contextValue.cost = ofDocument.costWith(request.variables ?? {});
        contextValue.loaders = executor.readFrom(ofDocument.hasCursor);
        const besides = Math.max(ofDocument.units, contextValue.cost.units.size === 0 ? 1 : 0);
        if (besides > 0) await contextValue.charge(besides);
        requireWithinLimits(ofDocument, contextValue.cost, maxEstimate);
      } catch (error) {
        // To measure it needs the stack, too.
        throw shownError(
          error instanceof RangeError ? new PublicError('QUERY_TOO_COMPLEX', TOO_DEEP) : error,
        );
      }
    },
  };
  return { requestDidStart: async () => listener };
}

/** The schema has no mutations, which validation does not report. By GET, Apollo Server rejects them before. */
function readOnly(): GraphQLError {
  const message = 'This service is read-only: it has queries and subscriptions, and no mutations.';
  const http = { status: 400, headers: new HeaderMap() };
  return new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http } });
}
