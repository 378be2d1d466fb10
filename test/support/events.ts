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

export interface OpenEvents {
  readonly response: Response;
  /** The next event, also one without data; undefined: the stream has ended. */
  next(): Promise<ReceivedEvent | undefined>;
  /** All that follow, until one is `last`, or the stream has ended. */
  until(last: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent[]>;
  close(): void;
}

/** Opens a stream of events. What is not one has no events. */
export async function openEvents(url: string, init: RequestInit = {}): Promise<OpenEvents> {
  const controller = new AbortController();
  const headers = { accept: 'text/event-stream', ...init.headers };
  const response = await fetch(url, { ...init, headers, signal: controller.signal });
  const events = eventsIn(response);
  const next = async () => (await events.next()).value ?? undefined;
  return {
    response,
    next,
    async until(last) {
      const found: ReceivedEvent[] = [];
      for (let event = await next(); event !== undefined; event = await next()) {
        found.push(event);
        if (last(event)) break;
      }
      return found;
    },
    close: () => controller.abort(),
  };
}

async function* eventsIn(response: Response): AsyncGenerator<ReceivedEvent, undefined, void> {
  const isEvents = response.headers.get('content-type') === 'text/event-stream; charset=utf-8';
  if (response.body === null || !isEvents) return;
  let [text, id] = ['', ''];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = fieldsIn(text.slice(0, end));
      text = text.slice(end + 2);
      if (fields.size === 0) continue;
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

export function headerChanger(database: Pick<Database, 'pool'>) {
  let at = 0;
  return async (value: string, domain = 'example.com'): Promise<void> => {
    at += 1;
    await createRecorder(database.pool).record([observation({ domain, at, headers: { server: value } })]);
  };
}
