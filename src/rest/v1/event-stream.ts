import type { ServerResponse } from 'node:http';
import { EVENTS, sendStream } from '../../graphql/event-stream.js';
import type { OnInternalError } from '../../graphql/format-error.js';
import type { Caller } from '../../limits/caller.js';
import { setRateFields } from '../../limits/rates.js';
import type { Variables } from './parameters.js';
import { foundBy, type Operation } from './prepared-routes.js';
import { type EventPage, type LiveResult, presentEvents } from './presenters/changes.js';
import { problemOf } from './problem.js';

/** @throws What problemOf() makes a problem of, before the stream begins. */
export async function streamEvents(
  stream: Operation,
  variables: Variables,
  caller: Caller,
  response: ServerResponse,
  onInternalError: OnInternalError,
): Promise<void> {
  const lastEventId = response.req.headers['last-event-id'];
  const pages = eventPages(stream, lastEventId ? { ...variables, after: lastEventId } : variables, caller);
  try {
    const first = await pages.next();
    if (first.done === true) return;
    setRateFields(response, caller.viewer.rates);
    await sendStream(response, EVENTS, textsOf(first.value, pages, onInternalError));
  } finally {
    await pages.return();
  }
}

export async function* eventPages(stream: Operation, variables: Variables, caller: Caller) {
  const results = await stream.stored().subscribe(variables, caller);
  for await (const result of Symbol.asyncIterator in results ? results : [results]) {
    yield presentEvents(foundBy(result, stream, variables) as LiveResult);
  }
}

/** In milliseconds: when a client reconnects. */
const RECONNECT_AFTER = 3_000;

async function* textsOf(
  first: EventPage,
  pages: AsyncGenerator<EventPage, void, void>,
  onInternalError: OnInternalError,
): AsyncGenerator<string, void, void> {
  try {
    yield `retry: ${RECONNECT_AFTER}\n${textOf(first)}`;
    for await (const page of pages) yield textOf(page);
  } catch (error) {
    const { body, headers } = problemOf(error, onInternalError);
    const retry = Number(headers['retry-after'] ?? 0) * 1_000;
    yield `event: end\n${retry > RECONNECT_AFTER ? `retry: ${retry}\n` : ''}data: ${JSON.stringify(body)}\n\n`;
  }
}

function textOf({ events, end }: EventPage): string {
  const texts = events.map(({ id, data }) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  // An event without data is not dispatched, but its id is kept (HTML, section 9.2.6).
  if (events.at(-1)?.id !== end) texts.push(`id: ${end}\n\n`);
  return texts.join('');
}
