import type { ServerResponse } from 'node:http';
import { type GraphQLRequestListener, HeaderMap } from '@apollo/server';
import {
  type ASTNode,
  type DocumentNode,
  type GraphQLError,
  OperationTypeNode,
  parse,
  subscribe,
  visit,
} from 'graphql';
import { requireWithinLimits } from '../limits/costs.js';
import type { RequestContext } from '../resolvers/context.js';
import { type StreamFormat, sendStream, textsOf } from './event-stream.js';
import type { GraphqlExecutor } from './execute.js';
import {
  formatError,
  isOfRequest,
  maskError,
  type OnInternalError,
  retryAfterOf,
  shownError,
} from './format-error.js';
import { rejection } from './request.js';

export interface GraphqlContext extends RequestContext {
  readonly onInternalError: OnInternalError;
  readonly outcome: Outcome;
  /** As what the client accepts the results of a subscription; undefined: it does not. */
  readonly stream: StreamFormat | undefined;
}

/** What a request comes to. An object of its own, since Apollo Server copies the context. */
export interface Outcome {
  leave?: () => void;
  /** Of a subscription: sends its results, in place of the response's body. */
  sendStream?: (response: ServerResponse) => Promise<void>;
  /** What is wrong with the request, where Apollo Server takes it for an error of its own. */
  rejection?: GraphQLError;
}

const READ_ONLY = 'This service is read-only: it has queries and subscriptions, and no mutations.';
const LEFT_OUT = 'The field of a subscription cannot be left out: remove @skip and @include.';
const HOW_TO_LISTEN =
  'A subscription is a stream: send Accept: text/event-stream, or multipart/mixed;subscriptionSpec=1.0.';

export function createPlugin(
  executor: GraphqlExecutor,
  maxFields: number,
): GraphQLRequestListener<GraphqlContext> {
  const { schema } = executor;
  return {
    /** Errors that clients are not shown go to the log; those of validation get their places in the text. */
    async didEncounterErrors({ errors, document, source, operation, contextValue }) {
      for (const error of errors) if (!isOfRequest(error)) maskError(error, contextValue.onInternalError);
      // Before the operation is known, errors are those of validation.
      if (document !== undefined && source !== undefined && operation === undefined) {
        locateErrors(errors, document, source);
      }
    },

    /** The document is paid for here, each field of the root by the directive `@rateLimit`. */
    async didResolveOperation({ document, operation, request: { variables = {} }, contextValue: context }) {
      if (operation === undefined) return;
      // Validation does not report them. By GET, Apollo Server rejects them before.
      if (operation.operation === OperationTypeNode.MUTATION) throw invalid(READ_ONLY);
      const isStream = operation.operation === OperationTypeNode.SUBSCRIPTION;
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
      if (isStream && context.stream === undefined) throw rejection(406, 'NOT_ACCEPTABLE', HOW_TO_LISTEN);
      // GraphQL, section 5.2.4: graphql-js 16 throws an error of its own.
      if (isStream && context.cost.sum === 0) throw invalid(LEFT_OUT);
    },

    /** A subscription has a stream in place of a body: over-http.ts sends it. */
    async responseForOperation({ document, operation, request, contextValue }) {
      const { stream, outcome, cost } = contextValue;
      if (operation?.operation !== OperationTypeNode.SUBSCRIPTION || stream === undefined) return null;
      const { operationName, variables: variableValues = {} } = request;
      const subscribed = await contextValue
        .charge(cost.sum)
        .then(() => subscribe({ schema, document, operationName, variableValues, contextValue }))
        .catch((error: unknown) => ({ errors: [shownError(error)] }));
      const results = Symbol.asyncIterator in subscribed ? subscribed : [subscribed];
      const texts = textsOf(stream, results, contextValue);
      outcome.sendStream = (response) => sendStream(response, stream, texts);
      return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult: { data: null } } };
    },

    /** The status of a response, and when to try again. What was not executed is charged. */
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
}

function invalid(message: string) {
  return rejection(400, 'GRAPHQL_VALIDATION_FAILED', message);
}

/**
 * Gives errors their locations. Documents are parsed without: with them, graphql-js reads the text from its
 * start for each error, to count the lines, also of those of an execution.
 */
export function locateErrors(errors: readonly GraphQLError[], document: DocumentNode, text: string): void {
  const located = nodesOf(parse(text));
  const indexes = new Map(nodesOf(document).map((node, index) => [node, index]));
  for (const error of errors) {
    const locations = (error.nodes ?? []).flatMap((node) => {
      const token = located[indexes.get(node) ?? -1]?.loc?.startToken;
      return token ? [{ line: token.line, column: token.column }] : [];
    });
    if (error.locations === undefined && locations.length > 0) Object.assign(error, { locations });
  }
}

/** In the same order for each document of one text. */
function nodesOf(document: DocumentNode): readonly ASTNode[] {
  const nodes: ASTNode[] = [];
  visit(document, { enter: (node) => void nodes.push(node) });
  return nodes;
}
