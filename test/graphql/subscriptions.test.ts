import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient } from 'graphql-sse';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Feed, type LiveOptions } from '../../src/feed/feed.js';
import { createGraphqlOverHttp } from '../../src/graphql/over-http.js';
import { CHANGE_KINDS } from '../../src/model/change-kinds.js';
import { ClientGoneError } from '../../src/model/errors.js';
import { forget } from '../../src/recorder/forget.js';
import { graphqlRequest } from '../support/ask.js';
import { ACCEPT_PARTS, headerChanger, openEvents, openParts, type ReceivedEvent } from '../support/events.js';
import { aliases } from '../support/every-field.js';
import { anonymous, callerOf, openExecutor } from '../support/graphql-executor.js';
import { repeats } from '../support/long-form.js';
import { serviceOfFile, startServiceForTest, type TestService } from '../support/service.js';

let change: ReturnType<typeof headerChanger>;

const service = serviceOfFile({}, async ({ database }) => {
  change = headerChanger(database);
});

beforeEach(() => change('before'));

let domains = 0;

/** Of which nothing is recorded, also where the test runs once more. */
function newDomain(): string {
  domains += 1;
  return `new${domains}.example`;
}

const CHANGES = `subscription ($domains: [String!], $kinds: [ChangeKind!], $after: String) {
  changes(domains: $domains, kinds: $kinds, after: $after) {
    nodes { domain { name } kind ... on HeaderCreated { new } ... on HeaderUpdated { old new } }
    pageInfo { hasNextPage endCursor }
  }
}`;

type Result = Partial<Pick<Awaited<ReturnType<TestService['graphql']>>, 'data' | 'errors'>>;

interface Stream {
  readonly response: Response;
  /** The next result; undefined: the stream is complete. */
  result(): Promise<Result | undefined>;
  close(): void;
}

async function subscribe(variables: object = {}, url = service.url, query = CHANGES): Promise<Stream> {
  const stream = await openEvents(`${url}/graphql`, graphqlRequest(query, variables));
  onTestFinished(() => stream.close());
  return { ...stream, result: async () => resultOf(await stream.next()) };
}

async function subscribeInParts(variables: object = {}, url = service.url, query = CHANGES): Promise<Stream> {
  const stream = await openParts(`${url}/graphql`, graphqlRequest(query, variables));
  onTestFinished(() => stream.close());
  const result = async () => {
    let part: { readonly payload?: Result } | undefined;
    // Without a payload it tells that the stream is open.
    do part = await stream.next();
    while (part !== undefined && Object.keys(part).length === 0);
    return part?.payload;
  };
  return { ...stream, result };
}

const FORMS = [
  { form: 'in events', accept: 'text/event-stream', listen: subscribe },
  { form: 'in parts', accept: ACCEPT_PARTS, listen: subscribeInParts },
];

const resultOf = (event: ReceivedEvent | undefined): Result | undefined =>
  event?.event === 'next' ? JSON.parse(event.data) : undefined;

const nodesIn = (result: Result | undefined): { new: string }[] => result?.data?.changes.nodes ?? [];
const valuesIn = (result: Result | undefined) => nodesIn(result).map((node) => node.new);
const cursorIn = (result: Result | undefined) => result?.data?.changes.pageInfo.endCursor;

async function valuesUntil(last: string, stream: Pick<Stream, 'result'>): Promise<string[]> {
  const values: string[] = [];
  while (values.at(-1) !== last) {
    const result = await stream.result();
    if (result?.data == null) throw new Error(`The stream has ended: ${JSON.stringify(result)}`);
    values.push(...valuesIn(result));
  }
  return values;
}

const iterate = (client: Client, variables: Record<string, unknown> = {}) =>
  client.iterate<Result['data']>({ query: CHANGES, variables });

