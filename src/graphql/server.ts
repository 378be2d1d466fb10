import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { Penalties } from '../rates/penalties.js';
import { readOnlyPlugin, retryAfterPlugin } from './answer-plugins.js';
import { costPlugin, type ExaminedContext } from './cost-plugin.js';
import type { GraphqlDoor } from './execute.js';
import { formatError, type OnInternalError } from './format-error.js';
import { FrequentOperations } from './frequent-operations.js';
import { DocumentLimit } from './limit-documents.js';
import { MOST_TOKENS } from './limits/limits.js';
import { QueryLimits } from './limits/query-limits.js';
import { ListedOperations, requireAnswerable } from './persisted/listed-operations.js';
import type { PersistedOperations } from './persisted/persisted-operations.js';
import { RegisteredOperations } from './persisted/registered-operations.js';
import { sandboxPlugin } from './sandbox.js';
import { stringifyInSlices } from './slices.js';
import { ValidDocuments } from './valid-documents.js';

/** What GraphQL over HTTP is answered with. */
export interface GraphqlServer {
  readonly apollo: ApolloServer<ExaminedContext>;
  readonly door: GraphqlDoor;
  readonly limits: QueryLimits;
  readonly persisted: PersistedOperations;
  readonly frequentOperations: FrequentOperations;
  readonly onInternalError: OnInternalError;
  /** Whether `GET /graphql` in a browser opens Apollo Sandbox. */
  readonly sandbox: boolean;
  readonly documents: DocumentLimit | undefined;
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
  /** What one request may cost. */
  readonly maxCost: number;
  /** The documents that alone are answered, by their ids; absent: any document is. */
  readonly knownOperations?: ReadonlyMap<string, string> | undefined;
}

/**
 * Starts Apollo Server on the door's schema. It reports nothing to anyone, and handles no signals.
 *
 * @throws OperationError where one of the known operations cannot be answered.
 */
export async function createGraphqlServer(
  door: GraphqlDoor,
  { onInternalError, sandbox, introspection, maxCost, knownOperations, documents }: GraphqlServerOptions,
): Promise<GraphqlServer> {
  const limits = new QueryLimits(door.schema, maxCost);
  if (knownOperations !== undefined) requireAnswerable(knownOperations, door.schema, limits);
  const persisted =
    knownOperations === undefined ? new RegisteredOperations() : new ListedOperations(knownOperations);
  const apollo = new ApolloServer<ExaminedContext>({
    schema: door.slicedSchema,
    stringifyResult: async (result) => `${await stringifyInSlices(result)}\n`,
    // Said here, so that the environment's NODE_ENV decides nothing.
    nodeEnv: 'production',
    includeStacktraceInErrorResponses: false,
    introspection,
    csrfPrevention: true,
    hideSchemaDetailsFromClientErrors: true,
    allowBatchedHttpRequests: false,
    persistedQueries: { cache: persisted, ttl: null },
    documentStore: new ValidDocuments(),
    parseOptions: { maxTokens: MOST_TOKENS },
    stopOnTerminationSignals: false,
    logger: SILENT,
    formatError: (formatted, error) => formatError(formatted, error, onInternalError),
    plugins: [
      ...REPORTING_DISABLED,
      sandbox ? sandboxPlugin() : ApolloServerPluginLandingPageDisabled(),
      logPlugin(onInternalError),
      readOnlyPlugin,
      costPlugin,
      retryAfterPlugin,
    ],
  });
  await apollo.start();
  const frequentOperations = new FrequentOperations(door.schema, limits);
  return {
    ...{ apollo, door, limits, persisted, frequentOperations, onInternalError, sandbox },
    documents: documents && new DocumentLimit(documents),
  };
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
