import { GraphQLError, Kind, parse, validate } from 'graphql';
import { requireWithinLimits } from '../limits/costs.js';
import { OperationError, PublicError } from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';
import type { GraphqlExecutor } from './execute.js';
import { rejection } from './request.js';

/** The only operations that clients may execute: each is named by its id, or sent as its exact text. */
export class ListedOperations {
  readonly #byId: ReadonlyMap<string, string>;
  readonly #texts: ReadonlySet<string>;

  /** @throws OperationError, one line, for an operation that the schema or a limit does not allow. */
  constructor(
    executor: Pick<GraphqlExecutor, 'schema' | 'costs'>,
    listed: ReadonlyMap<string, string>,
    maxEstimate: number,
  ) {
    for (const [id, text] of listed) {
      const reason = reasonAgainst(executor, text, maxEstimate);
      if (reason !== undefined)
        throw new OperationError(`PERSISTED_ONLY: the operation ${id} of the file is not allowed: ${reason}`);
    }
    this.#byId = listed;
    this.#texts = new Set(listed.values());
  }

  /**
   * The body of a request with the operation that it names.
   *
   * @throws GraphQLError, a rejection(), where it is not in the list.
   */
  bodyOf(body: unknown): object {
    const { query, extensions, ...others } = isJsonObject(body) ? body : {};
    const text = query == null ? this.#byId.get(idIn(extensions)) : query;
    if (typeof text === 'string' && this.#texts.has(text)) return { ...others, query: text };
    const message = 'Only listed operations are allowed. Send the id or the exact text of one.';
    throw rejection(400, 'PERSISTED_QUERY_NOT_IN_LIST', message);
  }
}

/** The id by which automatic persisted queries name a document. */
function idIn(extensions: unknown): string {
  const persisted = isJsonObject(extensions) ? extensions['persistedQuery'] : undefined;
  return String(isJsonObject(persisted) ? persisted['sha256Hash'] : undefined);
}

function reasonAgainst(
  { schema, costs }: Pick<GraphqlExecutor, 'schema' | 'costs'>,
  text: string,
  maxEstimate: number,
): string | undefined {
  try {
    const document = parse(text);
    const [error] = validate(schema, document);
    if (error !== undefined) return error.message;
    const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    if (operations.length === 0) return 'It has no operation.';
    for (const operation of operations) {
      // With variables it depends on each request.
      const most = operation.variableDefinitions?.length ? Infinity : maxEstimate;
      requireWithinLimits(costs.of(document, operation, {}), most);
    }
    return undefined;
  } catch (error) {
    if (error instanceof GraphQLError || error instanceof PublicError) return error.message;
    throw error;
  }
}
