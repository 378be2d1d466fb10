import { METHODS } from 'node:http';
import { getIntrospectionQuery } from 'graphql';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { graphqlRequest } from '../support/ask.js';
import { askRaw } from '../support/documented-fetch.js';
import { insertDnsRecords, insertDomain } from '../support/rows.js';
import { serviceOfFile, startServiceForTest } from '../support/service.js';

const service = serviceOfFile({ role: 'api' }, async ({ database }) => {
  await insertDomain(database.pool, { name: 'a.example' });
  await insertDnsRecords(database.pool, 'a.example', [{ type: 'A', rdata: { ip: '192.0.2.1' } }]);
});
const graphql = { ...readSettings({}).graphql, introspection: false };
const hidden = serviceOfFile(() => ({ database: service.database, role: 'api', graphql }));

const NAME = 'query Name($name: String!) { domain(name: $name) { name } }';
const JSON_UTF_8 = 'application/json; charset=utf-8';

/** Sends something else than a well-formed POST. */
async function send(init: RequestInit, query: Record<string, string> = {}) {
  const response = await service.fetch(`/graphql?${new URLSearchParams(query)}`, init);
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

const postBody = (body: string, type = 'application/json', headers = {}) =>
  send({ method: 'POST', headers: { 'content-type': type, ...headers }, body });

const failures = () => service.logged.filter(({ level }) => level === 'error');

test('a request is answered by POST', async () => {
  const { status, fields, text } = await service.graphql(NAME, { name: 'A.example.' });
  expect([status, fields.get('content-type')]).toEqual([200, JSON_UTF_8]);
  expect(text).toBe('{"data":{"domain":{"name":"a.example"}},"extensions":{"cost":1}}\n');
});

test('a request is answered by GET, but not to a page of another site', async () => {
  const query = { query: NAME, variables: '{"name":"a.example"}' };
  const get = (headers: Record<string, string> = {}) => send({ headers }, query);
  const sites = ['none', 'same-origin'].map((site) => ({ 'sec-fetch-site': site }));
  for (const headers of [{}, ...sites, { 'content-type': 'application/json' }])
    expect((await get(headers)).body.data).toEqual({ domain: { name: 'a.example' } });
  for (const site of ['same-site', 'cross-site']) {
    const { status, body } = await get({ 'sec-fetch-site': site });
    expect([status, body]).toMatchObject([400, { errors: [{ extensions: { code: 'BAD_REQUEST' } }] }]);
    expect(body.data).toBeUndefined();
  }
});

test('a request is answered by HEAD as by GET, without the body', async () => {
  const ask = async (method: string, fields = {}) => {
    const headers = { 'accept-encoding': 'identity', 'x-request-id': 'same', ...fields };
    const response = await send({ method, headers }, { query: '{ __typename }' });
    const ofConnection = ['date', 'connection', 'keep-alive', 'ratelimit'];
    const told = [...response.headers].filter(([name]) => !ofConnection.includes(name));
    return { status: response.status, told, text: response.text };
  };
  const got = await ask('GET');
  expect(new Map(got.told).get('content-length')).toBe(String(got.text.length));
  expect(await ask('HEAD')).toEqual({ ...got, text: '' });
  expect((await ask('HEAD', { 'sec-fetch-site': 'cross-site' })).status).toBe(400);
});

/** Fragments that spread each other: 2 to the power of 30 selections in a few hundred characters. */
function fragmentBomb(): string {
  const spread = (at: number) => `changes { nodes { domain { ...F${at} } } }`;
  const fragments = Array.from({ length: 30 }, (_, at) => `fragment F${at} on Domain { ${spread(at + 1)} }`);
  return `{ domain(name: "a.example") { ...F0 } } ${fragments.join(' ')} fragment F30 on Domain { name }`;
}

const nested = (levels: number) =>
  `{__schema{queryType${'{ofType'.repeat(levels)}{name${'}'.repeat(levels + 3)}`;

test.each<[number, string, string, object]>([
  [400, 'GRAPHQL_PARSE_FAILED', '{ domain(', {}],
  [400, 'GRAPHQL_VALIDATION_FAILED', '{ domain { name } }', {}],
  [400, 'BAD_USER_INPUT', NAME, { name: 7 }],
  [200, 'BAD_USER_INPUT', 'query ($n: String = "a.example") { domain(name: $n) { name } }', { n: null }],
  [400, 'GRAPHQL_VALIDATION_FAILED', 'mutation { forget }', {}],
  [400, 'GRAPHQL_VALIDATION_FAILED', 'subscription { domain }', {}],
  [400, 'OPERATION_RESOLUTION_FAILURE', 'query A { __typename } query B { __typename }', {}],
  [400, 'QUERY_TOO_COMPLEX', `{ ${'__typename '.repeat(30_000)} }`, {}],
  [400, 'QUERY_TOO_COMPLEX', fragmentBomb(), {}],
  [400, 'QUERY_TOO_COMPLEX', nested(20), {}],
  [400, 'QUERY_TOO_COMPLEX', nested(1_500), {}],
  [400, 'QUERY_TOO_COMPLEX', nested(6_500), {}],
  [200, 'INVALID_DOMAIN', NAME, { name: '-' }],
])('%d %s is told for a wrong operation, and is no inner failure', async (status, code, query, variables) => {
  const response = await service.graphql(query, variables);
  expect([response.status, response.errors]).toMatchObject([status, [{ extensions: { code } }]]);
  expect(failures()).toEqual([]);
});

const LARGE = JSON.stringify({ query: ' '.repeat(600_000) });

test.each([
  [400, 'BAD_REQUEST', 'The body is not JSON.', 'application/json', '{"query":'],
  [400, 'BAD_REQUEST', 'POST body missing', 'application/json', ''],
  [400, 'BAD_REQUEST', 'POST body missing', 'application/json', '{}'],
  [400, 'BAD_REQUEST', 'must contain a non-empty `query`', 'application/json', '{"operationName":"A"}'],
  [400, 'BAD_REQUEST', 'Operation batching disabled.', 'application/json', '[]'],
  [400, 'BAD_REQUEST', 'Operation batching disabled.', 'application/json', '[{"query":"{ __typename }"}]'],
  [400, 'BAD_REQUEST', 'queries must be strings', 'application/json', '{"query":7}'],
  [413, 'PAYLOAD_TOO_LARGE', 'larger than 512 kB', 'application/json', LARGE],
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'Send UTF-8', 'application/json; charset=koi8-r', '{}'],
])('%d %s, "%s", for a body of %s, in the type that is accepted', async (status, code, told, type, body) => {
  for (const mediaType of [JSON_UTF_8, 'application/graphql-response+json; charset=utf-8']) {
    const response = await postBody(body, type, { accept: mediaType });
    expect([response.status, response.headers.get('content-type')]).toEqual([status, mediaType]);
    const message = expect.stringContaining(told);
    expect(response.body).toMatchObject({ errors: [{ message, extensions: { code } }] });
  }
  expect(failures()).toEqual([]);
});

