import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { GraphqlContext } from './context.js';
import type { GraphqlExecutor } from './execute.js';
import { formatError, shownError } from './format-error.js';
import { costPlugin } from './plugins/cost.js';
import { errorsPlugin } from './plugins/errors.js';
import { responsePlugin } from './plugins/response.js';
import { subscriptionPlugin } from './plugins/subscription.js';
import { sandboxPlugin } from './sandbox.js';

export interface GraphqlServerOptions {
  /** Whether clients may query the schema. */
  readonly introspection: boolean;
  /** Whether a browser gets Apollo Sandbox. */
  readonly sandbox: boolean;
  /** How many fields a response may have, about. */
  readonly maxEstimate: number;
}

/** Every value of a document is a token: 100 domains with every field, by a fragment, have 1,400. */
const MAX_TOKENS = 10_000;
/** Of all documents that are kept: a token takes about 500 octets of memory. */
const MAX_KEPT_TOKENS = 100_000;
/** Of the texts that clients have registered by their SHA-256, in characters. */
const MAX_REGISTERED = 4_000_000;
/** Validation errors that are told: each compares a name with those of the schema. */
const MAX_VALIDATION_ERRORS = 20;

/**
 * Starts Apollo Server: it reads requests, finds persisted queries, parses, validates, coerces variables, formats errors and writes
 * responses. What the service adds is a plugin each, in the order of a request. It sends no reports, and handles no signals.
 */
export async function startGraphqlServer(
  executor: GraphqlExecutor,
  { introspection, sandbox, maxEstimate }: GraphqlServerOptions,
): Promise<ApolloServer<GraphqlContext>> {
  const { schema } = executor;
  const plugins: ApolloServerPlugin<GraphqlContext>[] = [
    // Cache control would wrap every field's resolver for hints that the schema does not have.
    ApolloServerPluginCacheControlDisabled(),
    ApolloServerPluginInlineTraceDisabled(),
    ApolloServerPluginSchemaReportingDisabled(),
    ApolloServerPluginUsageReportingDisabled(),
    sandbox ? sandboxPlugin() : ApolloServerPluginLandingPageDisabled(),
    errorsPlugin(),
    costPlugin(executor, maxEstimate),
    subscriptionPlugin(executor),
    responsePlugin(),
    {
      async unexpectedErrorProcessingRequest({ error, requestContext: { operation, contextValue } }) {
        // Validation had no more room on the stack.
        if (error instanceof RangeError && operation === undefined) contextValue.outcome.isTooDeep = true;
        else contextValue.onInternalError(error);
      },
    },
  ];
  const apollo = new ApolloServer<GraphqlContext>({
    // The way to an executor of one's own.
    gateway: {
      load: async () => ({
        executor: async ({ document, request: { operationName, variables = {} }, context: given }) => {
          // The interface of gateways has no type for it.
          const context = given as GraphqlContext;
          context.outcome.leave = await executor
            .enter(context.caller, context.cost)
            .catch((error: unknown) => Promise.reject(shownError(error)));
          return executor.execute({ document, operationName, variables, context });
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
    validationOptions: { maxErrors: MAX_VALIDATION_ERRORS },
    documentStore: documentStore(),
    persistedQueries: { cache: textStore() },
    stopOnTerminationSignals: false,
    logger: SILENT,
    formatError,
    plugins,
  });
  await apollo.start();
  return apollo;
}

/** Parsed and valid documents by the SHA-256 of their texts. */
function documentStore() {
  const documents = new LRUCache<string, DocumentNode>({
    maxSize: MAX_KEPT_TOKENS,
    sizeCalculation: ({ tokenCount = MAX_TOKENS }) => tokenCount + 1,
  });
  return {
    get: async (key: string) => documents.get(key),
    set: async (key: string, document: DocumentNode) => void documents.set(key, document),
    delete: async (key: string) => documents.delete(key),
  };
}

/** The texts of automatic persisted queries. */
function textStore() {
  const texts = new LRUCache<string, string>({
    maxSize: MAX_REGISTERED,
    sizeCalculation: ({ length }) => length + 1,
  });
  return {
    get: async (key: string) => texts.get(key),
    set: async (key: string, text: string) => void texts.set(key, text),
    delete: async (key: string) => texts.delete(key),
  };
}

/** What Apollo Server logs of errors comes to `onInternalError` with the error itself. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {}