test('a subscription gives at once where it begins, and then each change as it is recorded, to the client of the protocol', async () => {
  const client = createClient({ url: `${service.url}/graphql`, retryAttempts: 0 });
  onTestFinished(() => client.dispose());
  const results = iterate(client);
  const { value: begin } = await results.next();
  const pageInfo = { hasNextPage: false, endCursor: expect.stringMatching(/.+/) };
  expect(begin).toMatchObject({ data: { changes: { nodes: [], pageInfo } }, extensions: { cost: 2 } });
  await change('one');
  expect(nodesIn((await results.next()).value)).toEqual([
    { domain: { name: 'example.com' }, kind: 'HEADER_UPDATED', old: 'before', new: 'one' },
  ]);
  await results.return?.();
  await change('two');
  const again = iterate(client, { after: cursorIn(begin) });
  expect(valuesIn((await again.next()).value)).toEqual(['one', 'two']);
  await again.return?.();
});

test('a subscription with a cursor gives what was recorded since, in events of 100 changes at most, and then what follows', async () => {
  const stream = await subscribe();
  const after = cursorIn(await stream.result());
  stream.close();
  const names = Array.from({ length: 250 }, (_, at) => `n${at}.example`);
  await service.record(...names.map((domain) => ({ domain, at: 1, headers: { server: 'a' } })));
  const again = await subscribe({ after });
  const sizes = [];
  for (let event = 0; event < 3; event += 1) sizes.push(nodesIn(await again.result()).length);
  expect(sizes).toEqual([100, 100, 50]);
  await change('then');
  expect(await valuesUntil('then', again)).toEqual(['then']);
});

test.each([
  ['INVALID_CURSOR', { after: 'wrong' }],
  ['INVALID_DOMAIN', { domains: ['-'] }],
  ['INVALID_PARAMETER', { domains: Array(1_001).fill('a.example') }],
  ['BAD_USER_INPUT', { kinds: ['GONE'] }],
])('a subscription that cannot be ends after a result with %s, in both forms', async (code, variables) => {
  for (const { listen } of FORMS) {
    const stream = await listen(variables);
    expect(stream.response.status).toBe(200);
    expect(await stream.result()).toMatchObject({ errors: [{ extensions: { code } }] });
    expect(await stream.result()).toBeUndefined();
  }
});

test('a subscription needs the scope search:read where that is not open', async () => {
  const closed = await startServiceForTest({ database: service.database, anonymousScopes: new Set() });
  const { errors } = (await (await subscribe({}, closed.url)).result()) ?? {};
  expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
});

test('a subscription is sent to whoever accepts server-sent events, and to no other', async () => {
  for (const accept of ['*/*', 'application/json, text/event-stream']) {
    const { headers, body } = await service.fetch('/graphql', graphqlRequest(CHANGES, {}, { accept }));
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await body?.cancel();
  }
  const { status, text } = await service.graphql(CHANGES, {}, { accept: 'application/json' });
  expect([status, text]).toEqual([406, expect.stringContaining('NOT_ACCEPTABLE')]);
});

const PARTS = 'multipart/mixed;boundary="-";subscriptionSpec=1.0';

test.each([
  ['text/event-stream', 'text/event-stream; charset=utf-8', ':\n\n'],
  [ACCEPT_PARTS, PARTS, '\r\n---\r\nContent-Type: application/json'],
])('a subscription is sent by GET and HEAD too, to who accepts %s', async (accept, type, begin) => {
  const url = `${service.url}/graphql?query=${encodeURIComponent(CHANGES)}`;
  const controller = new AbortController();
  const got = await fetch(url, { headers: { accept }, signal: controller.signal });
  expect(got.headers.get('content-type')).toBe(type);
  const first = await got.body?.getReader().read();
  expect(new TextDecoder().decode(first?.value).startsWith(begin)).toBe(true);
  controller.abort();
  const head = await fetch(url, { method: 'HEAD', headers: { accept } });
  expect([head.headers.get('content-type'), await head.text()]).toEqual([type, '']);
});

test.each(FORMS)('a subscription $form ends with the cursor where the service stops', async ({ listen }) => {
  const stopped = await startServiceForTest({ database: service.database });
  const stream = await listen({}, stopped.url);
  const cursor = cursorIn(await stream.result());
  await stopped.stop();
  const errors = [{ extensions: { code: 'UNAVAILABLE', cursor } }];
  expect(await stream.result()).toMatchObject({ errors });
  expect(await stream.result()).toBeUndefined();
});

