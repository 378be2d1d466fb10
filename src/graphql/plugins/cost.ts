import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import {
  type DocumentNode,
  type GraphQLError,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { requireWithinLimits, type Variables } from '../../limits/costs.js';
import { PublicError } from '../../model/errors.js';
import type { GraphqlContext } from '../context.js';
import type { GraphqlExecutor } from '../execute.js';
import { shownError, TOO_DEEP } from '../format-error.js';
import { rejection } from '../request.js';

/**
 * What a request costs is known from its document and variables, before anything is executed. The document is paid for here, each field
 * of the root by the directive `@rateLimit`.
 */
export function costPlugin(
  executor: GraphqlExecutor,
  maxEstimate: number,
): ApolloServerPlugin<GraphqlContext> {
  const charge = async ({ context, document, operation, variables }: Asked) => {
    const cost = executor.costs.of(document, operation, variables);
    context.cost = cost;
    context.loaders = executor.readFrom(cost.ofPrimary);
    const besides = Math.max(cost.unitsOfDocument, cost.sum === 0 ? 1 : 0);
    if (besides > 0) await context.charge(besides);
    requireWithinLimits(cost, maxEstimate);
  };
  const listener: GraphQLRequestListener<GraphqlContext> = {
    async didResolveOperation({ document, operation, request, contextValue: context }) {
      if (operation?.operation === OperationTypeNode.MUTATION) throw invalid(READ_ONLY);
      if (operation === undefined) return;
      await charge({ context, document, operation, variables: request.variables ?? {} }).catch((error) => {
        // To measure it needs the stack, too.
        const isTooDeep = error instanceof RangeError;
        throw shownError(isTooDeep ? new PublicError('QUERY_TOO_COMPLEX', TOO_DEEP) : error);
      });
      // GraphQL, section 5.2.4: graphql-js 16 throws an error of its own.
      const isLeftOut = operation.operation === OperationTypeNode.SUBSCRIPTION && context.cost.sum === 0;
      if (isLeftOut) throw invalid(LEFT_OUT);
    },
  };
  return { requestDidStart: async () => listener };
}

interface Asked {
  readonly context: GraphqlContext;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly variables: Variables;
}

/** The schema has no mutations, which validation does not report. By GET, Apollo Server rejects them before. */
const READ_ONLY = 'This service is read-only: it has queries and subscriptions, and no mutations.';
const LEFT_OUT = 'The field of a subscription cannot be left out: remove @skip and @include.';

function invalid(message: string): GraphQLError {
  return rejection(400, 'GRAPHQL_VALIDATION_FAILED', message);
}
