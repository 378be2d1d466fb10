import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
  parse,
  subscribe,
  validate,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Viewer } from '../auth/viewer.js';
import type { Loaders } from '../loaders/create-loaders.js';
import { type DomainHistoryKey, LargeHistoryError, partsOfHistory } from '../loaders/domain-history.js';
import type { Recipient } from '../loaders/recipient.js';
import { PublicError } from '../model/errors.js';
import { fairTurns } from '../rates/fair-turns.js';
import { createLimiters, type Limiters } from '../rates/limiters.js';
import type { RequestContext } from '../resolvers/context.js';
import { RequestBudget } from '../resolvers/request-budget.js';
import type { OnInternalError } from './format-error.js';
import type { Variables } from './limits/cost.js';
import { limitRates, type OnRateLimited, type RateLimits } from './rate-limit.js';
import { createSchema } from './schema.js';
import { executeInSlices } from './slices.js';

export type { LargeHistoryError, Loaders, Recipient };

/** An operation that is compiled once and runs many times. */
export interface StoredOperation {
  readonly compiled: CompiledQuery['query'];
  /** Of a subscription. */
  readonly subscribe: CompiledQuery['subscribe'];
  readonly document: DocumentNode;
}

/** Executes all operations, of GraphQL and of REST: the schema with its resolvers and limits. */
export interface GraphqlExecutor {
  readonly schema: GraphQLSchema;
  /** The same for graphql-js, which executes its long lists in slices: it takes ten times as long as a compiled one. */
  readonly slicedSchema: GraphQLSchema;
  /** Those of the primary, which has all that is recorded. */
  readonly primary: Loaders;

  /** Those that a request is to read from throughout: of a replica, unless there is none. */
  readFrom(): Loaders;

  /**
   * The context of a request for the schema's resolvers.
   *
   * @param recipient The response: once it is destroyed, nothing more is read from the database.
   * @param onInternalError Takes what Apollo Server fails with by itself, for the log.
   */
  contextFor(viewer: Viewer, recipient?: Recipient, onInternalError?: OnInternalError): RequestContext;

  /**
   * Compiles an operation of this program's own.
   *
   * @param source A document with one operation, whose variables have no default values, which the compiler ignores.
   * @throws Error for an invalid document: the program is wrong.
   */
  prepare(source: string): StoredOperation;

  /**
   * Executes a client's operation. What a resolver has thrown is in the result's errors, as `originalError`.
   *
   * @param context Of contextFor().
   */
  executeCompiled(
    operation: StoredOperation,
    variables: Variables,
    context: RequestContext,
  ): Promise<ExecutionResult>;

  /**
   * Executes a client's subscription.
   *
   * @param context Of contextFor(); its `resumeAfter` changes with each result.
   * @returns its results, or one with errors.
   */
  subscribe(
    document: DocumentNode,
    parameters: { readonly operationName: string | null; readonly variables: Variables },
    context: RequestContext,
  ): Promise<Subscribed>;

  /** The same for a subscription of this program's own. */
  subscribeStored(
    operation: StoredOperation,
    variables: Variables,
    context: RequestContext,
  ): Promise<Subscribed>;

  /**
   * Executes an operation of this program's own, which has one limited field: it is a unit of the rate limit, counted here and
   * not by the directive, whose resolvers take a tenth of a request's time. Its result is limited in size, and costs by it,
   * only if it is a page; with `inParts`, that of a large history is an error (largeHistoryIn). It is executed again where the domain
   * changed between its row and a page; if it did so each time, the result has the page's version as an extension.
   *
   * @param viewer Whose rate limit it takes from.
   * @param recipient The response: once it is destroyed, nothing more is read from the database.
   * @throws RateLimitedError
   */
  executeStored(
    operation: StoredOperation,
    variables: Variables,
    viewer: Viewer,
    recipient?: Recipient,
    options?: StoredOptions,
  ): Promise<ExecutionResult>;

