import { beforeEach, expect, onTestFinished, test } from 'vitest';

import { headerChanger, type OpenEvents, openEvents, type ReceivedEvent } from '../../support/events.js';

import { serviceOfFile, startServiceForTest, startTestService } from '../../support/service.js';

const EVENTS = { accept: 'text/event-stream' };

let change: ReturnType<typeof headerChanger>;

const service = serviceOfFile({}, async ({ database }) => {
  change = headerChanger(database);
});

beforeEach(() => change('before'));

async function listen(query = '', headers: Record<string, string> = {}): Promise<OpenEvents> {
  const stream = await openEvents(`${service.url}/api/v1/changes${query}`, { headers });
  onTestFinished(() => stream.close());
  return stream;
}

const page = async (query: string) => (await service.rest(`/changes${query}`)).body;
const valuesIn = (changes: readonly { new: string }[]) => changes.map((each) => each.new);

/** An event without data only moves the cursor over changes of others. */
const changesIn = (events: readonly ReceivedEvent[]) =>
  events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data));

test('a stream of changes begins at once with the id of the end of the feed, and sends each change as it is recorded with its cursor', async () => {
  const stream = await listen();
  expect(stream.response.status).toBe(200);
  expect(Object.fromEntries(stream.response.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    vary: expect.stringContaining('Accept,'),
  });
  const begin = await stream.next();
  expect(begin).toMatchObject({ event: 'message', data: '', id: expect.stringMatching(/.+/), retry: 3_000 });
  await change('one');
  const one = await stream.next();
  await change('two');
  const two = await stream.next();
  const { changes, next } = await page(`?after=${begin?.id}`);
  expect([one, two].map((event) => JSON.parse(event?.data ?? ''))).toEqual(changes);
  expect(valuesIn(changes)).toEqual(['one', 'two']);
  // A page continues where the stream is, and the reverse.
  expect(two?.id).toBe(next);
  expect((await page(`?after=${one?.id}`)).changes).toEqual([changes[1]]);
});

test('a stream sends an observation of any size: of more than a megabyte of values, piece by piece, as pages have it', async () => {
  const stream = await listen('?domains=large.example');
  const begin = (await stream.next())?.id;
  const texts = Array.from({ length: 40 }, (_, at) => String(at).padStart(2, '0').padEnd(60_000, 'a'));
  const headers = Object.fromEntries(texts.map((text, at) => [`x-${at + 10}`, text]));
  await service.record({ domain: 'large.example', at: 1, headers });
  const sent: string[] = [];
  while (sent.length < 40) sent.push(JSON.parse((await stream.next())?.data ?? '{}').new);
  expect(sent).toEqual(texts);
  let after = begin;
  for (const expected of [texts.slice(0, 16), texts.slice(16, 32), texts.slice(32)]) {
    const { changes, next } = await page(`?domains=large.example&after=${after}`);
    expect(valuesIn(changes)).toEqual(expected);
    after = next;
  }
});

test.each([
  ['Last-Event-ID', (id: string) => listen('', { 'last-event-id': id })],
  ['after', (id: string) => listen(`?after=${id}`)],
  ['Last-Event-ID before after', (id: string) => listen('?after=wrong', { 'last-event-id': id })],
])('a stream continues after %s without loss', async (_by, listenAfter) => {
  const id = (await (await listen()).next())?.id ?? '';
  await change('missed');
  const again = await listenAfter(id);
  await change('heard');
  const events = await again.until(({ data }) => data.includes('heard'));
  expect(changesIn(events).map((each) => each.new)).toEqual(['missed', 'heard']);
});

test('a stream sends only changes of the domains and kinds', async () => {
  const stream = await listen('?domains=a.example&domains=B.example.&kinds=HEADER_UPDATED');
  await stream.next();
  for (const domain of ['a.example', 'c.example', 'b.example'])
    for (const value of ['created', domain]) await change(value, domain);
  const events = await stream.until(({ data }) => data.includes('b.example'));
  expect(changesIn(events).map((each) => each.new)).toEqual(['a.example', 'b.example']);
});

