import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  validate,
  visit,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Feed } from '../feed/feed.js';
import type { Caller } from '../limits/caller.js';
import { Costs, NO_COST, type RequestCost, type Variables } from '../limits/costs.js';
import { Gate, LARGE_HISTORIES } from '../limits/gate.js';
import { createLimiters, type Limiters } from '../limits/rates.js';
import { ResponseSize, TooLargeError } from '../limits/response-size.js';
import { nextTurn } from '../limits/turns.js';
import type { Loaders } from '../loaders/create-loaders.js';
import type { RequestContext } from '../resolvers/context.js';
import { limitRates, type OnRateLimited, type RateLimits } from './rate-limit.js';
import { createSchema } from './schema.js';

export type { Loaders };

export type StoredOperation = ReturnType<GraphqlExecutor['prepare']>;

interface Execution extends Pick<ExecutionArgs, 'document' | 'operationName'> {
  readonly variableValues: Variables;
  readonly contextValue: RequestContext;
}

export interface GraphqlExecutorOptions {
  readonly loaders: Loaders;
  /** Gives the loaders that a request reads from; absent: all read from the same. */
  readonly readFrom?: (() => Loaders) | undefined;
  readonly feed: Pick<Feed, 'listen' | 'page'>;
  readonly rateLimits: RateLimits;
  readonly limiters?: Limiters;
  readonly onRateLimited?: OnRateLimited | undefined;
  readonly gate?: Gate;
}

