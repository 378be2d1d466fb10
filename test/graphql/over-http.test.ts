import { once } from 'node:events';
import { createServer, METHODS, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import express from 'express';
import { getIntrospectionQuery } from 'graphql';
import supertest from 'supertest';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createGraphqlOverHttp } from '../../src/graphql/over-http.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { anonymous, openExecutor, withToken } from '../support/graphql-executor.js';
import { insertDnsRecords, insertDomain } from '../support/rows.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'a.example' });
  await insertDnsRecords(database.pool, 'a.example', [{ type: 'A', rdata: { ip: '192.0.2.1' } }]);
});
afterAll(() => database.close());
afterEach(() => {
  vi.unstubAllEnvs();
});

interface Options {
  /** How many requests each client may send. */
  readonly limit?: number;
  readonly introspection?: boolean;
  readonly sandbox?: boolean;
}

/** GraphQL on /graphql, and what its log got. A client with an Authorization header has a token. */
async function serve({ limit = 100_000, introspection = true, sandbox = true }: Options = {}) {
  const logged: unknown[] = [];
  const executor = openExecutor(database, { anonymous: limit, token: limit });
  const onInternalError = (error: unknown) => logged.push(error);
  const server = await createGraphqlOverHttp(executor, {
    viewerOf: ({ headers }) => (headers.authorization ? withToken() : anonymous()),
    onInternalError,
    introspection,
    sandbox,
    maxFields: 250_000,
  });
  // One that listens already: supertest starts one for each request otherwise.
  const app = createServer(express().use('/graphql', server.handle)).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    app.close();
    await server.stop();
  });
  return { app, logged };
}

function post(app: Server, query: string, variables?: Record<string, unknown>) {
  return supertest(app).post('/graphql').send({ query, variables });
}

const NAME = 'query Name($name: String!) { domain(name: $name) { name } }';

describe('a request', () => {
  test('is answered by POST', async () => {
    const { app } = await serve();
    const response = await post(app, NAME, { name: 'A.example.' });
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.text).toBe('{"data":{"domain":{"name":"a.example"}},"extensions":{"cost":1}}\n');
  });

  test('is answered by GET, but not to a page of another site', async () => {
    const { app } = await serve();
    const query = { query: NAME, variables: '{"name":"a.example"}' };
    const get = (site?: string) => {
      const request = supertest(app).get('/graphql').query(query);
      return site === undefined ? request : request.set('sec-fetch-site', site);
    };
    for (const site of [undefined, 'none', 'same-origin']) {
      expect((await get(site)).body.data).toEqual({ domain: { name: 'a.example' } });
    }
    expect((await get().set('content-type', 'application/json')).status).toBe(200);
    for (const site of ['same-site', 'cross-site']) {
      const foreign = await get(site);
      expect(foreign.status).toBe(400);
      expect(foreign.body).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
      expect(foreign.body.data).toBeUndefined();
    }
    const form = await supertest(app)
      .post('/graphql')
      .type('text/plain')
      .send(JSON.stringify({ query: '{ __typename }' }));
    expect(form.status).toBe(415);
    expect(form.body.data).toBeUndefined();
  });

  test('is answered by HEAD as by GET, without the body', async () => {
    const { app } = await serve();
    const ask = (method: 'get' | 'head') =>
      supertest(app)[method]('/graphql').query({ query: '{ __typename }' });
    const [got, head] = [await ask('get'), await ask('head')];
    expect([got.status, head.status]).toEqual([200, 200]);
    const { date, ratelimit } = head.headers;
    expect(head.headers).toEqual({ ...got.headers, date, ratelimit });
    expect(head.headers['content-length']).toBe(String(got.text.length));
    expect(head.text).toBeUndefined();
    expect((await ask('head').set('sec-fetch-site', 'cross-site')).status).toBe(400);
  });
});