test.each(FORMS)('a subscription $form ends with the cursor where no budget is left', async ({ listen }) => {
  const rateLimits = { anonymous: 4, token: 1_000_000 };
  const limited = await startServiceForTest({ database: service.database, rateLimits });
  const domain = newDomain();
  // Each change costs 1, since lists of its domain are selected.
  const query = CHANGES.replace('domain { name }', 'domain { name dnsRecords { __typename } }');
  const stream = await listen({ domains: [domain] }, limited.url, query);
  await stream.result();
  const heard: string[] = [];
  let result: Result | undefined;
  for (const letter of ['a', 'b', 'c']) {
    await change(letter, domain);
    result = await stream.result();
    heard.push(...valuesIn(result));
  }
  const { code, retryAfter, cursor } = result?.errors?.[0]?.extensions ?? {};
  expect([code, Number(retryAfter) > 0, heard]).toEqual(['RATE_LIMITED', true, ['a', 'b']]);
  const again = await listen({ domains: [domain], after: cursor });
  expect(await valuesUntil('c', again)).toEqual(['c']);
});

async function serve(live: LiveOptions): Promise<string> {
  const feed = new Feed(service.database.prisma, live);
  const executor = openExecutor(service.database, { anonymous: 1e9, token: 1e9 }, { feed });
  const viewer = { ...anonymous(), scopes: new Set(['search:read'] as const) };
  const options = { onInternalError: () => {}, introspection: true, sandbox: false, maxFields: 1e9 };
  const graphql = await createGraphqlOverHttp(executor, options);
  const server = createServer((...exchange) => void graphql.handle(...exchange, { ...viewer })).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(async () => {
    await feed.close();
    server.closeAllConnections();
    server.close();
    await graphql.stop();
  });
  return `http://127.0.0.1:${Object(server.address()).port}`;
}

test('whoever listens for too long comes back with the cursor', async () => {
  const stream = await subscribe({}, await serve({ longest: 300 }));
  const cursor = cursorIn(await stream.result());
  expect(await stream.result()).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE', cursor } }] });
});

test.each(FORMS)('streams $form are 25 for each client, and one that ends makes room', async ({ listen }) => {
  const url = await serve({});
  const streams = await Promise.all(Array.from({ length: 25 }, () => listen({}, url)));
  for (const stream of streams) expect((await stream.result())?.errors).toBeUndefined();
  const rejected = await (await listen({}, url)).result();
  expect(rejected).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
  streams[0]?.close();
  await expect.poll(async () => (await (await listen({}, url)).result())?.errors).toBeUndefined();
});

