import type { IncomingMessage, ServerResponse } from 'node:http';
import { HeaderMap, type HTTPGraphQLResponse } from '@apollo/server';
import type { Viewer } from '../auth/viewer.js';
import { requireToken } from '../auth/viewer.js';
import { signalOf } from '../limits/caller.js';
import { setRateFields } from '../limits/rate-policy.js';
import type { GraphqlContext, Outcome } from './context.js';
import { sendResults, sentResults } from './event-stream.js';
import type { GraphqlExecutor } from './execute.js';
import { TOO_DEEP } from './format-error.js';
import { ListedOperations } from './listed-operations.js';
import {
  acceptsEvents,
  checkHead,
  EVENT_STREAM,
  type GraphqlParameters,
  JSON_RESPONSE,
  METHODS,
  mediaTypeFor,
  prefersPage,
  RejectedRequest,
  readBody,
  readParameters,
  rejection,
} from './request.js';
import { sandboxPolicy } from './sandbox.js';
import { type GraphqlServerOptions, startGraphqlServer } from './server.js';

export interface GraphqlOverHttpOptions extends GraphqlServerOptions {
  /** Who sent a request. */
  readonly viewerOf: (request: IncomingMessage) => Viewer;
  /** Takes the errors that the client of a request is not shown, for the log. */
  readonly onInternalError: (error: unknown, request: IncomingMessage) => void;
  /** The only documents that are executed, by their ids; absent: any document is. */
  readonly listed?: ReadonlyMap<string, string> | undefined;
}

/** GraphQL over HTTP on one path: POST, GET and HEAD, and Apollo Sandbox for a browser. */
export interface GraphqlOverHttp {
  /** Reads the body itself. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  stop(): Promise<void>;
}

/**
 * GraphQL by Apollo Server, on node:http: what is hot does not pass Express.
 *
 * @throws OperationError where a listed operation is not allowed.
 */
export async function createGraphqlOverHttp(
  executor: GraphqlExecutor,
  options: GraphqlOverHttpOptions,
): Promise<GraphqlOverHttp> {
  const { sandbox, viewerOf } = options;
  const listed = options.listed && new ListedOperations(executor, options.listed, options.maxEstimate);
  const apollo = await startGraphqlServer(executor, options);

  /** The request as Apollo Server takes it. */
  const execute = (
    request: IncomingMessage,
    parameters: GraphqlParameters | undefined,
    context: GraphqlContext,
  ) =>
    apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: {
        // Apollo Server takes no subscription by GET, of which EventSource is made.
        method: request.body === undefined ? 'GET' : 'POST',
        headers: new HeaderMap([
          ['content-type', 'application/json'],
          ['accept', parameters === undefined ? 'text/html' : (mediaTypeFor(request) ?? JSON_RESPONSE)],
        ]),
        search: searchOf(request),
        body: request.body,
      },
      context: async () => context,
    });

  const prepareBody = (request: IncomingMessage, parameters: GraphqlParameters) => {
    if (listed !== undefined) request.body = listed.bodyOf(parameters);
    else if (isReading(request) && isForEvents(request)) request.body = bodyOf(parameters);
  };

  const run = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'OPTIONS') return sendMethods(response);
    const caller = { viewer: viewerOf(request), signal: signalOf(response) };
    const outcome: Outcome = {};
    const onInternalError = (error: unknown) => options.onInternalError(error, request);
    const context: GraphqlContext = { ...executor.contextFor(caller), onInternalError, outcome };
    if (sandbox && isReading(request) && prefersPage(request)) {
      return sendPage(response, await execute(request, undefined, context));
    }
    checkHead(request);
    try {
      requireToken(caller.viewer);
      if (request.method === 'POST') await readBody(request, response);
      const parameters = readParameters(request, response, sandbox);
      prepareBody(request, parameters);
      const result = await execute(request, parameters, context);
      if (outcome.isTooDeep) await rejectTooDeep(context);
      setRateFields(response, caller.viewer.rates);
      if (outcome.results !== undefined && outcome.context !== undefined) {
        requireEvents(request);
        const results = sentResults(outcome.results, outcome.context, response, onInternalError);
        return await sendResults(request, response, results);
      }
      const octets = send(request, response, result);
      executor.gate.written(caller, octets, response);
    } catch (error) {
      setRateFields(response, caller.viewer.rates);
      throw error;
    } finally {
      outcome.leave?.();
    }
  };
  return {
    handle: (request, response) =>
      run(request, response).catch((error: unknown) => {
        if (!(error instanceof RejectedRequest)) throw error;
        for (const [name, value] of Object.entries(error.fields)) response.setHeader(name, value);
        const { status, errors, extensions } = error;
        response.statusCode = status;
        end(response, mediaTypeFor(request) ?? JSON_RESPONSE, `${JSON.stringify({ errors, extensions })}\n`);
      }),
    stop: () => apollo.stop(),
  };
}

function searchOf({ url = '' }: IncomingMessage): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start);
}

/** Whether the client accepts server-sent events alone. */
function isForEvents(request: IncomingMessage): boolean {
  return mediaTypeFor(request) === undefined && acceptsEvents(request);
}

/** The parameters of GET as POST has them. */
function bodyOf({ query, id, operationName, variables }: GraphqlParameters): object {
  const extensions = id === undefined ? {} : { persistedQuery: { version: 1, sha256Hash: id } };
  return { query, operationName, variables, extensions };
}

/** It costs as much as any request of which nothing is executed. */
async function rejectTooDeep({ charge }: GraphqlContext): Promise<never> {
  await charge(1);
  throw rejection(400, 'QUERY_TOO_COMPLEX', TOO_DEEP);
}

/** @throws RejectedRequest where the client of a subscription does not accept server-sent events. */
function requireEvents(request: IncomingMessage): void {
  if (acceptsEvents(request)) return;
  const message = 'The results of a subscription are server-sent events: send Accept: text/event-stream.';
  throw rejection(406, 'NOT_ACCEPTABLE', message);
}

/** @returns how many octets. */
function send(request: IncomingMessage, response: ServerResponse, result: HTTPGraphQLResponse): number {
  const { status = 200, headers, body } = result;
  if (body.kind !== 'complete') throw new Error('Apollo Server has executed a document incrementally.');
  response.statusCode = status;
  for (const [name, value] of headers) response.setHeader(name, value);
  // What is wrong with the request itself has its status, what became of the operation is an event.
  if (!isForEvents(request)) return end(response, headers.get('content-type') ?? JSON_RESPONSE, body.string);
  response.statusCode = 200;
  const text = `event: next\ndata: ${body.string.trimEnd()}\n\nevent: complete\ndata:\n\n`;
  return end(response, EVENT_STREAM, text);
}

function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The methods that there are (RFC 9110, section 9.3.7), and no permission for pages of other sites. */
function sendMethods(response: ServerResponse): void {
  response.setHeader('allow', METHODS);
  response.setHeader('content-length', 0);
  response.end();
}

function sendPage(response: ServerResponse, { body }: HTTPGraphQLResponse): void {
  if (body.kind !== 'complete') throw new Error('Apollo Server has sent its page in parts.');
  response.setHeader('content-security-policy', sandboxPolicy(body.string));
  // It would keep Apollo's frame out.
  response.removeHeader('cross-origin-embedder-policy');
  end(response, 'text/html; charset=utf-8', body.string);
}

function end(response: ServerResponse, mediaType: string, body: string): number {
  const octets = Buffer.byteLength(body);
  response.setHeader('content-type', mediaType);
  // Node.js would leave it out of the response to HEAD.
  response.setHeader('content-length', octets);
  response.end(body);
  return octets;
}