describe('what is wrong with a request is said with a code', () => {
  test.each([
    [400, 'GRAPHQL_PARSE_FAILED', '{ domain(', {}],
    [400, 'GRAPHQL_VALIDATION_FAILED', '{ domain { name } }', {}],
    [400, 'BAD_USER_INPUT', NAME, { name: 7 }],
    [200, 'BAD_USER_INPUT', 'query ($n: String = "a.example") { domain(name: $n) { name } }', { n: null }],
    [400, 'GRAPHQL_VALIDATION_FAILED', 'mutation { forget }', {}],
    [400, 'GRAPHQL_VALIDATION_FAILED', 'subscription { domain }', {}],
    [400, 'OPERATION_RESOLUTION_FAILURE', 'query A { __typename } query B { __typename }', {}],
    [400, 'QUERY_TOO_COMPLEX', `{ ${'__typename '.repeat(30_000)} }`, {}],
    [400, 'QUERY_TOO_COMPLEX', fragmentBomb(), {}],
    [200, 'INVALID_DOMAIN', NAME, { name: '-' }],
  ])('%d %s', async (status, code, query, variables) => {
    const { app, logged } = await serve();
    const response = await post(app, query, variables);
    expect(response.body).toMatchObject({ errors: [{ extensions: { code } }] });
    expect(response.status).toBe(status);
    expect(logged).toEqual([]);
  });

  test.each([
    [400, 'BAD_REQUEST', 'application/json', '{"query":'],
    [413, 'PAYLOAD_TOO_LARGE', 'application/json', JSON.stringify({ query: ' '.repeat(600_000) })],
    [415, 'UNSUPPORTED_MEDIA_TYPE', 'application/json; charset=koi8-r', '{}'],
    [400, 'BAD_REQUEST', 'application/json', '[{"query":"{ __typename }"}]'],
    [400, 'BAD_REQUEST', 'application/json', '{"query":7}'],
  ])('%d %s for a body that cannot be read', async (status, code, type, body) => {
    const { app, logged } = await serve();
    const response = await supertest(app).post('/graphql').set('content-type', type).send(body);
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject({ errors: [{ extensions: { code } }] });
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(logged).toEqual([]);
  });

  test.each<[number, 'post' | 'get' | 'put', string, string]>([
    [400, 'post', 'application/json', '{"query":'],
    [400, 'post', 'application/json', '{}'],
    [400, 'get', 'application/json', ''],
    [405, 'put', 'application/json', '{}'],
    [413, 'post', 'application/json', JSON.stringify({ query: ' '.repeat(600_000) })],
    [415, 'post', 'application/json; charset=koi8-r', '{}'],
    [415, 'post', 'application/graphql', '{ __typename }'],
  ])('%d in the media type that the client takes (%s, %s)', async (status, method, type, body) => {
    const { app } = await serve();
    const mediaType = 'application/graphql-response+json; charset=utf-8';
    const request = supertest(app)[method]('/graphql').set('accept', 'application/graphql-response+json');
    const response = await (method === 'get'
      ? request
      : request
          .set('content-type', type)
          .serialize((text) => text)
          .send(body));
    expect([response.status, response.headers['content-type']]).toEqual([status, mediaType]);
    expect(JSON.parse(response.text)).toMatchObject({ errors: [{ message: expect.any(String) }] });
  });

  // Node.js before 20.20 takes QUERY for no HTTP.
  test.each(['PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY'].filter((method) => METHODS.includes(method)))(
    '405 METHOD_NOT_ALLOWED with Allow for %s, of a browser, too',
    async (method) => {
      const { app } = await serve();
      const { status, head, body } = await sendRaw(
        app,
        `${method} /graphql HTTP/1.1\r\nhost: a\r\naccept: text/html, */*\r\nconnection: close\r\n\r\n`,
      );
      expect(status).toBe(405);
      expect(head).toMatch(/^allow: GET, HEAD, POST$/im);
      expect(JSON.parse(body)).toMatchObject({ errors: [{ extensions: { code: 'METHOD_NOT_ALLOWED' } }] });
    },
  );

  test('415 for a body that is not in Unicode, and JSON that is nested 250,000 deep does no harm', async () => {
    const { app, logged } = await serve();
    const send = (body: string, type = 'application/json') =>
      supertest(app).post('/graphql').type(type).serialize(String).send(body);
    const nested = `${'['.repeat(250_000)}${']'.repeat(250_000)}`;
    for (const query of ['{__typename}', 'query ($n: String) {domain(name: $n) {name}}']) {
      const { status } = await send(`{"query":"${query}","variables":{"n":${nested}}}`);
      expect([200, 400]).toContain(status);
    }
    expect(logged).toEqual([]);
    expect((await send('{"query":"{__typename}"}', 'application/json; charset=iso-8859-1')).status).toBe(415);
  });

  test.each(['query', 'operationName', 'variables', 'extensions'])(
    '400 for a query parameter that is given more than once: %s',
    async (name) => {
      const { app } = await serve();
      const response = await supertest(app)
        .get('/graphql')
        .query({ query: '{__typename}', [name]: ['{__typename}', '{__typename}'] });
      expect([response.status, response.body.errors[0].message]).toEqual([
        400,
        `The '${name}' search parameter may only be specified once.`,
      ]);
    },
  );

  test('405 for a mutation by GET', async () => {
    const { app } = await serve();
    const query = { query: 'mutation { __typename }' };
    const response = await supertest(app).get('/graphql').query(query);
    expect([response.status, response.headers['allow']]).toEqual([405, 'POST']);
    expect(response.body).toMatchObject({ errors: [{ extensions: { code: expect.any(String) } }] });
  });

  test('OPTIONS tells the methods, and permits nothing to pages of other sites', async () => {
    const { app } = await serve();
    const response = await supertest(app)
      .options('/graphql')
      .set('origin', 'https://other.example')
      .set('access-control-request-method', 'POST');
    expect([response.status, response.headers['allow']]).toEqual([200, 'GET, HEAD, POST']);
    expect(response.headers['access-control-allow-origin']).toBeUndefined();
  });

  test.each([
    undefined,
    'text/plain',
    'application/graphql',
    'application/graphql-response+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
  ])('415 UNSUPPORTED_MEDIA_TYPE for a body of type %s, and what to send', async (type) => {
    const { app, logged } = await serve();
    const head = ['POST /graphql HTTP/1.1', 'host: a', 'connection: close', 'content-length: 26'];
    if (type !== undefined) head.push(`content-type: ${type}`);
    const { status, body } = await sendRaw(app, `${head.join('\r\n')}\r\n\r\n{"query":"{ __typename }"}`);
    expect(status).toBe(415);
    expect(JSON.parse(body)).toEqual({
      errors: [
        {
          message:
            'Content-Type must be application/json. Send {"query": "…", "variables": {…}} by POST with the header field content-type: application/json.',
          extensions: { code: 'UNSUPPORTED_MEDIA_TYPE' },
        },
      ],
    });
    expect(logged).toEqual([]);
  });

  test.each([
    ['/graphql', []],
    ['/graphql', ['content-length: 0']],
    ['/graphql', ['content-type: application/json']],
    ['/graphql', ['content-type: text/plain', 'content-length: 0']],
    ['/graphql?query={__typename}', ['content-type: application/json']],
  ])('400 for POST %s without a body, whatever its header fields: %j', async (path, fields) => {
    const { app, logged } = await serve();
    const head = [`POST ${path} HTTP/1.1`, 'host: a', 'connection: close', ...fields, '\r\n'].join('\r\n');
    const { status, body } = await sendRaw(app, head);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toEqual({
      errors: [
        {
          message:
            'POST body missing. Send {"query": "…", "variables": {…}} by POST with the header field content-type: application/json.',
          extensions: { code: 'BAD_REQUEST' },
        },
      ],
    });
    expect(logged).toEqual([]);
  });

  test('415 UNSUPPORTED_MEDIA_TYPE for GET with a type of another body', async () => {
    const { app } = await serve();
    const response = await supertest(app)
      .get('/graphql')
      .query({ query: '{ __typename }' })
      .set('content-type', 'application/xml');
    expect(response.status).toBe(415);
    expect(response.body.errors[0].extensions.code).toBe('UNSUPPORTED_MEDIA_TYPE');
  });

  test.each(['get', 'post'] as const)(
    '406 NOT_ACCEPTABLE where its answer would not be taken, and by %s nothing is executed',
    async (method) => {
      const { app } = await serve({ limit: 2 });
      const ask = (accept: string) => {
        const body = { query: '{ domain(name: "a.example") { name } }' };
        const request = supertest(app)[method]('/graphql');
        return (method === 'get' ? request.query(body) : request.send(body)).set('accept', accept);
      };
      const rejected = await ask('image/png, application/json;q=0');
      expect([rejected.status, rejected.headers['content-type']]).toEqual([
        406,
        'application/json; charset=utf-8',
      ]);
      expect(rejected.body).toEqual({
        errors: [
          {
            message:
              'No supported media type in Accept: send application/json, application/graphql-response+json or text/event-stream.',
            extensions: { code: 'NOT_ACCEPTABLE' },
          },
        ],
      });
      // It costs one, as any request of which nothing is executed.
      expect((await ask('application/json')).body.data).toEqual({ domain: { name: 'a.example' } });
      expect((await ask('application/json')).body.errors[0].extensions.code).toBe('RATE_LIMITED');
    },
  );

  test.each([
    ['*/*', '/graphql'],
    [undefined, '/graphql'],
    ['application/json', '/graphql?operationName=A'],
    ['*/*', '/graphql?query='],
  ])('400 for a request without a query (accept: %s, %s)', async (accept, path) => {
    const { app } = await serve();
    const request = supertest(app).get(path);
    if (accept !== undefined) request.set('accept', accept);
    const { status, body } = await request;
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({
      message: 'GraphQL operations must contain a non-empty `query` or a `persistedQuery` extension.',
      extensions: { code: 'BAD_REQUEST' },
    });
  });

  test.each([
    ['', 'POST body missing'],
    ['{}', 'POST body missing'],
    ['{"operationName":"A"}', 'GraphQL operations must contain a non-empty `query`'],
    ['[]', 'Operation batching disabled.'],
    ['[{"query":"{ __typename }"}]', 'Operation batching disabled.'],
  ])('400 for the body %j: %s', async (body, reason) => {
    const { app } = await serve();
    const response = await supertest(app).post('/graphql').set('content-type', 'application/json').send(body);
    expect(response.status).toBe(400);
    expect(response.body.errors[0].message).toContain(reason);
  });

  test.each([20, 500, 1_500, 3_000, 4_500, 6_500])('and %d levels of nesting do no harm', async (levels) => {
    const { app, logged } = await serve();
    const response = await post(
      app,
      `{__schema{queryType${'{ofType'.repeat(levels)}{name${'}'.repeat(levels + 3)}`,
    );
    expect(response.status).toBe(400);
    expect(response.body.errors[0].extensions.code).toBe('QUERY_TOO_COMPLEX');
    expect(logged).toEqual([]);
  });

  test.each([
    '{ domain(name: "a.example") { nam } }',
    '{ domai }',
    '{ domain(nam: "a.example") { name } }',
    '{ domain(name: "a.example") { ... on Domai { name } } }',
    '{ domain(name: "a.example") { dnsRecords { host } } }',
    'query ($n: Strin!) { domain(name: $n) { name } }',
  ])(
    'suggests names of the schema where introspection is on, and gives none away where it is off: %s',
    async (query) => {
      for (const introspection of [true, false]) {
        const { app } = await serve({ introspection });
        const response = await post(app, query);
        expect(response.status).toBe(400);
        expect(response.text.includes('Did you mean')).toBe(introspection);
      }
    },
  );

  test('graphql-js has no suggestions for directives: none is given away', async () => {
    const { app } = await serve({ introspection: false });
    const response = await post(app, '{ domain(name: "a.example") @skp(if: true) { name } }');
    expect(response.text).toContain('Unknown directive \\"@skp\\".');
    expect(response.text).not.toContain('skip');
  });

  test('a field of a record without a fragment gets an error that names the fragment', async () => {
    const { app } = await serve({ introspection: true });
    const response = await post(app, '{ domain(name: "a.example") { dnsRecords { ip } } }');
    expect(response.body.errors[0].message).toBe(
      'Cannot query field "ip" on type "DnsRecord". Did you mean to use an inline fragment on "ARecord"?',
    );
  });
});

