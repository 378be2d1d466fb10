import { GraphQLError, Kind, parse, validate } from 'graphql';
import { requireWithinLimits } from '../limits/costs.js';
import { OperationError, PublicError } from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';
import type { GraphqlExecutor } from './execute.js';
import { rejection } from './request.js';

/**
 * Of the only operations that clients may execute, each is named by its id, or sent as its exact text.
 *
 * @param listed Their texts by their ids.
 * @returns what gives the body of a request with the operation that it names; it throws for others.
 * @throws OperationError, one line, for an operation that the schema or a limit does not allow.
 */
export function onlyListed(
  executor: GraphqlExecutor,
  listed: ReadonlyMap<string, string>,
  maxFields: number,
): (body: unknown) => object {
  for (const [id, text] of listed) requireAllowed(executor, id, text, maxFields);
  const texts = new Set(listed.values());
  return (body) => {
    const { query, extensions, ...others } = isJsonObject(body) ? body : {};
    const { persistedQuery } = Object(extensions);
    const text = query ?? listed.get(String(Object(persistedQuery).sha256Hash));
    if (typeof text === 'string' && texts.has(text)) return { ...others, query: text };
    const message = 'Only listed operations are allowed. Send the id or the exact text of one.';
    throw rejection(400, 'PERSISTED_QUERY_NOT_IN_LIST', message);
  };
}

function requireAllowed(
  { schema, costs }: GraphqlExecutor,
  id: string,
  text: string,
  maxFields: number,
): void {
  try {
    const document = parse(text);
    const [invalid] = validate(schema, document);
    if (invalid !== undefined) throw invalid;
    const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    if (operations.length === 0) throw new GraphQLError('It has no operation.');
    for (const operation of operations) {
      // With variables it depends on each request.
      const most = operation.variableDefinitions?.length ? Infinity : maxFields;
      requireWithinLimits(costs.of(document, operation, {}), most);
    }
  } catch (error) {
    if (!(error instanceof GraphQLError || error instanceof PublicError)) throw error;
    const message = `the operation ${id} of the file is not allowed: ${error.message}`;
    throw new OperationError(`PERSISTED_ONLY: ${message}`);
  }
}
