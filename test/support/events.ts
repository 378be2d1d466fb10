import type { Database } from '../../src/database/client.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { observation } from './observations.js';

/** An event as HTML, section 9.2.6, interprets a stream; one without data only changes the last id. */
export interface ReceivedEvent {
  readonly event: string;
  readonly data: string;
  /** The last id of the stream, up to this event. */
  readonly id: string;
  /** In milliseconds. */
  readonly retry?: number;
}

export type OpenEvents = Awaited<ReturnType<typeof openEvents>>;

/** Opens a stream of events, also of those without data. What is not one has no events. */
export async function openEvents(url: string, init: RequestInit = {}) {
  const stream = await openStream(url, init, 'text/event-stream', eventsIn);
  return {
    ...stream,
    /** All that follow, until one is `last`, or the stream has ended. */
    async until(last: (event: ReceivedEvent) => boolean) {
      const found: ReceivedEvent[] = [];
      for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
        found.push(event);
        if (last(event)) break;
      }
      return found;
    },
  };
}

async function openStream<Item>(
  url: string,
  init: RequestInit,
  accept: string,
  itemsIn: (response: Response) => AsyncGenerator<Item, undefined, void>,
) {
  const controller = new AbortController();
  const headers = { accept, ...init.headers };
  const response = await fetch(url, { ...init, headers, signal: controller.signal });
  const items = itemsIn(response);
  return {
    response,
    /** Undefined: the stream has ended. */
    next: async () => (await items.next()).value ?? undefined,
    close: () => controller.abort(),
  };
}

async function* eventsIn(response: Response): AsyncGenerator<ReceivedEvent, undefined, void> {
  const isEvents = response.headers.get('content-type') === 'text/event-stream; charset=utf-8';
  if (response.body === null || !isEvents) return;
  let [text, id] = ['', ''];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n');
    text = blocks.pop() ?? '';
    for (const fields of blocks.map(fieldsIn).filter(({ size }) => size > 0)) {
      id = fields.get('id') ?? id;
      const retry = fields.get('retry');
      yield {
        event: fields.get('event') ?? 'message',
        data: fields.get('data') ?? '',
        id,
        ...(retry !== undefined && { retry: Number(retry) }),
      };
    }
  }
}

/** No event of this service has two fields of one name. */
function fieldsIn(block: string): Map<string, string> {
  const lines = block.split('\n').filter((line) => !line.startsWith(':'));
  return new Map(
    lines.map((line): [string, string] => {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      return [name, value];
    }),
  );
}

/** What Apollo Client's HttpLink accepts for a subscription. */
export const ACCEPT_PARTS =
  'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/graphql-response+json,application/json;q=0.9';

/** Opens a stream of parts: the body of each, to its end (RFC 2046, section 5.1.1). */
export function openParts(url: string, init: RequestInit = {}) {
  return openStream(url, init, ACCEPT_PARTS, partsIn);
}

/** @throws Error where the response has another form, or breaks off. */
async function* partsIn({ headers, body }: Response): AsyncGenerator<object, undefined, void> {
  const [, boundary] = /^multipart\/mixed;boundary="([^"]+)"/.exec(headers.get('content-type') ?? '') ?? [];
  if (body === null || boundary === undefined) throw new Error('The response has no parts.');
  const delimiter = `\r\n--${boundary}`;
  let text = '';
  let isBegun = false;
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf(delimiter); end !== -1; end = text.indexOf(delimiter)) {
      const part = text.slice(0, end);
      text = text.slice(end + delimiter.length);
      if (isBegun) yield bodyOf(part);
      else if (part !== '') throw new Error(`There is text before the first part: ${part}`);
      isBegun = true;
    }
  }
  if (!isBegun || text !== '--\r\n') throw new Error(`The response ends with ${JSON.stringify(text)}.`);
}

function bodyOf(part: string): object {
  const head = '\r\nContent-Type: application/json\r\n\r\n';
  if (!part.startsWith(head)) throw new Error(`A part is not JSON: ${part}`);
  return JSON.parse(part.slice(head.length));
}

export function headerChanger(database: Pick<Database, 'pool'>) {
  let at = 0;
  return async (value: string, domain = 'example.com'): Promise<void> => {
    at += 1;
    await createRecorder(database.pool).record([observation({ domain, at, headers: { server: value } })]);
  };
}
