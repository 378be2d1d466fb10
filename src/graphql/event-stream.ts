import type { ServerResponse } from 'node:http';
import { type ExecutionResult, type FormattedExecutionResult, GraphQLError } from 'graphql';
import type { GraphqlContext } from './context.js';
import { formatError, isOfRequest, maskError } from './format-error.js';
import type { StreamFormat } from './stream-formats.js';

/**
 * The results of a subscription as texts of a stream. The first one with an error is the last: it has no data, and the
 * cursor after which the client continues.
 */
export async function* resultTexts(
  { begin, heartbeat, next, end }: StreamFormat,
  source: AsyncIterable<ExecutionResult>,
  context: GraphqlContext,
): AsyncGenerator<string, void, void> {
  // Some browsers do not take header fields for the begin of a stream.
  yield begin + heartbeat;
  try {
    for await (const { data = null, errors: [error] = [] } of source) {
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
    // A coding would hold events back until there are enough of them (RFC 9111, section 5.2.2.6), as would nginx.
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  if (response.req.method === 'HEAD') {
    await texts.return();
    response.end();
    return;
  }
  response.flushHeaders();
  response.once('close', () => void texts.return());
  const beat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(heartbeat);
  }, HEARTBEAT_EVERY);
  try {
    for await (const text of texts) {
      if (response.destroyed) break;
      if (!response.write(text)) await untilRead(response);
    }
  } finally {
    clearInterval(beat);
  }
  response.end();
}

/** In milliseconds: a client that reads nothing for so long is disconnected. */
const LONGEST_STALL = 20_000;

/** Resolves when the client has read what was written, or has disconnected, or is disconnected since it does not read. */
async function untilRead(response: ServerResponse): Promise<void> {
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
