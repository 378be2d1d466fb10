import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { Penalties } from '../rates/penalties.js';
import type { RequestContext } from '../resolvers/context.js';
import type { GraphqlDoor } from './execute.js';
import { formatError, type OnInternalError } from './format-error.js';
import { FrequentOperations } from './frequent-operations.js';
import { MOST_SELECTIONS, MOST_TOKENS } from './limits.js';
import { retryAfterOf } from './retry-after.js';
import { sandboxPlugin } from './sandbox.js';

/** What GraphQL over HTTP is answered with. */
export interface GraphqlServer {
  readonly apollo: ApolloServer<RequestContext>;
  readonly door: GraphqlDoor;
  readonly frequentOperations: FrequentOperations;
  readonly onInternalError: OnInternalError;
  /** Whether `GET /graphql` in a browser opens Apollo Sandbox. */
  readonly sandbox: boolean;
  readonly documents: Penalties | undefined;
}

export interface GraphqlServerOptions {
  /** Takes the errors that clients are not told, for the log. */
  readonly onInternalError: OnInternalError;
  /** Whether `GET /graphql` in a browser opens Apollo Sandbox. */
  readonly sandbox: boolean;
  /** Whether clients may ask for the schema. */
  readonly introspection: boolean;
  /** Counts the requests that ask for nothing that is limited by itself; absent: they are not limited. */
  readonly documents?: Penalties;
}

/** Starts Apollo Server on the door's schema. It reports nothing to anyone, and handles no signals. */
export async function createGraphqlServer(
  door: GraphqlDoor,
  { onInternalError, sandbox, introspection, documents }: GraphqlServerOptions,
): Promise<GraphqlServer> {
  const apollo = new ApolloServer<RequestContext>({
    schema: door.schema,
    // Said here, so that the environment's NODE_ENV decides nothing.
    nodeEnv: 'production',
    includeStacktraceInErrorResponses: false,
    introspection,
    csrfPrevention: true,
    hideSchemaDetailsFromClientErrors: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    parseOptions: { maxTokens: MOST_TOKENS },
    maxRecursiveSelections: MOST_SELECTIONS,
    stopOnTerminationSignals: false,
    logger: SILENT,
    formatError: (formatted, error) => formatError(formatted, error, onInternalError),
    plugins: [
      ...REPORTING_DISABLED,
      sandbox ? sandboxPlugin() : ApolloServerPluginLandingPageDisabled(),
      logPlugin(onInternalError),
      retryAfterPlugin,
    ],
  });
  await apollo.start();
  const frequentOperations = new FrequentOperations(door.schema);
  return { apollo, door, frequentOperations, onInternalError, sandbox, documents };
}

/** Cache control would have every field's resolver wrapped for hints that the schema does not give. */
const REPORTING_DISABLED: readonly ApolloServerPlugin[] = [
  ApolloServerPluginCacheControlDisabled(),
  ApolloServerPluginInlineTraceDisabled(),
  ApolloServerPluginSchemaReportingDisabled(),
  ApolloServerPluginUsageReportingDisabled(),
];

/** What Apollo Server logs of errors comes to `onInternalError` with the error itself. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {}

function logPlugin(onInternalError: OnInternalError): ApolloServerPlugin {
  return { unexpectedErrorProcessingRequest: async ({ error }) => onInternalError(error) };
}

const retryAfterPlugin: ApolloServerPlugin = {
  requestDidStart: async () => ({
    willSendResponse: async ({ response: { body, http } }) => {
      const retryAfter = body.kind === 'single' ? retryAfterOf(body.singleResult.errors) : undefined;
      if (retryAfter !== undefined) http.headers.set('retry-after', String(retryAfter));
    },
  }),
};
