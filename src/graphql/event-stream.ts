import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExecutionResult, GraphQLError, type GraphQLFormattedError } from 'graphql';
import { createHandler } from 'graphql-sse';
import type { RequestContext } from '../resolvers/context.js';
import { formatError, isOfRequest, maskError, type OnInternalError } from './format-error.js';
import { EVENT_STREAM } from './request.js';

/** What the library's handler is given besides the request. */
interface Streamed {
  readonly results: AsyncGenerator<ExecutionResult, void, void>;
}

const graphqlEvents = createHandler<IncomingMessage, Streamed>({
  // Distinct connections alone: without a token, no stream is reserved.
  authenticate: () => null,
  onSubscribe: ({ context }) => context.results,
});

/** Sends the results of a subscription as events, until they end or the client disconnects (GraphQL over SSE). */
export async function sendResults(
  request: IncomingMessage,
  response: ServerResponse,
  results: AsyncGenerator<ExecutionResult, void, void>,
): Promise<void> {
  // The request is read, and its document examined: what the library is given of it is not used but for its media types.
  const [events] = await graphqlEvents({
    method: 'POST',
    url: request.url ?? '',
    headers: { get: (name) => (name === 'accept' ? 'text/event-stream' : 'application/json') },
    body: { query: '' },
    raw: request,
    context: { results },
  });
  if (typeof events !== 'object' || events === null) throw new Error('graphql-sse has made no stream.');
  await sendEvents(response, events);
}

/**
 * Sends events as they come, and reads no more of them than the client does.
 *
 * @param events Each with its empty line (HTML, section 9.2.5); they are ended when the client disconnects.
 */
export async function sendEvents(
  response: ServerResponse,
  events: AsyncGenerator<string, void, void>,
): Promise<void> {
  response.writeHead(200, {
    'content-type': EVENT_STREAM,
    // A coding would hold events back until there are enough of them (RFC 9111, section 5.2.2.6), as would nginx.
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  if (response.req.method === 'HEAD') {
    await events.return();
    response.end();
    return;
  }
  response.flushHeaders();
  response.once('close', () => void events.return());
  for await (const event of events) {
    if (response.destroyed) break;
    if (!response.write(event)) await untilRead(response);
  }
  response.end();
}

/** In milliseconds: a client that reads nothing for so long is disconnected. */
const LONGEST_STALL = 20_000;

/** Resolves when the client has read what was written, or has disconnected, or is disconnected since it does not read. */
async function untilRead(response: ServerResponse): Promise<void> {
  if (response.destroyed || !response.writableNeedDrain) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), LONGEST_STALL);
    const done = () => {
      clearTimeout(timer);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}

/**
 * The results of a subscription, each once the client has read those before. The first one with an error is the last: it has
 * no data, and the cursor after which the client continues.
 */
export async function* sentResults(
  source: AsyncIterable<ExecutionResult>,
  context: RequestContext,
  response: ServerResponse,
  onInternalError: OnInternalError,
): AsyncGenerator<ExecutionResult, void, void> {
  const failed = ({ message, extensions, path }: Failure): ExecutionResult => {
    const { resumeAfter: cursor } = context;
    const shown = { ...extensions, ...(cursor !== undefined && { cursor }) };
    return { errors: [new GraphQLError(message, { path: path ?? null, extensions: shown })] };
  };
  try {
    for await (const { data = null, errors } of source) {
      const [error] = errors ?? [];
      if (error !== undefined) return yield failed(formatted(error, onInternalError));
      yield { data, extensions: { cost: context.spent.units } };
      // The library writes it after this generator goes on.
      await nextTurn();
      await untilRead(response);
    }
  } catch (error) {
    const { message, ...extensions } = maskError(error, onInternalError);
    yield failed({ message, extensions });
  }
}

function formatted(error: GraphQLError, onInternalError: OnInternalError): GraphQLFormattedError {
  if (!isOfRequest(error)) maskError(error, onInternalError);
  return formatError(error.toJSON(), error);
}

/** What a client is told of why its subscription ends. */
type Failure = Pick<GraphQLFormattedError, 'message' | 'extensions' | 'path'>;
