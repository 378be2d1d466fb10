import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import express from 'express';
import { type Client, createClient } from 'graphql-sse';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Feed, type LiveOptions } from '../../src/feed/feed.js';
import { createGraphqlOverHttp } from '../../src/graphql/over-http.js';
import { CHANGE_KINDS } from '../../src/model/change-kinds.js';
import { ClientGoneError } from '../../src/model/errors.js';
import { forget } from '../../src/recorder/forget.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { headerChanger, openEvents, type ReceivedEvent } from '../support/events.js';
import { anonymous, callerOf, openExecutor } from '../support/graphql-executor.js';
import { observation } from '../support/observations.js';
import { ACCEPT_PARTS, openParts } from '../support/parts.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
let change: ReturnType<typeof headerChanger>;

beforeAll(async () => {
  service = await startTestService();
  change = headerChanger(service.database);
});
afterAll(() => service.stop());

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

interface Node {
  readonly domain: { readonly name: string };
  readonly new: string;
}

interface Result {
  readonly data?: {
    readonly changes: {
      readonly nodes: readonly Node[];
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
    };
  } | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions: { readonly code: string; readonly cursor?: string; readonly retryAfter?: number };
  }[];
}

function send(query: string, variables: object = {}, headers: Record<string, string> = {}) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  };
}

async function subscribe(variables: object = {}, url = service.url, query = CHANGES) {
  const stream = await openEvents(`${url}/graphql`, send(query, variables));
  onTestFinished(() => stream.close());
  return {
    ...stream,
    /** The result of the next event; undefined: the stream is complete. */
    async result(): Promise<Result | undefined> {
      return resultOf(await stream.next());
    },
  };
}

/** The same in parts, as Apollo Client does. */
async function subscribeInParts(variables: object = {}, url = service.url, query = CHANGES) {
  const stream = await openParts(`${url}/graphql`, send(query, variables));
  onTestFinished(() => stream.close());
  return {
    ...stream,
    async result(): Promise<Result | undefined> {
      let part: { readonly payload?: Result } | undefined;
      // Without a payload it tells that the stream is open.
      do part = await stream.next();
      while (part !== undefined && Object.keys(part).length === 0);
      return part?.payload;
    },
  };
}

const IN_BOTH_FORMS = [
  ['as server-sent events', 'text/event-stream', subscribe],
  ['in parts', ACCEPT_PARTS, subscribeInParts],
] as const;

function resultOf(event: ReceivedEvent | undefined): Result | undefined {
  return event?.event === 'next' ? JSON.parse(event.data) : undefined;
}

/** The values that results have, up to one. */
async function valuesUntil(
  last: string,
  stream: { result(): Promise<Result | undefined> },
): Promise<string[]> {
  const values: string[] = [];
  while (values.at(-1) !== last) {
    const result = await stream.result();
    if (result?.data == null) throw new Error(`The stream has ended: ${JSON.stringify(result)}`);
    values.push(...result.data.changes.nodes.map((node) => node.new));
  }
  return values;
}

