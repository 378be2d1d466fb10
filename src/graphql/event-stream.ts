import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExecutionResult, type FormattedExecutionResult, GraphQLError } from 'graphql';
import { createHandler } from 'graphql-sse';
import { LONGEST_UNREAD } from '../limits/gate.js';
import type { GraphqlContext } from './context.js';
import { formatError, isOfRequest, maskError } from './format-error.js';
import { EVENTS, type StreamFormat } from './stream-formats.js';

type Results = AsyncIterable<ExecutionResult> | Iterable<ExecutionResult>;

interface Streamed {
  readonly results: AsyncGenerator<FormattedExecutionResult>;
}

const graphqlEvents = createHandler<IncomingMessage, Streamed>({
  // Distinct connections alone: without a token, no stream is reserved.
  authenticate: () => null,
  onSubscribe: ({ context }) => context.results as AsyncGenerator<ExecutionResult>,
});

/** Sends the results of a subscription as the client accepts them, until they end or it disconnects. */
export async function sendResults(
  response: ServerResponse,
  format: StreamFormat,
  source: Results,
  context: GraphqlContext,
): Promise<void> {
  const results = sentResults(source, context, response);
  if (format !== EVENTS) return sendStream(response, format, textsOf(format, results));
  // The request is read already: of what the library is given of it, only the media types are used.
  const [events] = await graphqlEvents({
    method: 'POST',
    url: response.req.url ?? '',
    headers: { get: (name) => (name === 'accept' ? 'text/event-stream' : 'application/json') },
    body: { query: '' },
    raw: response.req,
    context: { results },
  });
  if (typeof events !== 'object' || events === null) throw new Error('graphql-sse has made no stream.');
  // The library tells itself that the stream is open.
  await sendStream(response, { ...format, heartbeat: '' }, events);
}

async function* textsOf(
  { begin, heartbeat, next, end }: StreamFormat,
  results: AsyncIterable<FormattedExecutionResult>,
): AsyncGenerator<string, void, void> {
  yield begin + heartbeat;
  for await (const result of results) yield next(JSON.stringify(result));
  yield end;
}

/**
 * The results of a subscription, each once the client has read those before. The first one with an error is the
 * last: it has no data, and the cursor after which the client continues.
 */
async function* sentResults(
  source: Results,
  context: GraphqlContext,
  response: ServerResponse,
): AsyncGenerator<FormattedExecutionResult, void, void> {
  try {
    for await (const { data = null, errors: [error] = [] } of source) {
      if (error !== undefined) throw error;
      yield { data, extensions: { cost: context.spent.units } };
      // The library writes it after this generator goes on.
      await nextTurn();
      await untilRead(response);
    }
  } catch (error) {
    yield failed(error, context);
  }
}

function failed(
  error: unknown,
  { resumeAfter: cursor, onInternalError }: GraphqlContext,
): FormattedExecutionResult {
  const isGraphql = error instanceof GraphQLError;
  if (!isGraphql || !isOfRequest(error)) maskError(error, onInternalError);
  const { message, path, extensions } = formatError(isGraphql ? error.toJSON() : { message: '' }, error);
  const shown = { ...extensions, ...(cursor !== undefined && { cursor }) };
  return { errors: [{ message, ...(path !== undefined && { path }), extensions: shown }] };
}

/** In milliseconds. */
const HEARTBEAT_EVERY = 15_000;

/**
 * Sends the texts of a stream as they come, and reads no more of them than the client does.
 *
 * @param texts Each whole, so that a heartbeat may follow; they are ended when the client disconnects.
 */
export async function sendStream(
  response: ServerResponse,
  { mediaType, heartbeat }: StreamFormat,
  texts: AsyncGenerator<string, void, void>,
): Promise<void> {
  response.writeHead(200, {
    'content-type': mediaType,
    // A coding would hold events back until there are enough (RFC 9111, section 5.2.2.6), as would nginx.
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  if (response.req.method === 'HEAD') {
    await texts.return();
    response.end();
    return;
  }
  response.flushHeaders();
  // Heartbeats come more often.
  response.setTimeout(LONGEST_UNREAD);
  const beat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(heartbeat);
  }, HEARTBEAT_EVERY);
  try {
    await pipeline(texts, response);
  } catch (error) {
    if (!response.destroyed) throw error;
  } finally {
    clearInterval(beat);
  }
}

/** Resolves when the client has read what was written, or is disconnected. */
async function untilRead(response: ServerResponse): Promise<void> {
  if (response.destroyed || !response.writableNeedDrain) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}