test('JSON that is nested 250,000 deep does no harm', async () => {
  const value = `${'['.repeat(250_000)}${']'.repeat(250_000)}`;
  for (const query of ['{__typename}', 'query ($n: String) {domain(name: $n) {name}}']) {
    const { status } = await postBody(`{"query":"${query}","variables":{"n":${value}}}`);
    expect([200, 400]).toContain(status);
  }
  expect(failures()).toEqual([]);
});

const HOW_TO_SEND =
  'Send {"query": "…", "variables": {…}} by POST with the header field content-type: application/json.';

// Node.js before 20.20 takes QUERY for no HTTP.
const OTHERS = ['PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY'].filter((method) => METHODS.includes(method));
const FOR_BROWSERS = 'accept: text/html, */*\r\n\r\n';
const BODY = 'content-length: 26\r\n\r\n{"query":"{ __typename }"}';

test.each([
  ...OTHERS.map((method) => [405, 'METHOD_NOT_ALLOWED', `${method} /graphql`, FOR_BROWSERS] as const),
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'POST /graphql', BODY],
  ...['text/plain', 'application/graphql', 'application/jsonp', 'multipart/form-data; boundary=x'].map(
    (type) => [415, 'UNSUPPORTED_MEDIA_TYPE', 'POST /graphql', `content-type: ${type}\r\n${BODY}`] as const,
  ),
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'GET /graphql?query={__typename}', 'content-type: application/xml\r\n\r\n'],
  [400, 'BAD_REQUEST', 'POST /graphql', '\r\n'],
  [400, 'BAD_REQUEST', 'POST /graphql', 'content-length: 0\r\n\r\n'],
  [400, 'BAD_REQUEST', 'POST /graphql', 'content-type: application/json\r\n\r\n'],
  [400, 'BAD_REQUEST', 'POST /graphql', 'content-type: text/plain\r\ncontent-length: 0\r\n\r\n'],
  [400, 'BAD_REQUEST', 'POST /graphql?query={__typename}', 'content-type: application/json\r\n\r\n'],
] as const)('%i %s says what to send instead of %s with %j', async (status, code, start, rest) => {
  const octets = `${start} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${rest}`;
  const response = await askRaw(service.port, octets);
  const message = {
    400: `POST body missing. ${HOW_TO_SEND}`,
    405: expect.any(String),
    415: `Content-Type must be application/json. ${HOW_TO_SEND}`,
  }[status];
  expect(response.status).toBe(status);
  expect(response.fields.get('allow')).toBe(status === 405 ? 'GET, HEAD, POST' : undefined);
  expect(JSON.parse(response.body)).toEqual({ errors: [{ message, extensions: { code } }] });
  expect(failures()).toEqual([]);
});