describe('subscription { changes }', () => {
  test('gives at once where it begins, and then each change as it is recorded, to the client of the protocol', async () => {
    const client = createClient({ url: `${service.url}/graphql`, retryAttempts: 0 });
    onTestFinished(() => client.dispose());
    const results = iterate(client);
    const begin = await nextOf(results);
    expect(begin).toMatchObject({
      data: {
        changes: { nodes: [], pageInfo: { hasNextPage: false, endCursor: expect.stringMatching(/.+/) } },
      },
      extensions: { cost: 2 },
    });
    await change('one');
    expect((await nextOf(results))?.data?.changes.nodes).toEqual([
      { domain: { name: 'example.com' }, kind: 'HEADER_UPDATED', old: 'before', new: 'one' },
    ]);
    await results.return?.();
    await change('two');
    const again = iterate(client, { after: begin?.data?.changes.pageInfo.endCursor });
    expect((await nextOf(again))?.data?.changes.nodes.map((node) => node.new)).toEqual(['one', 'two']);
    await again.return?.();
  });

  test('gives only changes of the domains and kinds', async () => {
    const stream = await subscribe({ domains: ['a.example', 'B.example.'], kinds: ['HEADER_UPDATED'] });
    expect((await stream.result())?.data?.changes.nodes).toEqual([]);
    for (const domain of ['a.example', 'c.example', 'b.example'])
      for (const value of ['created', domain]) await change(value, domain);
    expect(await valuesUntil('b.example', stream)).toEqual(['a.example', 'b.example']);
  });

  test('with a cursor gives what was recorded since, in events of 100 changes at most, and then what follows', async () => {
    const stream = await subscribe();
    const after = (await stream.result())?.data?.changes.pageInfo.endCursor;
    stream.close();
    for (let many = 0; many < 250; many += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, one) => change(`${many + one}`, `n${many + one}.example`)),
      );
    }
    const again = await subscribe({ after });
    const sizes: number[] = [];
    while (sizes.reduce((sum, size) => sum + size, 0) < 250) {
      const { nodes = [] } = (await again.result())?.data?.changes ?? {};
      sizes.push(nodes.length);
    }
    expect(sizes).toEqual([100, 100, 50]);
    await change('then');
    expect(await valuesUntil('then', again)).toEqual(['then']);
  });

  test.each([
    ['INVALID_CURSOR', { after: 'wrong' }],
    ['INVALID_DOMAIN', { domains: ['-'] }],
    ['INVALID_PARAMETER', { domains: Array.from({ length: 1_001 }, (_, at) => `${at}.example`) }],
    ['BAD_USER_INPUT', { kinds: ['GONE'] }],
  ])('that cannot be is one event with %s, and the end', async (code, variables) => {
    const stream = await subscribe(variables);
    expect(stream.response.status).toBe(200);
    expect(await stream.result()).toMatchObject({ errors: [{ extensions: { code } }] });
    expect(await stream.next()).toMatchObject({ event: 'complete', data: '' });
    expect(await stream.next()).toBeUndefined();
  });

  test('needs the scope search:read where that is not open', async () => {
    const closed = await startTestService({ database: service.database, anonymousScopes: new Set() });
    onTestFinished(() => closed.stop());
    const stream = await subscribe({}, closed.url);
    expect(await stream.result()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });

  test('is sent to whoever accepts server-sent events, by GET too, and to no other', async () => {
    for (const accept of ['*/*', 'application/json, text/event-stream']) {
      const { headers, body } = await fetch(`${service.url}/graphql`, send(CHANGES, {}, { accept }));
      expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      await body?.cancel();
    }
    const json = await fetch(`${service.url}/graphql`, send(CHANGES, {}, { accept: 'application/json' }));
    expect([json.status, await json.text()]).toEqual([406, expect.stringContaining('NOT_ACCEPTABLE')]);
    const url = `${service.url}/graphql?query=${encodeURIComponent(CHANGES)}`;
    const stream = await openEvents(url);
    expect(resultOf(await stream.next())?.data?.changes.nodes).toEqual([]);
    stream.close();
    const head = await fetch(url, { method: 'HEAD', headers: { accept: 'text/event-stream' } });
    expect([head.headers.get('content-type'), await head.text()]).toEqual([
      'text/event-stream; charset=utf-8',
      '',
    ]);
  });

  test.each(IN_BOTH_FORMS)(
    '%s ends with an error and the cursor to come back with where the service stops, which it does not delay',
    async (_form, _accept, listen) => {
      const stopped = await startTestService({ database: service.database });
      const stream = await listen({}, stopped.url);
      const { endCursor: cursor } = (await stream.result())?.data?.changes.pageInfo ?? {};
      const began = performance.now();
      await stopped.stop();
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(await stream.result()).toMatchObject({
        errors: [{ extensions: { code: 'UNAVAILABLE', cursor } }],
      });
      expect(await stream.result()).toBeUndefined();
    },
  );

  test.each(IN_BOTH_FORMS)(
    '%s ends with an error and the cursor where the rate limit is used up, and loses nothing',
    async (_form, _accept, listen) => {
      const limited = await startTestService({
        database: service.database,
        rateLimits: { anonymous: 4, token: 1_000_000 },
      });
      onTestFinished(() => limited.stop());
      const domain = newDomain();
      const domains = [domain];
      // Each change costs 1, since lists of its domain are selected.
      const query = CHANGES.replace('domain { name }', 'domain { name dnsRecords { __typename } }');
      const stream = await listen({ domains }, limited.url, query);
      await stream.result();
      const heard: string[] = [];
      let result: Result | undefined;
      for (const letter of ['a', 'b', 'c']) {
        await change(letter, domain);
        result = await stream.result();
        heard.push(...(result?.data?.changes.nodes.map((node) => node.new) ?? []));
      }
      const { code, retryAfter, cursor } = result?.errors?.[0]?.extensions ?? {};
      expect([code, Number(retryAfter) > 0]).toEqual(['RATE_LIMITED', true]);
      expect(heard).toEqual(['a', 'b']);
      const again = await listen({ domains, after: cursor });
      const missed = await valuesUntil('c', again);
      expect([...heard, ...missed.map((value) => value.slice(0, 1))]).toEqual(['a', 'b', 'c']);
    },
  );
});

