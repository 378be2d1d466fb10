import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import { sendStream } from '../../graphql/event-stream.js';
import type { GraphqlExecutor } from '../../graphql/execute.js';
import type { OnInternalError } from '../../graphql/format-error.js';
import { EVENTS } from '../../graphql/stream-formats.js';
import type { Caller } from '../../limits/caller.js';
import { setRateFields } from '../../limits/rate-policy.js';
import type { Variables } from './parameters.js';
import { type EventStream, foundIn } from './prepared-routes.js';
import { problemOf } from './problem.js';

/** The request of a stream, which is paid for. */
interface Listening {
  readonly variables: Variables;
  readonly caller: Caller;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Sends what a subscription gives as server-sent events, until it ends or the client disconnects.
 *
 * @throws What problemOf() makes a problem of, before the stream begins.
 */
export async function streamEvents(
  executor: GraphqlExecutor,
  stream: EventStream,
  { variables, caller, request, response }: Listening,
  onInternalError: OnInternalError,
): Promise<void> {
  const lastEventId = request.headers['last-event-id'];
  const isResumed = typeof lastEventId === 'string' && lastEventId !== '';
  const continued = isResumed ? { ...variables, after: lastEventId } : variables;
  const results = await subscribe(executor, stream, continued, executor.contextFor(caller));
  try {
    const first = await results.next();
    if (first.done === true) return;
    const found = eventsIn(first.value);
    setRateFields(response, caller.viewer.rates);
    await sendStream(response, EVENTS, textsOf(stream, found, results, onInternalError));
  } finally {
    await results.return?.();
  }
}

/** The results of a stream. @throws the error of one that does not begin. */
export async function subscribe(
  executor: GraphqlExecutor,
  { stored }: EventStream,
  variables: Variables,
  context: ReturnType<GraphqlExecutor['contextFor']>,
): Promise<AsyncIterableIterator<ExecutionResult>> {
  const results = await executor.subscribeStored(stored, variables, context);
  if (Symbol.asyncIterator in results) return results;
  eventsIn(results);
  throw new Error('A subscription has no results.');
}

/** What a result of a subscription has. @throws its error. */
export function eventsIn(result: ExecutionResult): object {
  const found = foundIn(result);
  if (found === undefined) throw new Error('A subscription has given nothing.');
  return found;
}

/** In milliseconds: when a client reconnects. */
const RECONNECT_AFTER = 3_000;

/** The events of a stream as text. */
async function* textsOf(
  stream: EventStream,
  first: object,
  results: AsyncIterableIterator<ExecutionResult>,
  onInternalError: OnInternalError,
): AsyncGenerator<string, void, void> {
  try {
    yield `retry: ${RECONNECT_AFTER}\n${textOf(stream, first)}`;
    for await (const result of results) yield textOf(stream, eventsIn(result));
  } catch (error) {
    const { body, headers } = problemOf(error, onInternalError);
    const retry = Number(headers['retry-after'] ?? 0) * 1_000;
    yield `event: end\n${retry > RECONNECT_AFTER ? `retry: ${retry}\n` : ''}data: ${JSON.stringify(body)}\n\n`;
  }
}

function textOf(stream: EventStream, found: object): string {
  const { events, end } = stream.present(found);
  const texts = events.map(({ id, data }) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  // An event without data is not dispatched, but its id is kept (HTML, section 9.2.6).
  if (events.at(-1)?.id !== end) texts.push(`id: ${end}\n\n`);
  return texts.join('');
}