test('400 for a query parameter that is given more than once', async () => {
  for (const name of ['query', 'operationName', 'variables', 'extensions']) {
    const twice = `&${name}={__typename}`.repeat(2);
    const response = await service.fetch(`/graphql?query={__typename}${twice}`);
    const message = `The '${name}' search parameter may only be specified once.`;
    expect([response.status, await response.json()]).toMatchObject([400, { errors: [{ message }] }]);
  }
});

test('405 for a mutation by GET', async () => {
  const { status, headers, body } = await send({}, { query: 'mutation { __typename }' });
  expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  expect(body).toMatchObject({ errors: [{ extensions: { code: expect.any(String) } }] });
});

test('OPTIONS of GraphQL tells the methods, and permits nothing to pages of other sites', async () => {
  const headers = { origin: 'https://other.example', 'access-control-request-method': 'POST' };
  const response = await send({ method: 'OPTIONS', headers });
  expect([response.status, response.headers.get('allow')]).toEqual([200, 'GET, HEAD, POST']);
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
});

test.each(['GET', 'POST'])('406 NOT_ACCEPTABLE if no answer fits; %s executes nothing', async (method) => {
  const rateLimits = { anonymous: 2, token: 2 };
  const limited = await startServiceForTest({ database: service.database, rateLimits });
  const query = '{ domain(name: "a.example") { name } }';
  const ask = async (accept: string) => {
    const init = method === 'GET' ? { headers: { accept } } : graphqlRequest(query, {}, { accept });
    const search = method === 'GET' ? `?query=${encodeURIComponent(query)}` : '';
    const response = await limited.fetch(`/graphql${search}`, init);
    expect(response.headers.get('content-type')).toBe(JSON_UTF_8);
    return [response.status, await response.json()];
  };
  const message =
    'No supported media type in Accept: send application/json, application/graphql-response+json or text/event-stream.';
  const notAcceptable = { errors: [{ message, extensions: { code: 'NOT_ACCEPTABLE' } }] };
  expect(await ask('image/png, application/json;q=0')).toEqual([406, notAcceptable]);
  // It costs one, as any request of which nothing is executed.
  expect(await ask('application/json')).toMatchObject([200, { extensions: { cost: 1 } }]);
  const rateLimited = { errors: [{ extensions: { code: 'RATE_LIMITED' } }] };
  expect(await ask('application/json')).toMatchObject([200, rateLimited]);
});

test.each([
  ['*/*', {}],
  ['application/json', { operationName: 'A' }],
  ['*/*', { query: '' }],
])('400 for GET without a query (accept: %s, %o)', async (accept, query) => {
  const { status, body } = await send({ headers: { accept } }, query);
  const message = 'GraphQL operations must contain a non-empty `query` or a `persistedQuery` extension.';
  expect([status, body]).toMatchObject([400, { errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] }]);
});

test.each([
  '{ domain(name: "a.example") { nam } }',
  '{ domai }',
  '{ domain(nam: "a.example") { name } }',
  '{ domain(name: "a.example") { ... on Domai { name } } }',
  '{ domain(name: "a.example") { dnsRecords { host } } }',
  'query ($n: Strin!) { domain(name: $n) { name } }',
])('names of the schema are suggested only where introspection is on: %s', async (query) => {
  for (const asked of [service, hidden]) {
    const { status, text } = await asked.graphql(query);
    expect([status, text.includes('Did you mean')]).toEqual([400, asked === service]);
  }
});