test.each(FORMS)('a slow reader of a stream $form gets all changes, at its own pace', async ({ accept }) => {
  const url = await serve({ keptFor: 20, lookEvery: 5 });
  const domain = newDomain();
  const fast = await subscribe({ domains: [domain] }, url);
  const { method, headers, body } = graphqlRequest(CHANGES, { domains: [domain] }, { accept });
  const slow = request(`${url}/graphql`, { method, headers }).end(body);
  const response = await new Promise<IncomingMessage>((resolve) => slow.once('response', resolve));
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await expect.poll(() => text).toContain('endCursor');
  response.pause();
  // More than the buffers of the system hold.
  const total = repeats(600, 400);
  const value = (at: number) => `${at} ${'x'.repeat(30_000)}`;
  const heardFast: string[] = [];
  for (let at = 0; at < total; at += 20) {
    const values = Array.from({ length: 20 }, (_, more) => [`h${10 + more}`, value(at + more)]);
    await service.record({ domain, at: 1_000 + at, headers: Object.fromEntries(values) });
    // Whoever has read all before these is not slow.
    heardFast.push(...(await valuesUntil(value(at + 19), fast)));
    // Half of it: whoever reads nothing at all is disconnected after a while.
    const half = text.length + 300_000;
    response.resume();
    while (text.length < half) await once(response, 'data');
    response.pause();
  }
  response.resume();
  // The text itself, of 12 MB, would be written into the message of each attempt.
  await expect.poll(() => text.includes(`"new":"${total - 1} `)).toBe(true);
  slow.destroy();
  expect(text).not.toContain('"errors"');
  const all = Array.from({ length: total }, (_, at) => at);
  expect(heardFast).toEqual(all.map(value));
  expect([...text.matchAll(/"new":"(\d+) /g)].map(([, at]) => Number(at))).toEqual(all);
});

test('what is kept is read no further for a client that has gone, which is no failure of the service', async () => {
  const feed = new Feed(service.database.prisma, { lookEvery: 5 });
  onTestFinished(() => feed.close());
  const kinds = new Set(CHANGE_KINDS);
  const earlier = feed.listen({ ...callerOf(), kinds });
  const { value: begin } = await earlier.next();
  await earlier.return();
  const headers = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`h${at}`, 'value']));
  await service.record({ domain: newDomain(), at: 1, headers });
  const signal = Object.assign(new EventEmitter(), { destroyed: false });
  const listening = feed.listen({ ...callerOf(), signal, kinds, after: begin?.end });
  await listening.next();
  signal.emit('close');
  await expect(listening.next()).rejects.toBeInstanceOf(ClientGoneError);
});

test('what was erased is not sent for longer than pages are kept', async () => {
  const url = await serve({ keptFor: 100, lookEvery: 5 });
  const stream = await subscribe({}, url);
  const after = cursorIn(await stream.result());
  await change('secret', 'erased.example');
  await change('kept');
  await valuesUntil('kept', stream);
  await forget(service.database, ['erased.example']);
  await pause(300);
  expect(await valuesUntil('kept', await subscribe({ after }, url))).toEqual(['kept']);
});

test('the cursor of those whom no change is for advances', async () => {
  const url = await serve({ advanceAfter: 0, lookEvery: 5 });
  const stream = await subscribe({ domains: ['quiet.example'] }, url);
  const begin = cursorIn(await stream.result());
  await change('for others');
  const next = await stream.result();
  expect(nodesIn(next)).toEqual([]);
  expect(cursorIn(next)).not.toBe(begin);
});

test.each([
  'subscription { changes @include(if: false) { nodes { id } } }',
  'subscription { ... @skip(if: true) { changes { nodes { id } } } }',
  'subscription { ...F } fragment F on Subscription { changes @skip(if: true) { nodes { id } } }',
])('a subscription whose field is left out is invalid: %s', async (query) => {
  const { errors } = (await (await subscribe({}, service.url, query)).result()) ?? {};
  expect(errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([]);
});

test('the document of a subscription is paid for, besides the stream', async () => {
  const query = `subscription { changes { pageInfo { ${aliases(400, 'endCursor')} } } }`;
  const stream = await subscribe({}, service.url, query);
  expect(await stream.result()).toMatchObject({ extensions: { cost: 3 } });
});

test('a subscription in parts (Multipart HTTP protocol for GraphQL Subscriptions) begins with a part that tells nothing, has a payload in each, and is not kept back', async () => {
  const stream = await openParts(`${service.url}/graphql`, graphqlRequest(CHANGES));
  onTestFinished(() => stream.close());
  expect(Object.fromEntries(stream.response.headers)).toMatchObject({
    'content-type': PARTS,
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    ratelimit: expect.stringMatching(/^"anonymous";/),
  });
  expect(await stream.next()).toEqual({});
  const page = { nodes: [], pageInfo: { hasNextPage: false, endCursor: expect.stringMatching(/.+/) } };
  expect(await stream.next()).toEqual({ payload: { data: { changes: page }, extensions: { cost: 2 } } });
  await change('one');
  const nodes = [{ domain: { name: 'example.com' }, kind: 'HEADER_UPDATED', old: 'before', new: 'one' }];
  expect(await stream.next()).toMatchObject({ payload: { data: { changes: { nodes } } } });
});

const INVALID = { errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] };