  /**
   * Executes the same operation for a large history. Each result has a part of its lists, in their order.
   *
   * @param large What largeHistoryIn() has found in the result.
   * @param loaders Those that found it.
   * @returns no result where nothing is recorded of the domain any more.
   * @throws RateLimitedError or BusyError before the first result.
   */
  executeStoredInParts(
    operation: StoredOperation,
    variables: Variables,
    viewer: Viewer,
    recipient: Recipient | undefined,
    large: LargeHistoryError,
    loaders: Loaders,
  ): AsyncGenerator<ExecutionResult>;
}

/** The results of a subscription, or an error. */
export type Subscribed = AsyncIterableIterator<ExecutionResult> | ExecutionResult;

/** How a stored operation is executed. */
interface StoredOptions {
  /** Whether an earlier operation of the request was counted against the rate limit; if absent, it was not. */
  readonly counted?: boolean;
  /** Whether a large history is rejected, for executeStoredInParts(); if absent, it is read in one piece. */
  readonly inParts?: boolean;
  /** Whether the operation gives a page of a list; if absent, it does not. */
  readonly isPage?: boolean;
  /** What it reads from; absent: what readFrom() gives. */
  readonly loaders?: Loaders | undefined;
}

/** The loaders of the process, and the limits of each kind of viewer. */
interface GraphqlExecutorOptions {
  readonly loaders: Loaders;
  /** Gives the loaders that a request reads from; absent: all read from the same. */
  readonly readFrom?: (() => Loaders) | undefined;
  readonly rateLimits: RateLimits;
  /** Where requests are counted; absent: in this process' memory. */
  readonly limiters?: Limiters;
  readonly onRateLimited?: OnRateLimited | undefined;
}

interface ContextOptions extends Partial<Pick<RequestContext, 'onInternalError'>> {
  readonly onLarge?: RequestContext['onLarge'] | undefined;
  /** Whether the size of the result is limited; if absent, it is. */
  readonly limited?: boolean;
  readonly loaders?: Loaders | undefined;
}

/** One for each process, since it counts the requests of each client. */
export function createGraphqlExecutor(options: GraphqlExecutorOptions): GraphqlExecutor {
  const { loaders: primary, rateLimits, limiters = createLimiters(), onRateLimited } = options;
  const readFrom = options.readFrom ?? (() => primary);
  const unlimited = createSchema();
  const { schema, charge } = limitRates(unlimited, { limits: rateLimits, limiters, onRateLimited });
  const slicedSchema = executeInSlices(schema);
  const contextOf = (viewer: Viewer, recipient?: Recipient, options: ContextOptions = {}): RequestContext => {
    const { limited = true, onLarge, onInternalError, loaders = readFrom() } = options;
    const budget = new RequestBudget({
      charge: (...units) => charge(viewer, ...units),
      room: async (characters) =>
        recipient && loaders.responseMemory.take(characters, recipient, viewer.rateLimitKey),
      release: () => recipient && loaders.responseMemory.release(recipient),
      turn: (milliseconds) => fairTurns.take(viewer.rateLimitKey, milliseconds),
      isWanted: () => recipient?.destroyed !== true,
      limited,
    });
    return {
      viewer,
      loaders,
      primary,
      recipient,
      budget,
      onLarge: onLarge ?? ((key, octets) => readInOnePiece(budget, key, octets, loaders.mostOctets)),
      onInternalError,
    };
  };
  const execute = ({ compiled }: StoredOperation, variables: Variables, context: RequestContext) =>
    Promise.resolve(compiled(undefined, context, variables));
  return {
    schema,
    slicedSchema,
    primary,
    readFrom,
    contextFor: (viewer, recipient, onInternalError) => contextOf(viewer, recipient, { onInternalError }),
    prepare(source) {
      const document = parse(source, { noLocation: true });
      const errors = validate(unlimited, document);
      if (errors.length > 0) throw invalidOperation(errors);
      return compileOperation(unlimited, document);
    },
    executeCompiled: execute,
    subscribe: async (document, { operationName, variables }, contextValue) =>
      subscribe({
        ...{ schema: slicedSchema, document, contextValue },
        ...{ variableValues: variables, operationName },
      }),
    async subscribeStored({ subscribe: compiled }, variables, context) {
      if (compiled === undefined) throw new Error('The operation is no subscription.');
      return compiled(undefined, context, variables);
    },
    async executeStored(operation, variables, viewer, recipient, options = {}) {
      const { counted = false, inParts = false, isPage = false, loaders } = options;
      const onLarge = inParts ? rejectLarge : undefined;
      const context = contextOf(viewer, recipient, { limited: isPage, onLarge, loaders });
      if (!counted) await charge(viewer, 1, 0);
      context.budget.granted('');
      const result = await inOneState(context.budget, () => execute(operation, variables, context));
      const version = context.budget.stateOfPage?.version;
      return version == null ? result : { ...result, extensions: { version: String(version) } };
    },
    async *executeStoredInParts(operation, variables, viewer, recipient, { key, octets }, loaders) {
      const context = contextOf(viewer, recipient, { limited: false, loaders });
      context.budget.granted(key.name);
      await context.budget.read(octets);
      const pages = await loaders.domainHistory.readPages({ ...key, recipient }, octets);
      if (pages === null) return;
      for await (const part of partsOfHistory(pages, key.client)) {
        yield await execute(operation, variables, { ...context, part });
      }
    },
  };
}

