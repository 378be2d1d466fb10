import { OperationTypeNode } from 'graphql';
import { requireWithinLimits } from '../../limits/costs.js';
import type { GraphqlPlugin } from '../context.js';
import type { GraphqlExecutor } from '../execute.js';
import { shownError } from '../format-error.js';
import { rejection } from '../request.js';

/** The schema has no mutations, which validation does not report. By GET, Apollo Server rejects them before. */
const READ_ONLY = 'This service is read-only: it has queries and subscriptions, and no mutations.';
const LEFT_OUT = 'The field of a subscription cannot be left out: remove @skip and @include.';

/**
 * What a request costs is known from its document and variables, before anything is executed. The document is
 * paid for here, each field of the root by the directive `@rateLimit`.
 */
export function costPlugin(executor: GraphqlExecutor, maxFields: number): GraphqlPlugin {
  return {
    async didResolveOperation({ document, operation, request: { variables = {} }, contextValue: context }) {
      if (operation === undefined) return;
      if (operation.operation === OperationTypeNode.MUTATION) throw invalid(READ_ONLY);
      try {
        const cost = executor.costs.of(document, operation, variables);
        context.cost = cost;
        context.loaders = executor.readFrom(cost.ofPrimary);
        const besides = Math.max(cost.unitsOfDocument, Number(cost.sum === 0));
        if (besides > 0) await context.charge(besides);
        requireWithinLimits(cost, maxFields);
      } catch (error) {
        throw shownError(error);
      }
      // GraphQL, section 5.2.4: graphql-js 16 throws an error of its own.
      const isLeftOut = operation.operation === OperationTypeNode.SUBSCRIPTION && context.cost.sum === 0;
      if (isLeftOut) throw invalid(LEFT_OUT);
    },
  };
}

function invalid(message: string) {
  return rejection(400, 'GRAPHQL_VALIDATION_FAILED', message);
}