/** Sends bytes as they are, and gives all that comes back. */
async function sendRaw(server: Server, bytes: string) {
  if (!server.listening) await once(server, 'listening');
  const address = server.address();
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1');
  socket.write(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head: head.replaceAll('\r', ''), body };
}

/** Fragments that spread each other: 2 to the power of 30 selections in a few hundred characters. */
function fragmentBomb(): string {
  const fragments = Array.from(
    { length: 30 },
    (_, index) => `fragment F${index} on Domain { changes { nodes { domain { ...F${index + 1} } } } }`,
  );
  return `{ domain(name: "a.example") { ...F0 } } ${fragments.join(' ')} fragment F30 on Domain { name }`;
}

test('10,000 wrong variables are 51 errors of the client, and none of the server', async () => {
  const { app, logged } = await serve();
  const query =
    'query ($types: [String!]) { domain(name: "a.example") { dnsRecords(types: $types) { __typename } } }';
  for (const count of [1, 10_000]) {
    const response = await post(app, query, { types: Array(count).fill(1) });
    expect(response.status).toBe(400);
    expect(response.body.errors).toHaveLength(Math.min(count, 51));
    const codes = response.body.errors.map(
      (error: { extensions: { code: string } }) => error.extensions.code,
    );
    expect(new Set(codes)).toEqual(new Set(['BAD_USER_INPUT']));
    expect(response.body.errors[0].message).toContain('Variable "$types" got invalid value 1');
  }
  expect(logged).toEqual([]);
});