/** Executes all operations, of GraphQL and of REST: the schema with resolvers and limits. One for a process. */
export class GraphqlExecutor {
  /** With the limits of `@rateLimit`, for the operations of clients. */
  readonly schema: GraphQLSchema;
  /** Takes units from what a caller may spend. It throws RateLimitedError where nothing is left. */
  readonly charge: ReturnType<typeof limitRates>['charge'];
  readonly gate: Gate;
  /** Where requests that read a large history take a second place. */
  readonly largeHistories = new Gate(LARGE_HISTORIES);
  readonly primary: Loaders;
  readonly #options: GraphqlExecutorOptions;
  readonly #unlimited = createSchema();
  readonly costs = new Costs(this.#unlimited);
  /** The documents of clients; null: it has come once. */
  readonly #documents = new WeakMap<DocumentNode, { readonly compiled: CompiledQuery | undefined } | null>();

  constructor(options: GraphqlExecutorOptions) {
    const { loaders, rateLimits, limiters = createLimiters(), onRateLimited, gate = new Gate() } = options;
    this.#options = options;
    this.gate = gate;
    this.primary = loaders;
    const { schema, charge } = limitRates(this.#unlimited, rateLimits, limiters, onRateLimited);
    this.schema = schema;
    this.charge = charge;
  }

  /** What a request reads from: a replica, unless it may continue what it got elsewhere, or there is none. */
  readFrom(continues: boolean): Loaders {
    return continues ? this.primary : (this.#options.readFrom?.() ?? this.primary);
  }

  contextFor(caller: Caller, loaders = this.primary, rejectsLarge = false): RequestContext {
    const spent = { units: 0 };
    return {
      caller,
      loaders,
      primary: this.primary,
      feed: this.#options.feed,
      size: new ResponseSize(),
      cost: NO_COST,
      spent,
      rejectsLarge,
      charge: async (units) => {
        await this.charge(caller, units);
        spent.units += units;
      },
    };
  }

  /** Compiled when it first runs. @param source Has one operation, whose variables have no default values. */
  prepare(source: string) {
    const document = parse(source, { noLocation: true });
    const operation = getOperationAST(document);
    const errors = validate(this.#unlimited, document);
    if (errors.length > 0 || operation == null) {
      throw new AggregateError(errors, `The operation is not valid: ${source}`);
    }
    let compiled: CompiledQuery | undefined;
    const compile = (): CompiledQuery => {
      const query = compiled ?? compileQuery(this.#unlimited, document, undefined, COMPILER);
      if (!isCompiledQuery(query)) throw new Error(`The operation cannot be compiled: ${source}`);
      compiled = query;
      return query;
    };
    const cost = (variables: Variables) => this.costs.of(document, operation, variables);
    return {
      cost,
      /** Once it is paid for. @param rejectsLarge Whether a large history is a LargeHistoryError. */
      execute: async (variables: Variables, caller: Caller, loaders: Loaders, rejectsLarge = false) => {
        const { query } = compile();
        return query(undefined, this.contextFor(caller, loaders, rejectsLarge), variables);
      },
      subscribe: async (variables: Variables, caller: Caller) => {
        const context = Object.assign(this.contextFor(caller), { cost: cost(variables) });
        const subscribed = await compile().subscribe?.(undefined, context, variables);
        return subscribed ?? { errors: [new GraphQLError('The operation is not a subscription.')] };
      },
    };
  }

  /** Executes a client's valid operation, compiled where its document is small and has come before. */
  async execute(execution: Execution): Promise<ExecutionResult> {
    const { document, operationName, contextValue } = execution;
    const operation = getOperationAST(document, operationName);
    const compiled = operation == null ? undefined : this.#compiled(document, contextValue.cost);
    const result = withinErrors(
      operation == null || compiled === undefined
        ? await execute({ schema: this.schema, ...execution })
        : await this.#executeCompiled(compiled, operation, execution),
    );
    // To write a large result takes as long again: it has its own turn.
    if (contextValue.size.octets > LARGE_RESULT) await nextTurn();
    return result;
  }

  async #executeCompiled(
    { query }: CompiledQuery,
    { variableDefinitions = [] }: OperationDefinitionNode,
    { variableValues, contextValue }: Execution,
  ): Promise<ExecutionResult> {
    // The compiler collects every error of a list: of 99,000 values, for a second. graphql-js stops at 50.
    const options = { maxErrors: 50 };
    const { errors } = getVariableValues(this.schema, variableDefinitions, variableValues, options);
    if (errors !== undefined) return { errors };
    const result = await query(undefined, contextValue, variableValues);
    if (!result.errors) return result;
    // The compiler makes an empty list of locations for documents without them.
    const withoutLocations = ({ message, path, originalError, extensions }: GraphQLError) =>
      new GraphQLError(message, { path, originalError, extensions });
    return { ...result, errors: result.errors.map(withoutLocations) };
  }

  /** Documents are compiled when they come back, if isCompilable() allows it. */
  #compiled(document: DocumentNode, cost: RequestCost): CompiledQuery | undefined {
    const known = this.#documents.get(document);
    if (known === undefined) {
      this.#documents.set(document, null);
      return undefined;
    }
    if (known !== null) return known.compiled;
    const query = isCompilable(document, cost) && compileQuery(this.schema, document, undefined, COMPILER);
    const compiled = query && isCompiledQuery(query) ? query : undefined;
    this.#documents.set(document, { compiled });
    return compiled;
  }
}

/** In octets: to write as many takes some milliseconds. */
const LARGE_RESULT = 256 * 1024;

/** What the loaders give has its types from the database: strings and enums need no second check. */
const COMPILER = { disableLeafSerialization: true };

/** Tokens of a document, and fields that are written for it: to compile 1,400 took 300 ms, in one turn. */
const MAX_COMPILED = 1_000;

/**
 * Whether the compiler is quick with a valid document, and executes it as graphql-js does: one query, and no
 * directives, introspection, or defaults of variables.
 */
export function isCompilable(document: DocumentNode, { written }: Pick<RequestCost, 'written'>): boolean {
  const { tokenCount = Number.POSITIVE_INFINITY } = document;
  if (Math.max(tokenCount, written) > MAX_COMPILED) return false;
  let isKnown = getOperationAST(document)?.operation === OperationTypeNode.QUERY;
  const reject = () => {
    isKnown = false;
  };
  visit(document, {
    Directive: reject,
    Field: ({ alias, name }) => {
      if (name.value.startsWith('__') ? name.value !== '__typename' : alias?.value === '__proto__') reject();
    },
    VariableDefinition: ({ variable, defaultValue }) => {
      if (defaultValue !== undefined || variable.name.value === '__proto__') reject();
    },
  });
  return isKnown;
}

/** As many as a document can have fields at its root, each of which may be one that is not paid for. */
const MAX_TOLD = 2_500;

/** A result whose errors can be told: where lists multiply them, they would exceed what a response may be. */
function withinErrors(result: ExecutionResult): ExecutionResult {
  if ((result.errors?.length ?? 0) <= MAX_TOLD) return result;
  const what = `The response has more than ${MAX_TOLD} errors.`;
  const error = new TooLargeError(what, 'Ask for less in one request.');
  return { data: null, errors: [new GraphQLError(error.message, { originalError: error })] };
}