/** How often an operation is executed whose domain changes meanwhile. */
const MAX_EXECUTIONS = 4;
/**
 * Executes an operation again where a domain has changed between its row and a page of it (versionOf). What it has paid for stays
 * paid.
 *
 * @param mostUnits One that costs more is executed once.
 * @returns the last result: the budget tells whether it still is of two states.
 */
export async function inOneState<Result extends { readonly errors?: unknown }>(
  budget: RequestBudget,
  execute: () => Promise<Result>,
  mostUnits = Number.POSITIVE_INFINITY,
): Promise<Result> {
  for (let execution = 1; ; execution += 1) {
    const result = await execute();
    const isLast = execution === MAX_EXECUTIONS || result.errors !== undefined || budget.units > mostUnits;
    if (isLast || budget.stateOfPage === undefined) return result;
    budget.repeat();
  }
}

/** In octets: a larger history would take more than 600 MB in one piece, whatever is selected of it. REST sends it in parts. */
const LARGEST_IN_ONE_PIECE = 64 * 1024 ** 2;

async function readInOnePiece(
  budget: RequestBudget,
  { name }: DomainHistoryKey,
  octets: number,
  most: number,
): Promise<void> {
  if (octets > LARGEST_IN_ONE_PIECE) {
    const message = `The history of ${name} that is requested is larger than 64 MB, and cannot be read in one piece. dnsRecordsConnection and httpHeadersConnection have its pages, and Get domain of REST all of it, also as of a time.`;
    throw new PublicError('QUERY_TOO_COMPLEX', message);
  }
  await budget.read(octets, most);
}

/** For executions that a large history must not be part of. */
async function rejectLarge(key: DomainHistoryKey, octets: number): Promise<never> {
  throw new LargeHistoryError(key, octets);
}

/** The large history that an execution has rejected. */
export function largeHistoryIn({ errors }: ExecutionResult): LargeHistoryError | undefined {
  const found = errors?.find(({ originalError }) => originalError instanceof LargeHistoryError);
  return found?.originalError instanceof LargeHistoryError ? found.originalError : undefined;
}

/**
 * Compiles a valid document with one operation.
 *
 * @throws Error where the compiler cannot.
 */
export function compileOperation(schema: GraphQLSchema, document: DocumentNode): StoredOperation {
  // What the loaders give has its types from the database: strings and enums need no second check.
  const compiled = compileQuery(schema, document, undefined, { disableLeafSerialization: true });
  if (!isCompiledQuery(compiled)) throw invalidOperation(compiled.errors ?? []);
  return { compiled: compiled.query, subscribe: compiled.subscribe, document };
}

function invalidOperation(errors: readonly GraphQLError[]): Error {
  const reasons = errors.map(({ message }) => message).join(' ');
  return new AggregateError(errors, `The operation cannot be compiled. ${reasons}`);
}