test('changes are a stream only where Accept prefers that to application/json', async () => {
  for (const [path, accept] of [
    ['/changes', 'application/json, text/event-stream'],
    ['/search/domains', EVENTS.accept],
  ] as const) {
    const { fields } = await service.rest(path, { accept });
    expect(fields.get('content-type')).toBe('application/json; charset=utf-8');
  }
});

test('a stream that is asked for by HEAD has its header fields, and is not open', async () => {
  for (let time = 0; time < 30; time += 1) {
    const head = await service.fetch('/api/v1/changes', { method: 'HEAD', headers: EVENTS });
    expect(head.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await head.text()).toBe('');
  }
  expect((await listen()).response.status).toBe(200);
});

test('a stream is not compressed, which would hold events back', async () => {
  const stream = await listen('', { 'accept-encoding': 'gzip' });
  expect(stream.response.headers.get('content-encoding')).toBeNull();
  expect((await stream.next())?.id).toMatch(/.+/);
});

test.each([
  ['INVALID_CURSOR', '?after=wrong', {}],
  ['INVALID_CURSOR', '', { 'last-event-id': 'wrong' }],
  ['INVALID_PARAMETER', '?first=5', {}],
  ['INVALID_PARAMETER', '?kinds=HEADER_CREATED,HEADER_UPDATED', {}],
  ['INVALID_DOMAIN', '?domains=-', {}],
])('a stream is rejected as 400 %s before it begins: %s %o', async (code, query, headers) => {
  const { response } = await listen(query, headers);
  expect(response.status).toBe(400);
  expect(response.headers.get('ratelimit')).toMatch(/^"anonymous";/);
  expect(response.headers.get('vary')).toBe('Accept, Accept-Encoding, Authorization');
  expect(JSON.parse(await response.text())).toMatchObject({ status: 400, code });
});

test('a stream ends with a problem where the rate limit is used up, and continues after its last id without loss', async () => {
  const rateLimits = { anonymous: 3, token: 1_000_000 };
  const limited = await startServiceForTest({ database: service.database, rateLimits });
  const query = '?domains=limited.example&kinds=HEADER_CREATED';
  const url = `${limited.url}/api/v1/changes${query}`;
  const stream = await openEvents(url);
  expect(stream.response.headers.get('ratelimit')).toMatch(/"anonymous";r=1;/);
  // 100 changes are a unit.
  const names = Array.from({ length: 300 }, (_, at) => `h${100 + at}`);
  for (let at = 0; at < 3; at += 1) {
    const headers = Object.fromEntries(names.slice(100 * at, 100 * (at + 1)).map((name) => [name, 'x']));
    await service.record({ domain: 'limited.example', at: 1_000 + at, headers });
  }
  const events = await stream.until(({ event }) => event === 'end');
  const end = events.pop();
  expect(JSON.parse(end?.data ?? '')).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
  expect(end?.retry).toBeGreaterThan(3_000);
  expect(await stream.next()).toBeUndefined();
  const namesOf = (found: typeof events) => changesIn(found).map(({ name }) => name);
  const heard = namesOf(events);
  expect(heard.length).toBeLessThan(300);
  const { response } = await openEvents(url, { headers: { 'last-event-id': end?.id ?? '' } });
  expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([429, true]);
  const again = await listen(query, { 'last-event-id': end?.id ?? '' });
  const missed = namesOf(await again.until(({ data }) => data.includes('"h399"')));
  expect([...heard, ...missed]).toEqual(names);
});

test('a stream ends with a problem where the service stops, which it does not delay', async () => {
  const stopped = await startTestService({ database: service.database });
  const stream = await openEvents(`${stopped.url}/api/v1/changes`);
  const begin = await stream.next();
  await stopped.stop();
  const end = await stream.next();
  expect(end).toMatchObject({ event: 'end', id: begin?.id });
  expect(JSON.parse(end?.data ?? '')).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
  expect(await stream.next()).toBeUndefined();
});
