import { GraphQLError, getOperationAST, Kind, parse, specifiedRules, validate } from 'graphql';
import { OperationError } from '../model/errors.js';
import type { GraphqlExecutor } from './execute.js';
import { type GraphqlParameters, rejection } from './request.js';
import { VALIDATION_RULES } from './validation-rules.js';

/** The only operations that clients may execute: each is named by its id, or sent as its exact text. */
export class ListedOperations {
  readonly #byId: ReadonlyMap<string, string>;
  readonly #texts: ReadonlySet<string>;

  /** @throws OperationError, one line, for an operation that the schema does not allow. */
  constructor({ schema }: Pick<GraphqlExecutor, 'schema'>, listed: ReadonlyMap<string, string>) {
    for (const [id, text] of listed) {
      const reason = reasonAgainst(schema, text);
      if (reason !== undefined)
        throw new OperationError(`PERSISTED_ONLY: the operation ${id} is not allowed: ${reason}`);
    }
    this.#byId = listed;
    this.#texts = new Set(listed.values());
  }

  /**
   * The body of a request with the operation that it names.
   *
   * @throws RejectedRequest where it is not in the list.
   */
  bodyOf({ query, id, operationName, variables }: GraphqlParameters): object {
    const text = query === undefined ? this.#byId.get(id ?? '') : this.#texts.has(query) ? query : undefined;
    if (text !== undefined) return { query: text, operationName, variables };
    const message = 'Only listed operations are allowed. Send the id or the exact text of one.';
    throw rejection(400, 'PERSISTED_QUERY_NOT_IN_LIST', message);
  }
}

function reasonAgainst(schema: GraphqlExecutor['schema'], text: string): string | undefined {
  try {
    const document = parse(text);
    const [error] = validate(schema, document, [...specifiedRules, ...VALIDATION_RULES]);
    if (error !== undefined) return error.message;
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    return operations.length > 0 || getOperationAST(document) ? undefined : 'It has no operation.';
  } catch (error) {
    if (error instanceof GraphQLError) return error.message;
    throw error;
  }
}
