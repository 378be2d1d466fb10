import { expect, test, vi } from 'vitest';
import { graphqlRequest } from '../support/ask.js';
import { insertDomain } from '../support/rows.js';
import { bearer, serviceOfFile, startServiceForTest } from '../support/service.js';

const service = serviceOfFile({}, ({ database }) => insertDomain(database.pool, { name: 'example.com' }));

const get = (path: string, headers: Record<string, string> = {}) => service.fetch(path, { headers });

const loggedAs = (requestId: string) =>
  vi.waitUntil(() => service.logged.find((line) => line['requestId'] === requestId), { timeout: 60_000 });

test.each(['a', 'A.b_c-9', 'x'.repeat(128)])('x-request-id is taken from the client: %s', async (id) => {
  expect((await get('/', { 'x-request-id': id })).headers.get('x-request-id')).toBe(id);
});

test.each(['', 'a b', 'x'.repeat(129), 'ü', '{"a":1}'])('x-request-id is a new one for %j', async (id) => {
  expect((await get('/', { 'x-request-id': id })).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
});

test('x-request-id is in every response, whatever answers, and each has its own', async () => {
  const responses = await Promise.all([
    get('/api/v1/domain/example.com'),
    get('/api/v1/domain/example.com/dns', bearer(await service.createToken())),
    get('/nothing'),
    get('/', bearer('x')),
    service.fetch('/graphql', graphqlRequest('{ __typename }')),
    service.fetch('/graphql', graphqlRequest('{')),
  ]);
  const ids = responses.map(({ headers }) => headers.get('x-request-id'));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 404, 401, 200, 400]);
  expect(new Set(ids).size).toBe(6);
  expect(ids).not.toContain(null);
});

test('the log has one line for each request, with method, path, status, duration and id', async () => {
  const path = '/api/v1/domain/example.com';
  await (await get(`${path}?at=2024-06-01T00:00:00Z`, { 'x-request-id': 'logged-1' })).text();
  await loggedAs('logged-1');
  const request = { requestId: 'logged-1', method: 'GET', path, status: 200, msg: 'request', level: 'info' };
  expect(service.logged.filter(({ requestId }) => requestId === 'logged-1')).toEqual([
    { ...request, time: expect.any(Number), durationMs: expect.any(Number) },
  ]);
});

test('a credential that is not valid is rejected by GraphQL in the shape of GraphQL, as the client takes it', async () => {
  const challenge = 'Bearer realm="Domain Metadata Service", error="invalid_token"';
  const message = 'The access token is not valid: it is malformed, unknown, expired or revoked.';
  const body = { errors: [{ message, extensions: { code: 'UNAUTHENTICATED' } }] };
  for (const accept of ['application/json', 'application/graphql-response+json']) {
    const { status, fields, text } = await service.graphql('{ __typename }', {}, { ...bearer('x'), accept });
    const told = ['content-type', 'www-authenticate'].map((name) => fields.get(name));
    expect([status, ...told]).toEqual([401, `${accept}; charset=utf-8`, challenge]);
    expect(JSON.parse(text)).toEqual(body);
  }
});

test('the start page names GraphQL and every operation of REST, and links the documents, for those without JavaScript too, and names no other host', async () => {
  const page = await (await get('/')).text();
  const documents = ['docs', 'openapi.json', 'domain/example.com'].map((path) => `api/v1/${path}`);
  for (const path of ['graphql', 'graphiql', ...documents]) expect(page).toContain(`<a href="/${path}">`);
  for (const path of ['', '/dns', '/details', '/headers'])
    expect(page).toContain(`GET /api/v1/domain/{domain}${path}<`);
  expect(page).not.toMatch(/https?:/);
});

test('with a base path everything is under it, and nothing beside it', async () => {
  const based = await startServiceForTest({ database: service.database, basePath: '/a/dms' });
  const origin = `http://127.0.0.1:${based.port}`;
  expect(based.url).toBe(`${origin}/a/dms`);
  for (const path of ['', '/', '/api/v1/domain/example.com'])
    expect((await based.fetch(path)).status).toBe(200);
  expect((await based.graphql('{ __typename }')).status).toBe(200);
  expect((await based.graphql('{ __typename }', {}, bearer('x'))).status).toBe(401);
  for (const path of ['/', '/a', '/api/v1/domain/example.com', '/a/dmsx', '/A/dms/', '/a/dms/graphql/x'])
    expect((await fetch(origin + path)).status).toBe(404);
  expect(await (await based.fetch('/')).text()).toContain('<a href="/a/dms/graphql">');
});