test('graphql-js has no suggestions for directives: none is given away', async () => {
  const { text } = await hidden.graphql('{ domain(name: "a.example") @skp(if: true) { name } }');
  expect(text).toContain('Unknown directive \\"@skp\\".');
  expect(text).not.toContain('skip');
});

test('a field of a record without a fragment gets an error that names the fragment', async () => {
  const { errors } = await service.graphql('{ domain(name: "a.example") { dnsRecords { ip } } }');
  expect(errors[0].message).toContain('Did you mean to use an inline fragment on "ARecord"?');
});

test.each([
  [1, 1],
  [10_000, 51],
])('%i wrong variables are %i errors of the client, and none of the server', async (count, told) => {
  const query =
    'query ($types: [String!]) { domain(name: "a.example") { dnsRecords(types: $types) { __typename } } }';
  const { status, errors } = await service.graphql(query, { types: Array(count).fill(1) });
  expect([status, errors.length]).toEqual([400, told]);
  for (const { extensions } of errors) expect(extensions.code).toBe('BAD_USER_INPUT');
  expect(errors[0].message).toContain('Variable "$types" got invalid value 1');
  expect(failures()).toEqual([]);
});

test.each([
  getIntrospectionQuery(),
  '{ __type(name: "Domain") { name } }',
  'query { ...F } fragment F on Query { s: __schema { queryType { name } } }',
])('the schema can be queried, but not where that is disabled: %s', async (query) => {
  expect((await service.graphql(query)).status).toBe(200);
  const { status, data, errors } = await hidden.graphql(query);
  expect([status, data]).toEqual([400, undefined]);
  expect(errors[0]).toMatchObject({
    message: expect.stringContaining('introspection is not allowed'),
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
  });
});

test('__typename is answered without introspection', async () => {
  const { data } = await hidden.graphql('{ __typename domain(name: "a.example") { __typename } }');
  expect(data).toEqual({ __typename: 'Query', domain: { __typename: 'Domain' } });
});

test.each(['development', 'production'])(
  'an inside error is masked and logged under the id of its request, NODE_ENV=%s',
  async (env) => {
    vi.stubEnv('NODE_ENV', env);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { database } = service;
    const started = await startServiceForTest({ database, role: 'api' });
    await database.pool.query('ALTER TABLE domain RENAME TO hidden');
    onTestFinished(() => void database.pool.query('ALTER TABLE hidden RENAME TO domain'));
    const headers = { 'x-request-id': 'inside' };
    const { status, text } = await started.graphql(NAME, { name: 'a.example' }, headers);
    const message = "Internal error. It is in the server's log.";
    const errors = [{ message, path: ['domain'], extensions: { code: 'INTERNAL' } }];
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ data: { domain: null }, errors, extensions: { cost: 1 } });
    const logged = started.logged.filter(({ level }) => level === 'error');
    expect(logged).toMatchObject([{ requestId: 'inside', msg: 'request failed' }]);
    expect(JSON.stringify(logged)).toContain('relation \\"domain\\" does not exist');
  },
);

test.each<[string, string, object]>([
  ['a found domain', NAME, { name: 'a.example' }],
  ['an invalid name', NAME, { name: '-' }],
  ['a variable of another type', NAME, { name: 7 }],
  ['an error beside data', '{ a: domain(name: "a.example") { name } b: domain(name: "..") { name } }', {}],
])('a request is answered every time as the first time: %s', async (_case, query, variables) => {
  const first = await service.graphql(query, variables);
  for (let time = 0; time < 9; time += 1) {
    const { status, fields, text } = await service.graphql(query, variables);
    expect([status, text]).toEqual([first.status, first.text]);
    expect(fields.get('content-type')).toBe(first.fields.get('content-type'));
  }
});

test.each([
  ['Name', { data: { domain: { name: 'a.example' } } }],
  [null, { data: { domain: { name: 'a.example' } } }],
  ['Other', { errors: [{ extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } }] }],
])('operationName %s names the operation of a document', async (operationName, answer) => {
  const body = JSON.stringify({ query: NAME, variables: { name: 'a.example' }, operationName });
  expect((await postBody(body)).body).toMatchObject(answer);
});
