import type { ServerResponse } from 'node:http';
import { sendEvents } from '../../graphql/event-stream.js';
import type { GraphqlExecutor } from '../../graphql/execute.js';
import type { OnInternalError } from '../../graphql/format-error.js';
import type { Caller } from '../../limits/caller.js';
import { setRateFields } from '../../limits/rate-policy.js';
import type { Variables } from './parameters.js';
import { type EventStream, foundBy } from './prepared-routes.js';
import type { EventPage } from './presenters/changes.js';
import { problemOf } from './problem.js';

/**
 * Sends what a subscription gives as server-sent events, until it ends or the client disconnects.
 *
 * @throws What problemOf() makes a problem of, before the stream begins.
 */
export async function streamEvents(
  executor: GraphqlExecutor,
  stream: EventStream,
  variables: Variables,
  caller: Caller,
  response: ServerResponse,
  onInternalError: OnInternalError,
): Promise<void> {
  const lastEventId = response.req.headers['last-event-id'];
  const continued = lastEventId ? { ...variables, after: lastEventId } : variables;
  const pages = eventPages(executor, stream, continued, caller);
  try {
    const first = await pages.next();
    if (first.done === true) return;
    setRateFields(response, caller.viewer.rates);
    await sendEvents(response, textsOf(response, first.value, pages, onInternalError));
  } finally {
    await pages.return();
  }
}

/** What a subscription gives, page by page. @throws its error. */
export async function* eventPages(
  executor: GraphqlExecutor,
  stream: EventStream,
  variables: Variables,
  caller: Caller,
): AsyncGenerator<EventPage, void, void> {
  const results = await executor.subscribeStored(stream.stored, variables, executor.contextFor(caller));
  for await (const result of Symbol.asyncIterator in results ? results : [results]) {
    yield stream.present(foundBy(result, stream, variables));
  }
}

/** In milliseconds: when a client reconnects, and how often a comment shows that the stream is open. */
const RECONNECT_AFTER = 3_000;
const COMMENT_EVERY = 15_000;

/** The events of a stream as text, each page once the client has read those before. */
async function* textsOf(
  response: ServerResponse,
  first: EventPage,
  pages: AsyncGenerator<EventPage, void, void>,
  onInternalError: OnInternalError,
): AsyncGenerator<string, void, void> {
  const comments = setInterval(() => {
    if (!response.writableNeedDrain) response.write(':\n\n');
  }, COMMENT_EVERY);
  try {
    yield `retry: ${RECONNECT_AFTER}\n${textOf(first)}`;
    for await (const page of pages) yield textOf(page);
  } catch (error) {
    const { body, headers } = problemOf(error, onInternalError);
    const retry = Number(headers['retry-after'] ?? 0) * 1_000;
    yield `event: end\n${retry > RECONNECT_AFTER ? `retry: ${retry}\n` : ''}data: ${JSON.stringify(body)}\n\n`;
  } finally {
    clearInterval(comments);
  }
}

function textOf({ events, end }: EventPage): string {
  const texts = events.map(({ id, data }) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  // An event without data is not dispatched, but its id is kept (HTML, section 9.2.6).
  if (events.at(-1)?.id !== end) texts.push(`id: ${end}\n\n`);
  return texts.join('');
}
