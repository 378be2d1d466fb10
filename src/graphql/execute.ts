import { type ExecutionResult, execute, type GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.js';
import type { Loaders } from '../loaders/create-loaders.js';
import type { Recipient } from '../loaders/recipient.js';
import { LargeHistoryError } from '../model/errors.js';
import { createLimiters, type Limiters } from '../rates/limiters.js';
import type { RequestContext } from '../resolvers/context.js';
import { RequestBudget } from '../resolvers/request-budget.js';
import { limitRates, type OnRateLimited, type RateLimits } from './rate-limit.js';
import { createSchema } from './schema.js';
import { executeInSlices } from './slices.js';
import { prepareOperation, type StoredOperation } from './stored-operation.js';

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
  run(
    operation: StoredOperation,
    variables: Readonly<Record<string, unknown>>,
    context: RequestContext,
  ): Promise<ExecutionResult>;

  /**
   * Runs an operation of this program's own, in the same way. Its answer is not limited.
   *
   * @param viewer Who asks, and whose budget of requests it takes from.
   * @param recipient Who gets the answer: once it is destroyed, nothing more is asked of the database.
   * @param counted Whether the same request has run an operation on the same domain already: it counts once.
   */
  execute(
    operation: StoredOperation,
    variables: Readonly<Record<string, unknown>>,
    viewer: Viewer,
    recipient?: Recipient,
    counted?: boolean,
  ): Promise<ExecutionResult>;
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
      room: async (characters) => recipient && loaders.answerMemory.take(characters, recipient),
      limited,
    });
    return { viewer, loaders, recipient, budget, inSlices: true };
  };
  const run: GraphqlDoor['run'] = async ({ compiled, document }, variableValues, context) => {
    const result = await compiled(undefined, { ...context, inSlices: false }, variableValues);
    if (!result.errors?.some(({ originalError }) => originalError instanceof LargeHistoryError))
      return result;
    const contextValue = { ...context, counted: true };
    return execute({ schema: slicedSchema, document, contextValue, variableValues });
  };
  return {
    schema,
    slicedSchema,
    contextFor,
    prepare: (source) => prepareOperation(schema, source),
    run,
    execute: (operation, variables, viewer, recipient, counted = false) =>
      run(operation, variables, { ...contextFor(viewer, recipient, false), counted }),
  };
}