const failing = async (accept: string) => {
  const init = graphqlRequest(CHANGES, { after: 'wrong' }, { accept });
  return (await service.fetch('/graphql', init)).text();
};

const ERROR = { message: expect.any(String), path: ['changes'], extensions: { code: 'INVALID_CURSOR' } };
const CURSOR_ERROR = { errors: [ERROR] };

test('each part is closed by a delimiter at once, and the end by the last one (RFC 2046, section 5.1.1)', async () => {
  const [begin, open, last, end, ...others] = (await failing(ACCEPT_PARTS)).split('\r\n---');
  const head = '\r\nContent-Type: application/json\r\n\r\n';
  expect([begin, open, end, others]).toEqual(['', `${head}{}`, '--\r\n', []]);
  expect(JSON.parse(last?.slice(head.length) ?? '')).toEqual({ payload: CURSOR_ERROR });
});

test('a stream of server-sent events has a comment, each result and the end (GraphQL over SSE)', async () => {
  const text = await failing('text/event-stream');
  const [, result = ''] = /^:\n\nevent: next\ndata: (.*)\n\nevent: complete\ndata:\n\n$/.exec(text) ?? [text];
  expect(JSON.parse(result)).toEqual(CURSOR_ERROR);
});

test.each([
  ['GRAPHQL_VALIDATION_FAILED', 'subscription { domain }'],
  ['GRAPHQL_PARSE_FAILED', 'subscription {'],
])('a subscription in parts that is %s has the status 400 where JSON is accepted', async (code, query) => {
  const { status, fields, errors } = await service.graphql(query, {}, { accept: ACCEPT_PARTS });
  expect([status, errors]).toMatchObject([400, [{ extensions: { code } }]]);
  expect(fields.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
  const accept = 'multipart/mixed;subscriptionSpec=1.0';
  const alone = await openParts(`${service.url}/graphql`, graphqlRequest(query, {}, { accept }));
  expect(alone.response.status).toBe(200);
  expect(await alone.next()).toMatchObject({ payload: { errors: [{ extensions: { code } }] } });
  expect(await alone.next()).toBeUndefined();
});

test.each([
  ['text/event-stream', ':\n\n'],
  [ACCEPT_PARTS, '\r\nContent-Type: application/json\r\n\r\n{}\r\n---'],
])('a silent stream shows every 15 seconds that it is open: %s', async (accept, heartbeat) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const init = { ...graphqlRequest(CHANGES, {}, { accept }), signal: controller.signal };
  const { body } = await service.fetch('/graphql', init);
  let text = '';
  const write = (chunk: string) => {
    text += chunk;
  };
  const read = body?.pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream({ write }));
  void read?.catch(() => {});
  await expect.poll(() => text).toContain('endCursor');
  await expect.poll(() => text).toMatch(/\n---$|\n\n$/);
  const begin = text;
  vi.advanceTimersByTime(30_000);
  await expect.poll(() => text).toBe(begin + heartbeat + heartbeat);
});

test.each([
  ['the result of a query', '{ domain(name: "a") { name } }', { data: { domain: null } }],
  ['what validation finds', '{ name }', INVALID],
  ['that there are no mutations', 'mutation { a }', INVALID],
])('a client that accepts events alone gets %s as an event, and the end', async (_what, query, result) => {
  const stream = await openEvents(`${service.url}/graphql`, graphqlRequest(query));
  expect(stream.response.status).toBe(200);
  expect(resultOf(await stream.next())).toMatchObject(result);
  expect(await stream.next()).toMatchObject({ event: 'complete', data: '' });
  expect(await stream.next()).toBeUndefined();
});

test('a client that accepts server-sent events alone gets what is wrong with its request itself as a status', async () => {
  const init = { ...graphqlRequest('', {}, { accept: 'text/event-stream' }), body: '{' };
  const malformed = await service.fetch('/graphql', init);
  const errors = [{ extensions: { code: 'BAD_REQUEST' } }];
  expect([malformed.status, await malformed.json()]).toMatchObject([400, { errors }]);
});
