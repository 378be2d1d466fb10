import { readFileSync } from 'node:fs';
import { ApolloServer, type ApolloServerPlugin, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { ApolloServerPluginLandingPageLocalDefault } from '@apollo/server/plugin/landingPage/default';
import type { GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import type { Documents } from './documents.js';

interface ApolloOptions {
  /** Whether `GET /graphql` in a browser opens Apollo Sandbox. */
  readonly sandbox: boolean;
}

/**
 * Starts Apollo Server: it resolves a document's operation, coerces variables, executes, and makes the page of Sandbox.
 * It sends no reports, and handles no signals.
 *
 * Its other steps are disabled, since over-http.ts does them before: reading the request, CSRF
 * prevention and persisted queries (request.ts and documents.ts: rejected requests must cost next to nothing), parsing
 * and validation (documents.ts, once for each document and after the limits; the document store hands the result
 * over), and writing the response (long ones are written in slices).
 */
export async function startApollo(
  schema: GraphQLSchema,
  documents: Documents,
  { sandbox }: ApolloOptions,
): Promise<ApolloServer<RequestContext>> {
  const apollo = new ApolloServer<RequestContext>({
    schema,
    // Set here, so that NODE_ENV of the environment changes nothing.
    nodeEnv: 'production',
    includeStacktraceInErrorResponses: false,
    introspection: true,
    hideSchemaDetailsFromClientErrors: true,
    persistedQueries: false,
    documentStore: documentStoreOf(documents),
    // As documents.ts does, should the document be forgotten meanwhile.
    parseOptions: { noLocation: true },
    stopOnTerminationSignals: false,
    logger: SILENT,
    formatError(formatted, error) {
      thrownErrors.set(formatted, error);
      return formatted;
    },
    plugins: [
      // Cache control would wrap every field's resolver for hints that the schema does not have.
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      sandbox ? sandboxPlugin() : ApolloServerPluginLandingPageDisabled(),
      {
        async unexpectedErrorProcessingRequest({ error, requestContext }) {
          requestContext.contextValue.onInternalError?.(error);
        },
      },
    ],
  });
  await apollo.start();
  return apollo;
}

/** Of errors in results: Apollo Server formats them where the request is not known, whose id the log has. */
const thrownErrors = new WeakMap<GraphQLFormattedError, unknown>();

/** The error that was thrown, for one in a result of Apollo Server. */
export function thrownErrorOf(formatted: GraphQLFormattedError): unknown {
  return thrownErrors.get(formatted);
}

/** The length of a SHA-256 in hexadecimal, with which Apollo Server's keys end. */
const HASH_LENGTH = 64;

function documentStoreOf(documents: Documents) {
  return {
    get: async (key: string) => documents.valid(key.slice(-HASH_LENGTH)),
    set: async () => {},
    delete: async () => false,
  };
}

/** What Apollo Server logs of errors comes to `onInternalError` with the error itself. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {}

const QUERIES_FILE = new URL('../../samples/queries.graphql', import.meta.url);

/** The ready queries as a part of an address, where short selections in one line and tabs are shorter. */
export function sandboxDocument(): string {
  return readFileSync(QUERIES_FILE, 'utf8')
    .replaceAll(
      /\{([^{}]{1,120})\}/g,
      (_set, fields: string) => `{ ${fields.trim().replaceAll(/\s+/g, ' ')} }`,
    )
    .replaceAll(/(?<=^ *) {2}/gm, '\t');
}

/** Apollo Sandbox, opened with the ready queries of samples/queries.graphql. */
function sandboxPlugin(): ApolloServerPlugin {
  return ApolloServerPluginLandingPageLocalDefault({
    embed: { runTelemetry: false, endpointIsEditable: false, initialState: { pollForSchemaUpdates: false } },
    includeCookies: false,
    document: sandboxDocument(),
    variables: { domain: 'example.com' },
  });
}

/** The HTML of Apollo Sandbox. Apollo Server gets nothing of the request, so that it cannot execute it. */
export async function sandboxPage(apollo: ApolloServer<RequestContext>): Promise<string> {
  const { body } = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: {
      method: 'GET',
      headers: new HeaderMap([['accept', 'text/html']]),
      search: '',
      body: null,
    },
    context: () => Promise.reject(new Error('Apollo Server has not sent its page.')),
  });
  if (body.kind !== 'complete') throw new Error('Apollo Server has sent its page in parts.');
  return body.string;
}

/**
 * The content security policy of the page: Apollo's script, its frame, and the icon and font that the page names. The
 * script in the page sends the frame's requests to this server. Nonces are new for each page.
 */
export function sandboxPolicy(html: string): string {
  const nonce = /'(nonce-[0-9a-f]+)'/.exec(html)?.[1];
  if (nonce === undefined) throw new Error("Apollo's page has no nonce for its scripts.");
  const sources: Readonly<Record<string, string>> = {
    'default-src': "'none'",
    'script-src': `'${nonce}' https://embeddable-sandbox.cdn.apollographql.com`,
    'style-src': `'${nonce}' https://embeddable-sandbox.cdn.apollographql.com https://fonts.googleapis.com`,
    'font-src': 'https://fonts.gstatic.com',
    'img-src': 'https://apollo-server-landing-page.cdn.apollographql.com',
    'manifest-src': 'https://apollo-server-landing-page.cdn.apollographql.com',
    'frame-src': 'https://sandbox.embed.apollographql.com',
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  };
  return Object.entries(sources)
    .map(([directive, list]) => `${directive} ${list}`)
    .join('; ');
}