function iterate(client: Client, variables: Record<string, unknown> = {}) {
  return client.iterate<NonNullable<Result['data']>>({ query: CHANGES, variables });
}

async function nextOf(results: ReturnType<typeof iterate>): Promise<Result | undefined> {
  return (await results.next()).value ?? undefined;
}

/** GraphQL on /graphql of a server of its own. */
async function serve(live: LiveOptions): Promise<string> {
  const rateLimits = { anonymous: 1e9, token: 1e9 };
  const feed = new Feed(service.database.prisma, live);
  const executor = openExecutor(service.database, rateLimits, { feed });
  const viewerOf = () => ({ ...anonymous(), scopes: new Set(['search:read'] as const) });
  const options = { onInternalError: () => {}, introspection: true, sandbox: false, maxFields: 1e9 };
  const graphql = await createGraphqlOverHttp(executor, { viewerOf, ...options });
  const server = createServer(express().use('/graphql', graphql.handle)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    await feed.close();
    server.closeAllConnections();
    server.close();
    await graphql.stop();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

describe('those who listen', () => {
  test('for too long come back with the cursor', async () => {
    const url = await serve({ longest: 300 });
    const stream = await subscribe({}, url);
    const { endCursor: cursor } = (await stream.result())?.data?.changes.pageInfo ?? {};
    expect(await stream.result()).toMatchObject({
      errors: [{ extensions: { code: 'UNAVAILABLE', cursor } }],
    });
  });

  test.each(IN_BOTH_FORMS)(
    '%s are 25 for each client, and another may come when one has gone',
    async (_form, _accept, listen) => {
      const url = await serve({});
      const streams = await Promise.all(Array.from({ length: 25 }, () => listen({}, url)));
      for (const stream of streams) expect((await stream.result())?.errors).toBeUndefined();
      const rejected = await listen({}, url);
      expect(await rejected.result()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
      streams[0]?.close();
      await expect.poll(async () => (await (await listen({}, url)).result())?.errors).toBeUndefined();
    },
  );

  test.each(IN_BOTH_FORMS)(
    '%s and read more slowly than changes are recorded get all of them, at their own pace',
    async (_form, accept) => {
      const url = await serve({ keptFor: 20, lookEvery: 5 });
      const domain = newDomain();
      const fast = await subscribe({ domains: [domain] }, url);
      const { method, headers, body } = send(CHANGES, { domains: [domain] }, { accept });
      const slow = request(`${url}/graphql`, { method, headers }).end(body);
      const response = await new Promise<IncomingMessage>((resolve) => slow.once('response', resolve));
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      await expect.poll(() => text).toContain('endCursor');
      response.pause();
      // More than the buffers of the system hold.
      const value = (at: number) => `${at} ${'x'.repeat(30_000)}`;
      const values = Array.from({ length: 600 }, (_, at) => value(at));
      const heardFast: string[] = [];
      for (let at = 0; at < 600; at += 20) {
        const headers = Array.from({ length: 20 }, (_, more) => [`h${10 + more}`, value(at + more)]);
        const parts = { domain, at: 1_000 + at, headers: Object.fromEntries(headers) };
        await createRecorder(service.database.pool).record([observation(parts)]);
        // Whoever has read all before these is not slow.
        heardFast.push(...(await valuesUntil(value(at + 19), fast)));
        // Half of it: whoever reads nothing at all is disconnected after a while.
        const half = text.length + 300_000;
        response.resume();
        while (text.length < half) await once(response, 'data');
        response.pause();
      }
      expect(heardFast).toEqual(values);
      response.resume();
      await expect.poll(() => text, { timeout: 60_000 }).toContain(`"new":"599 `);
      slow.destroy();
      expect(text).not.toContain('"errors"');
      expect([...text.matchAll(/"new":"(\d+) /g)].map(([, at]) => Number(at))).toEqual(
        values.map((_, at) => at),
      );
    },
  );
});

describe('what is kept for those who read slowly', () => {
  test('loses nothing between the first page and the second, however much was recorded', async () => {
    const feed = new Feed(service.database.prisma, { lookEvery: 5 });
    const key = { ...callerOf(), kinds: new Set(CHANGE_KINDS) };
    const listening = feed.listen(key);
    onTestFinished(() => feed.close());
    await listening.next();
    const other = feed.listen(key);
    await other.next();
    const values = Array.from({ length: 30 }, (_, at) => `value ${at}`);
    for (const value of values) {
      await change(value);
      await other.next();
    }
    const found: string[] = [];
    while (found.length < 30) {
      const { value: page } = await listening.next();
      found.push(...(page?.items.map((each) => String(each.new)) ?? []));
    }
    expect(found).toEqual(values);
    await listening.return();
    await other.return();
  });

  test('is read no further for a client that has gone, which is no failure of the service', async () => {
    const feed = new Feed(service.database.prisma, { lookEvery: 5 });
    onTestFinished(() => feed.close());
    const kinds = new Set(CHANGE_KINDS);
    const earlier = feed.listen({ ...callerOf(), kinds });
    const { value: begin } = await earlier.next();
    await earlier.return();
    const headers = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`h${at}`, 'value']));
    await createRecorder(service.database.pool).record([
      observation({ domain: newDomain(), at: 1, headers }),
    ]);
    const signal = Object.assign(new EventEmitter(), { destroyed: false });
    const listening = feed.listen({ ...callerOf(), signal, kinds, after: begin?.end });
    await listening.next();
    signal.emit('close');
    await expect(listening.next()).rejects.toBeInstanceOf(ClientGoneError);
  });

  test('does not have what was erased since for longer than that', async () => {
    const url = await serve({ keptFor: 100, lookEvery: 5 });
    const stream = await subscribe({}, url);
    const after = (await stream.result())?.data?.changes.pageInfo.endCursor;
    await change('secret', 'erased.example');
    await change('kept');
    await valuesUntil('kept', stream);
    await forget(service.database, ['erased.example']);
    await pause(300);
    expect(await valuesUntil('kept', await subscribe({ after }, url))).toEqual(['kept']);
  });

  test('advances the cursor of those whom no change is for', async () => {
    const url = await serve({ advanceAfter: 0, lookEvery: 5 });
    const stream = await subscribe({ domains: ['quiet.example'] }, url);
    const begin = (await stream.result())?.data?.changes.pageInfo.endCursor;
    await change('for others');
    const next = (await stream.result())?.data?.changes;
    expect(next?.nodes).toEqual([]);
    expect(next?.pageInfo.endCursor).not.toBe(begin);
  });
});

describe('an observation with very many and long changes', () => {
  test('of 12 MB comes in events that a client gets whole, live and with a cursor from before it', async () => {
    const stream = await subscribe();
    const after = (await stream.result())?.data?.changes.pageInfo.endCursor;
    const names = Array.from({ length: 120 }, (_, at) => `h${1_000 + at}`);
    const headers = names.map((name) => [name, `${name} ${'x'.repeat(100_000)}`]);
    const parts = { domain: newDomain(), at: 1, headers: Object.fromEntries(headers) };
    await createRecorder(service.database.pool).record([observation(parts)]);
    const last = String(headers.at(-1)?.[1]);
    const live = await valuesUntil(last, stream);
    expect(live.map((value) => value.slice(0, 5))).toEqual(names);
    expect(await valuesUntil(last, await subscribe({ after }))).toEqual(live);
  });
});

describe('a subscription', () => {
  test.each([
    'subscription { changes @include(if: false) { nodes { id } } }',
    'subscription { ... @skip(if: true) { changes { nodes { id } } } }',
    'subscription { ...F } fragment F on Subscription { changes @skip(if: true) { nodes { id } } }',
  ])('whose field is left out is invalid: %s', async (query) => {
    const stream = await openEvents(`${service.url}/graphql`, send(query));
    expect(resultOf(await stream.next())).toMatchObject({
      errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }],
    });
    expect(service.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('has a document that is paid for, besides the stream', async () => {
    const aliases = Array.from({ length: 400 }, (_, at) => `a${at}: endCursor`).join(' ');
    const query = `subscription { changes { pageInfo { ${aliases} } } }`;
    const costs: unknown[] = [];
    for (let time = 0; time < 2; time += 1) {
      const stream = await openEvents(`${service.url}/graphql`, send(query));
      costs.push(JSON.parse((await stream.next())?.data ?? '{}').extensions.cost);
      stream.close();
    }
    expect(costs).toEqual([3, 3]);
  });
});

describe('a subscription in parts (Multipart HTTP protocol for GraphQL Subscriptions)', () => {
  test('begins with a part that tells nothing, has a payload in each, and is not kept back', async () => {
    const stream = await subscribeInParts();
    expect(stream.response.status).toBe(200);
    expect(Object.fromEntries(stream.response.headers)).toMatchObject({
      'content-type': 'multipart/mixed;boundary="-";subscriptionSpec=1.0',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ratelimit: expect.stringMatching(/^"anonymous";/),
    });
    expect(await stream.next()).toEqual({});
    const page = { nodes: [], pageInfo: { hasNextPage: false, endCursor: expect.stringMatching(/.+/) } };
    const begin = { data: { changes: page }, extensions: { cost: 2 } };
    expect(await stream.next()).toEqual({ payload: begin });
    await change('one');
    const nodes = [{ domain: { name: 'example.com' }, kind: 'HEADER_UPDATED', old: 'before', new: 'one' }];
    expect(await stream.next()).toMatchObject({ payload: { data: { changes: { nodes } } } });
  });

  test('has each part closed by a delimiter at once, and the end by the last one (RFC 2046, section 5.1.1)', async () => {
    const init = send(CHANGES, { after: 'wrong' }, { accept: ACCEPT_PARTS });
    const response = await fetch(`${service.url}/graphql`, init);
    const [begin, open, last, end, ...others] = (await response.text()).split('\r\n---');
    const head = '\r\nContent-Type: application/json\r\n\r\n';
    expect([response.status, begin, open, end, others]).toEqual([200, '', `${head}{}`, '--\r\n', []]);
    const error = { message: expect.any(String), path: ['changes'], extensions: { code: 'INVALID_CURSOR' } };
    expect(JSON.parse(last?.slice(head.length) ?? '')).toEqual({ payload: { errors: [error] } });
  });

  test.each([
    ['INVALID_DOMAIN', { domains: ['-'] }],
    ['BAD_USER_INPUT', { kinds: ['GONE'] }],
  ])('that cannot be has one result with %s, and the end', async (code, variables) => {
    const stream = await subscribeInParts(variables);
    expect(await stream.result()).toMatchObject({ errors: [{ extensions: { code } }] });
    expect(await stream.next()).toBeUndefined();
  });

  test.each([
    [400, 'GRAPHQL_VALIDATION_FAILED', 'subscription { domain }'],
    [400, 'GRAPHQL_PARSE_FAILED', 'subscription {'],
  ])('that is not valid has the status %d, as JSON where that is accepted', async (status, code, query) => {
    const response = await fetch(`${service.url}/graphql`, send(query, {}, { accept: ACCEPT_PARTS }));
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/graphql-response+json; charset=utf-8',
    ]);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code } }] });
    const accept = 'multipart/mixed;subscriptionSpec=1.0';
    const alone = await openParts(`${service.url}/graphql`, send(query, {}, { accept }));
    expect(alone.response.status).toBe(200);
    expect(await alone.next()).toMatchObject({ payload: { errors: [{ extensions: { code } }] } });
    expect(await alone.next()).toBeUndefined();
  });

  test('is sent by GET and HEAD too, and a query is answered as JSON', async () => {
    const url = `${service.url}/graphql?query=${encodeURIComponent(CHANGES)}`;
    const stream = await openParts(url);
    expect([await stream.next(), await stream.next()]).toMatchObject([{}, { payload: { data: {} } }]);
    stream.close();
    const head = await fetch(url, { method: 'HEAD', headers: { accept: ACCEPT_PARTS } });
    expect([head.headers.get('content-type'), await head.text()]).toEqual([
      'multipart/mixed;boundary="-";subscriptionSpec=1.0',
      '',
    ]);
    const query = await fetch(`${service.url}/graphql`, send('{ __typename }', {}, { accept: ACCEPT_PARTS }));
    expect(query.headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
  });
});

