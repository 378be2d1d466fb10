import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type ExecutionResult, GraphQLError } from 'graphql';
import { MAX_UNREAD } from '../limits/gate.js';
import type { RequestContext } from '../resolvers/context.js';
import { formatError, isOfRequest, maskError, type OnInternalError } from './format-error.js';

/** How results are written to a client that listens, each given as JSON. */
export interface StreamFormat {
  readonly mediaType: string;
  readonly begin: string;
  readonly heartbeat: string;
  next(result: string): string;
  readonly end: string;
}

/** GraphQL over SSE, distinct connections. */
export const EVENTS: StreamFormat = {
  mediaType: 'text/event-stream; charset=utf-8',
  begin: '',
  heartbeat: ':\n\n',
  next: (result) => `event: next\ndata: ${result}\n\n`,
  end: 'event: complete\ndata:\n\n',
};

/**
 * Apollo's protocol for subscriptions by multipart/mixed. A part is followed by its delimiter at once, since
 * clients know only then that it is whole.
 */
export const PARTS: StreamFormat = {
  mediaType: 'multipart/mixed;boundary="-";subscriptionSpec=1.0',
  begin: '\r\n---',
  heartbeat: partOf('{}'),
  next: (result) => partOf(`{"payload":${result}}`),
  end: '--\r\n',
};

function partOf(json: string): string {
  return `\r\nContent-Type: application/json\r\n\r\n${json}\r\n---`;
}

/**
 * The results of a subscription as a client accepts them. The first one with an error is the last: it has no
 * data, and the cursor after which the client continues.
 */
export async function* textsOf(
  { begin, heartbeat, next, end }: StreamFormat,
  results: AsyncIterable<ExecutionResult> | Iterable<ExecutionResult>,
  context: Pick<RequestContext, 'spent' | 'resumeAfter'> & { readonly onInternalError: OnInternalError },
): AsyncGenerator<string, void, void> {
  yield begin + heartbeat;
  try {
    for await (const { data = null, errors: [error] = [] } of results) {
      if (error !== undefined) throw error;
      yield next(JSON.stringify({ data, extensions: { cost: context.spent.units } }));
    }
  } catch (error) {
    const graphql = error instanceof GraphQLError ? error : undefined;
    if (graphql === undefined || !isOfRequest(graphql)) maskError(error, context.onInternalError);
    const { message, path, extensions } = formatError(graphql?.toJSON() ?? { message: '' }, error);
    // JSON leaves out what is undefined.
    const shown = { message, path, extensions: { ...extensions, cursor: context.resumeAfter } };
    yield next(JSON.stringify({ errors: [shown] }));
  }
  yield end;
}

/** In milliseconds. */
const HEARTBEAT_EVERY = 15_000;

/** Reads no more texts than the client does. Each is whole, so that a heartbeat may follow. */
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
  response.setTimeout(MAX_UNREAD);
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
