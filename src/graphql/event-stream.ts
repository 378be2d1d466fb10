import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type ExecutionResult, type FormattedExecutionResult, GraphQLError } from 'graphql';
import { LONGEST_UNREAD } from '../limits/gate.js';
import type { GraphqlContext } from './context.js';
import { formatError, isOfRequest, maskError } from './format-error.js';
import type { StreamFormat } from './stream-formats.js';

/**
 * The results of a subscription as a client accepts them. The first one with an error is the last: it has no
 * data, and the cursor after which the client continues.
 */
export async function* textsOf(
  { begin, heartbeat, next, end }: StreamFormat,
  results: AsyncIterable<ExecutionResult> | Iterable<ExecutionResult>,
  context: GraphqlContext,
): AsyncGenerator<string, void, void> {
  yield begin + heartbeat;
  try {
    for await (const { data = null, errors: [error] = [] } of results) {
      if (error !== undefined) throw error;
      yield next(JSON.stringify({ data, extensions: { cost: context.spent.units } }));
    }
  } catch (error) {
    yield next(JSON.stringify(failed(error, context)));
  }
  yield end;
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