test.each([
  ['text/event-stream', ':\n\n'],
  [ACCEPT_PARTS, '\r\nContent-Type: application/json\r\n\r\n{}\r\n---'],
])(
  'a stream that has nothing to send shows every 15 seconds that it is open: %s',
  async (accept, heartbeat) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const init = { ...send(CHANGES, {}, { accept }), signal: controller.signal };
    const { body } = await fetch(`${service.url}/graphql`, init);
    let text = '';
    void body
      ?.pipeThrough(new TextDecoderStream())
      .pipeTo(
        new WritableStream({
          write(chunk) {
            text += chunk;
          },
        }),
      )
      .catch(() => {});
    await expect.poll(() => text).toContain('endCursor');
    await expect.poll(() => text).toMatch(/\n---$|\n\n$/);
    const begin = text;
    vi.advanceTimersByTime(30_000);
    await expect.poll(() => text).toBe(begin + heartbeat + heartbeat);
  },
);

test('a stream of server-sent events has a comment, each result and the end (GraphQL over SSE)', async () => {
  const init = send(CHANGES, { after: 'wrong' }, { accept: 'text/event-stream' });
  const response = await fetch(`${service.url}/graphql`, init);
  const text = await response.text();
  const [, result = ''] = /^:\n\nevent: next\ndata: (.*)\n\nevent: complete\ndata:\n\n$/.exec(text) ?? [text];
  expect(JSON.parse(result)).toEqual({
    errors: [{ message: expect.any(String), path: ['changes'], extensions: { code: 'INVALID_CURSOR' } }],
  });
});

describe('a client that accepts server-sent events alone', () => {
  const ask = (query: string) => openEvents(`${service.url}/graphql`, send(query));

  test.each([
    [
      'the result of a query',
      '{ domain(name: "example.com") { name } }',
      { data: { domain: { name: 'example.com' } } },
    ],
    [
      'what validation finds',
      '{ name }',
      { errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] },
    ],
    [
      'that there are no mutations',
      'mutation { a }',
      { errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] },
    ],
  ])('gets %s as an event, and the end', async (_what, query, result) => {
    const stream = await ask(query);
    expect(stream.response.status).toBe(200);
    expect(resultOf(await stream.next())).toMatchObject(result);
    expect(await stream.next()).toMatchObject({ event: 'complete', data: '' });
    expect(await stream.next()).toBeUndefined();
  });

  test('gets what is wrong with its request itself as a status', async () => {
    const headers = { accept: 'text/event-stream', 'content-type': 'application/json' };
    const malformed = await fetch(`${service.url}/graphql`, { method: 'POST', headers, body: '{' });
    expect([malformed.status, await malformed.json()]).toMatchObject([
      400,
      { errors: [{ extensions: { code: 'BAD_REQUEST' } }] },
    ]);
  });
});
