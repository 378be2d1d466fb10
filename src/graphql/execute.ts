import { type ExecutionResult, execute as executeUncompiled, type GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.js';
import type { Loaders } from '../loaders/create-loaders.js';
import { LargeHistoryError, partsOfHistory } from '../loaders/domain-history.js';
import type { Recipient } from '../loaders/recipient.js';
import { createLimiters, type Limiters } from '../rates/limiters.js';
import type { RequestContext } from '../resolvers/context.js';
import { RequestBudget } from '../resolvers/request-budget.js';
import type { Variables } from './limits/cost.js';
import { limitRates, type OnRateLimited, type RateLimits } from './rate-limit.js';
import { createSchema } from './schema.js';
import { executeInSlices } from './slices.js';
import { prepareOperation, type StoredOperation } from './stored-operation.js';

export type { LargeHistoryError };

/** The one way to the data: the schema with its resolvers and limits, for GraphQL and for REST. */
export interface GraphqlDoor {
  readonly schema: GraphQLSchema;
  /** The same for graphql-js, which executes its long lists in slices. */
  readonly slicedSchema: GraphQLSchema;

  /**
   * What the schema's resolvers need to answer this viewer.
   *
   * @param recipient Who gets the answer: once it is destroyed, nothing more is asked of the database.
   */
  contextFor(viewer: Viewer, recipient?: Recipient): RequestContext;

  /**
   * Compiles an operation of this program's own: a document with one operation, whose variables have no
   * default values.
   *
   * @throws Error for a document that the schema does not allow: the program is wrong.
   */
  prepare(source: string): StoredOperation;

  /**
   * Runs a client's operation. What was thrown on the way is in the result's errors, as `originalError`.
   *
   * @param context Of contextFor().
   */
  run(operation: StoredOperation, variables: Variables, context: RequestContext): Promise<ExecutionResult>;

  /**
   * Runs an operation of this program's own, in the same way. Its answer is not limited; that of a large history is
   * an error (largeHistoryIn).
   *
   * @param viewer Who asks, and whose budget of requests it takes from.
   * @param recipient Who gets the answer: once it is destroyed, nothing more is asked of the database.
   * @param counted Whether the same request has run an operation on the same domain already: it counts once.
   */
  execute(
    operation: StoredOperation,
    variables: Variables,
    viewer: Viewer,
    recipient?: Recipient,
    counted?: boolean,
  ): Promise<ExecutionResult>;

  /**
   * Runs the same operation for a large history. Each result has a part of its lists, in their order.
   *
   * @param large What largeHistoryIn() has found in the result.
   * @returns no result where nothing is recorded of the domain any more.
   * @throws RateLimitedError or BusyError before the first result.
   */
  executeInParts(
    operation: StoredOperation,
    variables: Variables,
    viewer: Viewer,
    recipient: Recipient | undefined,
    large: LargeHistoryError,
  ): AsyncGenerator<ExecutionResult>;
}

/** What the door stands on: the loaders of the process, and how often each kind of viewer may ask. */
export interface GraphqlDoorOptions {
  readonly loaders: Loaders;
  readonly rateLimits: RateLimits;
  /** Where requests are counted; absent: in this process' memory. */
  readonly limiters?: Limiters;
  readonly onRateLimited?: OnRateLimited | undefined;
}

/** Opens the door: one for a process, since it counts what each client asks for. */
export function createGraphqlDoor(options: GraphqlDoorOptions): GraphqlDoor {
  const { loaders, rateLimits, limiters = createLimiters(), onRateLimited } = options;
  const { schema, charge } = limitRates(createSchema(), { limits: rateLimits, limiters, onRateLimited });
  const slicedSchema = executeInSlices(schema);
  const contextFor = (viewer: Viewer, recipient?: Recipient, limited = true): RequestContext => {
    const budget = new RequestBudget({
      charge: (...units) => charge(viewer, ...units),
      room: async (characters) =>
        recipient && loaders.answerMemory.take(characters, recipient, viewer.rateLimitKey),
      limited,
    });
    return { viewer, loaders, recipient, budget, inSlices: true };
  };
  const execute = ({ compiled }: StoredOperation, variables: Variables, context: RequestContext) =>
    Promise.resolve(compiled(undefined, context, variables));
  return {
    schema,
    slicedSchema,
    contextFor,
    prepare: (source) => prepareOperation(schema, source),
    async run(operation, variableValues, context) {
      const result = await execute(operation, variableValues, { ...context, inSlices: false });
      if (largeHistoryIn(result) === undefined) return result;
      const contextValue = { ...context, counted: true };
      const { document } = operation;
      return executeUncompiled({ schema: slicedSchema, document, contextValue, variableValues });
    },
    execute: (operation, variables, viewer, recipient, counted = false) => {
      const context = contextFor(viewer, recipient, false);
      return execute(operation, variables, { ...context, counted, inSlices: false });
    },
    async *executeInParts(operation, variables, viewer, recipient, { key, octets }) {
      const context = { ...contextFor(viewer, recipient, false), counted: true };
      context.budget.granted();
      await context.budget.read(octets);
      const pages = await loaders.domainHistory.readPages({ ...key, recipient }, octets);
      if (pages === null) return;
      for await (const part of partsOfHistory(pages)) {
        yield await execute(operation, variables, { ...context, part });
      }
    },
  };
}

/** What kept a compiled operation from its data. */
export function largeHistoryIn({ errors }: ExecutionResult): LargeHistoryError | undefined {
  const found = errors?.find(({ originalError }) => originalError instanceof LargeHistoryError);
  return found?.originalError instanceof LargeHistoryError ? found.originalError : undefined;
}