describe('the schema', () => {
  test('can be queried', async () => {
    const { app } = await serve();
    const response = await post(app, getIntrospectionQuery());
    expect(response.body.data.__schema.queryType).toMatchObject({ name: 'Query' });
  });

  test.each([
    getIntrospectionQuery(),
    '{ __type(name: "Domain") { name } }',
    'query { ...F } fragment F on Query { s: __schema { queryType { name } } }',
  ])('cannot be queried where that is disabled: %.40s', async (query) => {
    const { app } = await serve({ introspection: false });
    const response = await post(app, query);
    expect(response.status).toBe(400);
    expect(response.body.data).toBeUndefined();
    expect(response.body.errors[0]).toMatchObject({
      message: expect.stringContaining('introspection is not allowed'),
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
  });

  test('has its __typename nevertheless', async () => {
    const { app } = await serve({ introspection: false });
    const response = await post(app, '{ __typename domain(name: "a.example") { __typename } }');
    expect(response.body.data).toEqual({ __typename: 'Query', domain: { __typename: 'Domain' } });
  });
});

test('a client beyond its limit gets the other data, the error beside it, and when to come back', async () => {
  const { app } = await serve({ limit: 2 });
  const query =
    '{ a: domain(name: "a.example") { name } b: domain(name: "b.example") { name } c: domain(name: "a.example") { name } }';
  const response = await post(app, query);
  expect(response.status).toBe(200);
  expect(response.body).toMatchObject({
    data: { a: { name: 'a.example' }, b: null, c: null },
    errors: [{ path: ['c'], extensions: { code: 'RATE_LIMITED' } }],
  });
  const seconds = Number(response.headers['retry-after']);
  expect(seconds).toBe(response.body.errors[0].extensions.retryAfter);
  expect(seconds).toBeGreaterThanOrEqual(1);
  const other = await post(app, query).set('authorization', 'Bearer x');
  expect(other.body.data.b, 'the budget of another client').toBeNull();
  expect(other.body.errors).toHaveLength(1);
});

test.each(['development', 'production', 'test'])(
  'an inside error is masked and logged, NODE_ENV=%s',
  async (env) => {
    vi.stubEnv('NODE_ENV', env);
    const { app, logged } = await serve();
    await database.pool.query('ALTER TABLE domain RENAME TO hidden');
    try {
      const response = await post(app, NAME, { name: 'a.example' });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        data: { domain: null },
        errors: [
          {
            message: "Internal error. It is in the server's log.",
            path: ['domain'],
            extensions: { code: 'INTERNAL' },
          },
        ],
        extensions: { cost: 1 },
      });
      expect(logged).toHaveLength(1);
      expect(String(logged[0])).toContain('relation "domain" does not exist');
    } finally {
      await database.pool.query('ALTER TABLE hidden RENAME TO domain');
    }
  },
);

