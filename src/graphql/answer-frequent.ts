import type { Request } from 'express';
import { type ExecutionResult, type GraphQLSchema, getVariableValues, Kind } from 'graphql';
import type { Viewer } from '../auth/viewer.js';
import { costExtensions } from './cost-plugin.js';
import { formatError, type OnInternalError } from './format-error.js';
import type { FrequentOperation } from './frequent-operations.js';
import type { HttpAnswer } from './http-answer.js';
import { costWith } from './limits/cost.js';
import { hasFewValues } from './limits/query-limits.js';
import { mediaTypeFor } from './media-type.js';
import { plainRequest } from './plain-request.js';
import { refusal } from './refusal.js';
import { retryAfterOf } from './retry-after.js';
import type { GraphqlServer } from './server.js';

/**
 * Answers a POST with a document that comes often: byte for byte as Apollo Server does, in a fraction of
 * its time. Undefined for every other request, of which nothing has been executed then.
 *
 * @param request Its body is parsed, which only `application/json` is: no form of another site sent it.
 */
export async function answerFrequent(
  server: GraphqlServer,
  request: Request,
  viewer: Viewer,
): Promise<HttpAnswer | undefined> {
  const plain = request.method === 'POST' ? plainRequest(request.body, server.persisted) : undefined;
  const mediaType = mediaTypeFor(request);
  if (plain === undefined || mediaType === undefined) return undefined;
  // Who has used its budget for documents up gets none compiled that would go past it then.
  const isUsedUp = server.documents?.isUsedUp(viewer) === true;
  const { frequentOperations } = server;
  const operation = isUsedUp ? frequentOperations.known(plain.query) : frequentOperations.find(plain.query);
  if (operation === undefined) return undefined;
  if (plain.operationName !== null && plain.operationName !== operation.name) return undefined;
  const { door, limits } = server;
  // Apollo Server tells what is wrong with variables, of a bounded number of errors.
  if (!hasFewValues(plain.variables) || !haveTypes(door.schema, operation, plain.variables)) return undefined;
  const cost = costWith(operation.cost, plain.variables);
  if (cost > limits.maxCost) return undefined;
  const context = door.contextFor(viewer, request.res);
  const result = await door.run(operation, plain.variables, context);
  if (result.data === undefined) return undefined;
  const { exceeded } = context.budget;
  if (exceeded !== undefined) return refusal(400, exceeded.code, exceeded.message, { mediaType });
  const extensions = costExtensions(context.budget, cost);
  return answerOf({ ...result, extensions }, mediaType, server.onInternalError);
}

/** Whether variables have the operation's types: the compiled operation would look for every error. */
function haveTypes(
  schema: GraphQLSchema,
  { document }: FrequentOperation,
  variables: Readonly<Record<string, unknown>>,
): boolean {
  const [operation] = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (operation?.kind !== Kind.OPERATION_DEFINITION) return false;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables, {
    maxErrors: 1,
  });
  return coerced !== undefined;
}

function answerOf(
  { data, extensions, ...result }: ExecutionResult,
  mediaType: string,
  onInternalError: OnInternalError,
): HttpAnswer {
  const errors = result.errors?.map((error) => formatError(error.toJSON(), error, onInternalError));
  const headers = new Map([['content-type', mediaType]]);
  const retryAfter = retryAfterOf(errors);
  if (retryAfter !== undefined) headers.set('retry-after', String(retryAfter));
  return { status: 200, headers, body: `${JSON.stringify({ errors, data, extensions })}\n` };
}
