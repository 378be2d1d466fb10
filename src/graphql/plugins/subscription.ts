import { HeaderMap } from '@apollo/server';
import { OperationTypeNode } from 'graphql';
import type { GraphqlPlugin } from '../context.js';
import { sendStream, textsOf } from '../event-stream.js';
import type { GraphqlExecutor } from '../execute.js';
import { shownError } from '../format-error.js';
import { rejection } from '../request.js';

const HOW_TO_LISTEN =
  'A subscription is a stream: send Accept: text/event-stream, or multipart/mixed;subscriptionSpec=1.0.';

/** A subscription has a stream in place of a body: over-http.ts sends it. */
export function subscriptionPlugin(executor: GraphqlExecutor): GraphqlPlugin {
  return {
    async didResolveOperation({ operation, contextValue }) {
      if (operation?.operation !== OperationTypeNode.SUBSCRIPTION || contextValue.stream !== undefined)
        return;
      throw rejection(406, 'NOT_ACCEPTABLE', HOW_TO_LISTEN);
    },
    async responseForOperation({ document, operation, request, contextValue }) {
      const { stream, outcome, cost } = contextValue;
      if (operation?.operation !== OperationTypeNode.SUBSCRIPTION || stream === undefined) return null;
      const { operationName, variables: variableValues = {} } = request;
      const subscribed = await contextValue
        .charge(cost.sum)
        .then(() => executor.subscribe({ document, operationName, variableValues, contextValue }))
        .catch((error: unknown) => ({ errors: [shownError(error)] }));
      const results = Symbol.asyncIterator in subscribed ? subscribed : [subscribed];
      const texts = textsOf(stream, results, contextValue);
      outcome.sendStream = (response) => sendStream(response, stream, texts);
      return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult: { data: null } } };
    },
  };
}
