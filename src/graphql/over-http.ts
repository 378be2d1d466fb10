import type { IncomingMessage, ServerResponse } from 'node:http';
import { HeaderMap, type HTTPGraphQLResponse } from '@apollo/server';
import { GraphQLError, Kind, parse, validate } from 'graphql';
import { requireToken, type Viewer } from '../auth/viewer.js';
import { requireWithinLimits } from '../limits/costs.js';
import { setRateFields } from '../limits/rates.js';
import { OperationError, PublicError } from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';
import { searchOf } from '../model/request-target.js';
import { PARTS, type StreamFormat } from './event-stream.js';
import type { GraphqlExecutor } from './execute.js';
import { shownError } from './format-error.js';
import type { GraphqlContext, Outcome } from './plugin.js';
import {
  acceptedBy,
  bodyOfSearch,
  checkHead,
  JSON_RESPONSE,
  METHODS,
  readBody,
  rejection,
} from './request.js';
import { sandboxPolicy } from './sandbox.js';
import { type GraphqlServerOptions, startGraphqlServer } from './server.js';

interface GraphqlOverHttpOptions extends GraphqlServerOptions {
  readonly onInternalError: (error: unknown, request: IncomingMessage) => void;
  readonly listed?: ReadonlyMap<string, string> | undefined;
}

export type GraphqlOverHttp = Awaited<ReturnType<typeof createGraphqlOverHttp>>;

/** Apollo Server on node:http. @throws OperationError where a listed operation is not allowed. */
export async function createGraphqlOverHttp(executor: GraphqlExecutor, options: GraphqlOverHttpOptions) {
  const listed = options.listed && onlyListed(executor, options.listed, options.maxFields);
  const apollo = await startGraphqlServer(executor, options);

  /** The request as Apollo Server takes it, or what is wrong with it, which Apollo Server formats. */
  const execute = (
    request: IncomingMessage,
    accept: string,
    context: () => Promise<GraphqlContext>,
    body?: unknown,
  ) => {
    // Without Accept, which it would negotiate twice, it sends JSON.
    const fields = { 'content-type': 'application/json', ...(accept !== JSON_RESPONSE && { accept }) };
    const [method, headers] = [body === undefined ? 'GET' : 'POST', new HeaderMap(Object.entries(fields))];
    const httpGraphQLRequest = { method, headers, search: searchOf(request), body };
    return apollo.executeHTTPGraphQLRequest({ httpGraphQLRequest, context });
  };

  /** The body that the request has, or stands for; undefined where Apollo Server reads the URL. */
  const readRequest = async (
    request: IncomingMessage,
    response: ServerResponse,
    viewer: Viewer,
    isForStream: boolean,
  ): Promise<unknown> => {
    checkHead(request, response);
    requireToken(viewer);
    let body: unknown;
    if (request.method === 'POST') body = await readBody(request, response);
    // Apollo Server takes none by GET, as EventSource sends it, and Apollo Client with useGETForQueries.
    else if (listed !== undefined || isForStream) body = bodyOfSearch(searchOf(request));
    return listed === undefined ? body : listed(body);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse, viewer: Viewer) => {
    if (request.method === 'OPTIONS') {
      // The methods that there are (RFC 9110, section 9.3.7), and no permission for pages of other sites.
      response.writeHead(200, { allow: METHODS, 'content-length': 0 }).end();
      return;
    }
    const caller = { viewer, signal: response };
    const { mediaType, stream, page } = acceptedBy(request);
    const accept = mediaType ?? JSON_RESPONSE;
    const outcome: Outcome = {};
    const onInternalError = (error: unknown) => options.onInternalError(error, request);
    const context = async () =>
      Object.assign(executor.contextFor(caller), { onInternalError, outcome, stream });
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (options.sandbox && isReading && page) {
      const found = await execute(request, 'text/html', context);
      found.headers.set('content-type', 'text/html; charset=utf-8');
      found.headers.set('content-security-policy', sandboxPolicy(textOf(found)));
      send(response, found);
      return;
    }
    // The client accepts nothing but a stream, or what Apollo Client names for subscriptions alone.
    const isForStream = mediaType === undefined || stream === PARTS;
    let format = mediaType === undefined ? stream : undefined;
    try {
      const result = await readRequest(request, response, viewer, isForStream)
        .then((body) => execute(request, accept, context, body))
        .then((executed) => (outcome.rejection ? Promise.reject(outcome.rejection) : executed))
        .catch(async (error: unknown) => {
          if (!(error instanceof GraphQLError)) throw error;
          // What is wrong with the request itself has its status, what became of the operation is an event.
          format = undefined;
          const shown = await executor.charge(caller, 1).then(() => error, shownError);
          return execute(request, accept, () => Promise.reject(shown));
        });
      setRateFields(response, caller.viewer.rates);
      if (outcome.sendStream !== undefined) return await outcome.sendStream(response);
      const octets = send(response, result, format);
      executor.gate.written(caller, octets, response);
    } finally {
      if (!response.headersSent) setRateFields(response, caller.viewer.rates);
      outcome.leave?.();
    }
  };
  return { handle, stop: () => apollo.stop() };
}

/** @returns how many octets. */
function send(response: ServerResponse, result: HTTPGraphQLResponse, format?: StreamFormat): number {
  const { status = 200, headers } = result;
  const text = textOf(result);
  const body = format ? format.begin + format.next(text.trimEnd()) + format.end : text;
  for (const [name, value] of headers) response.setHeader(name, value);
  const octets = Buffer.byteLength(body);
  // Node.js would leave the length out of the response to HEAD.
  const fields = { 'content-type': format?.mediaType ?? headers.get('content-type') ?? JSON_RESPONSE };
  response.writeHead(format ? 200 : status, { ...fields, 'content-length': octets }).end(body);
  return octets;
}

function textOf({ body }: HTTPGraphQLResponse): string {
  if (body.kind !== 'complete') throw new Error('Apollo Server has executed a document incrementally.');
  return body.string;
}

/**
 * @param listed The texts of the only operations that clients may execute, by their ids.
 * @throws OperationError, one line, for one that the schema or a limit does not allow.
 */
function onlyListed(executor: GraphqlExecutor, listed: ReadonlyMap<string, string>, maxFields: number) {
  for (const [id, text] of listed) requireAllowed(executor, id, text, maxFields);
  const texts = new Set(listed.values());
  return (body: unknown): object => {
    const { query, extensions, ...others } = isJsonObject(body) ? body : {};
    const { persistedQuery } = Object(extensions);
    const text = query ?? listed.get(String(Object(persistedQuery).sha256Hash));
    if (typeof text === 'string' && texts.has(text)) return { ...others, query: text };
    const message = 'Only listed operations are allowed. Send the id or the exact text of one.';
    throw rejection(400, 'PERSISTED_QUERY_NOT_IN_LIST', message);
  };
}

function requireAllowed({ schema, costs }: GraphqlExecutor, id: string, text: string, maxFields: number) {
  try {
    const document = parse(text);
    const [invalid] = validate(schema, document);
    if (invalid !== undefined) throw invalid;
    const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    if (operations.length === 0) throw new GraphQLError('It has no operation.');
    for (const operation of operations) {
      // With variables it depends on each request.
      const most = operation.variableDefinitions?.length ? Infinity : maxFields;
      requireWithinLimits(costs.of(document, operation, {}), most);
    }
  } catch (error) {
    if (!(error instanceof GraphQLError || error instanceof PublicError)) throw error;
    throw new OperationError(
      `PERSISTED_ONLY: the operation ${id} of the file is not allowed: ${error.message}`,
    );
  }
}
