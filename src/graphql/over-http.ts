import type { IncomingMessage, ServerResponse } from 'node:http';
import { HeaderMap, type HTTPGraphQLResponse } from '@apollo/server';
import { GraphQLError } from 'graphql';
import type { Viewer } from '../auth/viewer.js';
import { requireToken } from '../auth/viewer.js';
import { signalOf } from '../limits/caller.js';
import { setRateFields } from '../limits/rate-policy.js';
import { memoized } from '../model/memoized.js';
import { searchOf } from '../model/request-target.js';
import type { GraphqlContext, Outcome } from './context.js';
import { sendResults, sentResults } from './event-stream.js';
import type { GraphqlExecutor } from './execute.js';
import { shownError, TOO_DEEP } from './format-error.js';
import { ListedOperations } from './listed-operations.js';
import {
  acceptedBy,
  bodyOfSearch,
  checkHead,
  EVENT_STREAM,
  JSON_RESPONSE,
  METHODS,
  readBody,
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

  /** The request as Apollo Server takes it, or what is wrong with it, which Apollo Server formats. */
  const execute = (
    request: IncomingMessage,
    accept: string,
    context: () => Promise<GraphqlContext>,
    body: unknown = request.body,
  ) =>
    apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: {
        method: body === undefined ? 'GET' : 'POST',
        headers: fieldsFor(accept),
        search: searchOf(request),
        body,
      },
      context,
    });

  /** The body that the request has, or stands for; undefined where Apollo Server reads the URL. */
  const readRequest = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    checkHead(request, response);
    requireToken(viewerOf(request));
    if (request.method === 'POST') await readBody(request, response);
    // Apollo Server takes no subscription by GET, of which EventSource is made.
    else if (listed !== undefined || isForEvents(request)) request.body = bodyOfSearch(searchOf(request));
    return listed === undefined ? request.body : listed.bodyOf(request.body);
  };

  const run = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'OPTIONS') return sendMethods(response);
    const caller = { viewer: viewerOf(request), signal: signalOf(response) };
    const accepted = acceptedBy(request);
    const outcome: Outcome = {};
    const onInternalError = (error: unknown) => options.onInternalError(error, request);
    const context = async () => ({
      ...executor.contextFor(caller),
      ...{ onInternalError, outcome, takesEvents: accepted.events },
    });
    if (sandbox && isReading(request) && accepted.page) {
      return sendPage(response, await execute(request, 'text/html', context));
    }
    const accept = accepted.mediaType ?? JSON_RESPONSE;
    let asEvents = isForEvents(request);
    try {
      const result = await readRequest(request, response)
        .then((body) => execute(request, accept, context, body))
        .then((executed) => (outcome.isTooDeep ? rejectTooDeep() : executed))
        .catch(async (error: unknown) => {
          if (!(error instanceof GraphQLError)) throw error;
          // What is wrong with the request itself has its status, what became of the operation is an event.
          asEvents = false;
          const shown = await executor.charge(caller, 1).then(() => error, shownError);
          return execute(request, accept, () => Promise.reject(shown));
        });
      setRateFields(response, caller.viewer.rates);
      if (outcome.results !== undefined && outcome.context !== undefined) {
        const results = sentResults(outcome.results, outcome.context, response, onInternalError);
        return await sendResults(request, response, results);
      }
      const octets = send(response, result, asEvents);
      executor.gate.written(caller, octets, response);
    } finally {
      if (!response.headersSent) setRateFields(response, caller.viewer.rates);
      outcome.leave?.();
    }
  };
  return { handle: run, stop: () => apollo.stop() };
}

/** The header fields that Apollo Server reads. */
const fieldsFor = memoized((accept: string) => {
  return new HeaderMap([
    ['content-type', 'application/json'],
    ['accept', accept],
  ]);
});

function rejectTooDeep(): never {
  throw rejection(400, 'QUERY_TOO_COMPLEX', TOO_DEEP);
}

/** Whether the client accepts server-sent events alone. */
function isForEvents(request: IncomingMessage): boolean {
  const { mediaType, events } = acceptedBy(request);
  return mediaType === undefined && events;
}

/** @returns how many octets. */
function send(response: ServerResponse, result: HTTPGraphQLResponse, asEvents: boolean): number {
  const { status = 200, headers, body } = result;
  if (body.kind !== 'complete') throw new Error('Apollo Server has executed a document incrementally.');
  response.statusCode = status;
  for (const [name, value] of headers) response.setHeader(name, value);
  if (!asEvents) return end(response, headers.get('content-type') ?? JSON_RESPONSE, body.string);
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
