import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { DocumentNode, ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { GraphqlExecutor } from './execute.js';
import { formatError, shownError } from './format-error.js';
import { createPlugin, type GraphqlContext } from './plugin.js';
import { sandboxPlugin } from './sandbox.js';

export interface GraphqlServerOptions {
  readonly introspection: boolean;
  readonly sandbox: boolean;
  /** How many fields a response may have, about. */
  readonly maxFields: number;
}

/** Every value of a document is a token: 100 domains with every field, by a fragment, have 1,400. */
const MAX_TOKENS = 10_000;

/** It sends no reports, and handles no signals. */
export async function startGraphqlServer(
  executor: GraphqlExecutor,
  { introspection, sandbox, maxFields }: GraphqlServerOptions,
): Promise<ApolloServer<GraphqlContext>> {
  const { schema } = executor;
  const plugin = createPlugin(executor, maxFields);
  const plugins: ApolloServerPlugin<GraphqlContext>[] = [
    // Cache control would wrap every field's resolver for hints that the schema does not have.
    ApolloServerPluginCacheControlDisabled(),
    ApolloServerPluginSchemaReportingDisabled(),
    ApolloServerPluginUsageReportingDisabled(),
    sandbox ? sandboxPlugin() : ApolloServerPluginLandingPageDisabled(),
    {
      requestDidStart: async () => plugin,
      async unexpectedErrorProcessingRequest({ error, requestContext: { operation, contextValue } }) {
        const { outcome, onInternalError } = contextValue;
        // Such as a document that is nested too deep to be validated.
        if (operation === undefined) outcome.rejection = shownError(error, onInternalError);
        else onInternalError(error);
      },
    },
  ];
  const apollo = new ApolloServer<GraphqlContext>({
    // The way to an executor of one's own.
    gateway: {
      load: async () => ({
        executor: async ({ document, request: { operationName, variables = {} }, context }) => {
          // The interface of gateways has no type for it.
          const contextValue = context as GraphqlContext;
          const { caller, cost, outcome } = contextValue;
          outcome.leave = await executor.gate.enter(caller, cost.isSearch).catch((error: unknown) => {
            throw shownError(error);
          });
          const execution = { document, operationName, variableValues: variables, contextValue };
          const { data, errors } = await executor.execute(execution);
          const extensions = data === undefined ? undefined : { cost: contextValue.spent.units };
          // With all of its keys: Apollo Server sets them in a copy; V8 would make a hidden class for each.
          return { data, errors, extensions } as ExecutionResult;
        },
      }),
      onSchemaLoadOrUpdate(callback) {
        callback({ apiSchema: schema, coreSupergraphSdl: '' });
        return () => {};
      },
      stop: async () => {},
    },
    // Set here, so that NODE_ENV of the environment changes nothing.
    nodeEnv: 'production',
    includeStacktraceInErrorResponses: false,
    introspection,
    hideSchemaDetailsFromClientErrors: !introspection,
    // over-http.ts knows what comes from pages of other sites.
    csrfPrevention: false,
    parseOptions: { noLocation: true, maxTokens: MAX_TOKENS },
    // Each error compares a name with those of the schema.
    validationOptions: { maxErrors: 20 },
    // A token takes about 500 octets of memory.
    documentStore: storeOf<DocumentNode>(100_000, ({ tokenCount = MAX_TOKENS }) => tokenCount),
    // By characters.
    persistedQueries: { cache: storeOf<string>(4_000_000, ({ length }) => length) },
    stopOnTerminationSignals: false,
    logger: SILENT,
    formatError,
    plugins,
  });
  await apollo.start();
  return apollo;
}

/** What was used last, up to a size in all. */
function storeOf<Value extends object | string>(maxSize: number, sizeOf: (value: Value) => number) {
  const kept = new LRUCache<string, Value>({ maxSize, sizeCalculation: (value) => sizeOf(value) + 1 });
  return {
    get: async (key: string) => kept.get(key),
    set: async (key: string, value: Value) => void kept.set(key, value),
    delete: async (key: string) => kept.delete(key),
  };
}

/** What Apollo Server logs of errors comes to `onInternalError` with the error itself. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