describe('a request that comes again and again', () => {
  const cases: [string, string, unknown][] = [
    ['a found domain', NAME, { name: 'a.example' }],
    ['a domain that is not recorded', NAME, { name: 'b.example' }],
    ['an invalid name', NAME, { name: '-' }],
    ['a variable of another type', NAME, { name: 7 }],
    [
      'a null that is not allowed',
      'query ($n: String = "a.example") { domain(name: $n) { name } }',
      { n: null },
    ],
    ['an invalid document', '{ domain(name: "a.example") { nonsense } }', {}],
    ['two operations', 'query A { __typename } query B { __typename }', {}],
    [
      'a directive',
      'query ($on: Boolean!) { domain(name: "a.example") { name @include(if: $on) } }',
      { on: false },
    ],
    [
      'a variable named __proto__',
      'query ($__proto__: String!) { domain(name: $__proto__) { name } }',
      JSON.parse('{ "__proto__": "a.example" }'),
    ],
    ['introspection', '{ __schema { queryType { name } } }', {}],
    [
      'a union',
      '{ domain(name: "a.example") { dnsRecords { __typename ... on ARecord { ip firstSeen } } } }',
      {},
    ],
    ['deep nesting', `${'{a'.repeat(2000)}${'}'.repeat(2000)}`, {}],
  ];

  test.each(cases)('is answered every time as the first time: %s', async (_case, query, variables) => {
    const { app } = await serve();
    const answers = new Set<string>();
    for (let time = 0; time < 40; time += 1) {
      const response = await supertest(app).post('/graphql').send({ query, variables });
      answers.add(`${response.status} ${response.headers['content-type']} ${response.text}`);
    }
    expect([...answers]).toHaveLength(1);
  });

  test('is answered alike to all that send it at once, also one of 120,000 characters', async () => {
    const { app } = await serve();
    const query = `{ ${' '.repeat(120_000)} __typename }`;
    const answers = [1, 2, 3].map(() => supertest(app).post('/graphql').send({ query }));
    for (const { status, body } of await Promise.all(answers)) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ data: { __typename: 'Query' } });
    }
    await supertest(app).post('/graphql').send({ query }).expect(200);
  });

  test('gets a response in the requested media type, and by its operation', async () => {
    const { app } = await serve();
    const answers: string[] = [];
    for (let time = 0; time < 40; time += 1) await post(app, NAME, { name: 'a.example' });
    const several = 'multipart/mixed;deferSpec=20220824, application/graphql-response+json;q=0.9, */*;q=0.1';
    for (const accept of [
      'application/graphql-response+json',
      'application/graphql-response+json; charset=utf-8',
      'application/json',
      'application/json; charset=UTF-8, application/graphql-response+json;q=0.5',
      several,
      '*/*',
      'image/png',
    ]) {
      const { status, headers } = await post(app, NAME, { name: 'a.example' }).set('accept', accept);
      answers.push(`${status} ${headers['content-type']}`);
    }
    expect(answers).toEqual([
      '200 application/graphql-response+json; charset=utf-8',
      '200 application/graphql-response+json; charset=utf-8',
      '200 application/json; charset=utf-8',
      '200 application/json; charset=utf-8',
      '200 application/graphql-response+json; charset=utf-8',
      '200 application/json; charset=utf-8',
      '406 application/json; charset=utf-8',
    ]);
    const named = (operationName: unknown) =>
      supertest(app)
        .post('/graphql')
        .send({ query: NAME, variables: { name: 'a.example' }, operationName });
    expect((await named('Name')).body.data).toEqual({ domain: { name: 'a.example' } });
    expect((await named(null)).body.data).toEqual({ domain: { name: 'a.example' } });
    expect((await named('Other')).body).toMatchObject({
      errors: [{ extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } }],
    });
  });

  test('counts against the limit as before, with Retry-After', async () => {
    const { app } = await serve({ limit: 40 });
    for (let time = 0; time < 40; time += 1) await post(app, NAME, { name: 'a.example' });
    const response = await post(app, NAME, { name: 'a.example' });
    expect(response.body).toMatchObject({
      data: { domain: null },
      errors: [{ extensions: { code: 'RATE_LIMITED' } }],
    });
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });
});
