import { expect, test } from 'vitest';

import { openTestDatabase } from '../../support/database.js';
import { insertDnsRecords, insertDomain } from '../../support/rows.js';
import { bearer, serviceOfFile, startServiceForTest } from '../../support/service.js';

const service = serviceOfFile({}, ({ database }) => insertDomain(database.pool, { name: 'example.com' }));

const REALM = 'Bearer realm="Domain Metadata Service"';
const UNKNOWN_TOKEN = `dms_${'A'.repeat(43)}`;

const WHAT_IS_NEW =
  / For what is new at any domain, search domains by changedFrom or createdFrom, or read changes after your last cursor\."/;

const get = (path: string, init: RequestInit = {}) => service.fetch(`/api/v1${path}`, init);

function problem(status: number, title: string, code: string, detail: string): string {
  return JSON.stringify({ type: 'about:blank', title, status, detail, code });
}

test('404 DOMAIN_NOT_FOUND for a domain that nothing is recorded of has the members of RFC 9457, a code and the canonical name', async () => {
  const text = problem(404, 'Not Found', 'DOMAIN_NOT_FOUND', 'No history is recorded for example.net.');
  expect(await service.rest('/domain/Example.NET.')).toMatchObject({ status: 404, text });
});

test.each([
  ...['', '/', '/domain', '/domain/', '/domain//dns', '/domain/example.com/', '/domain/example.com/DNS'],
  ...['/Domain/example.com', '/domain/example.com/a/b', '/domains'],
])('404 NOT_FOUND for the path /api/v1%s, which is none, by any method', async (path) => {
  const detail =
    'There is nothing at this path: /api/v1/openapi.json lists the paths of REST, and /graphql is GraphQL.';
  expect(await (await get(path)).text()).toBe(problem(404, 'Not Found', 'NOT_FOUND', detail));
  expect((await get(path, { method: 'DELETE' })).status).toBe(404);
});

test.each([
  '/changes?from=30d',
  '/changes?since=30d',
  '/search/http-headers?name=server&firstSeenFrom=30d',
  '/search/domains?firstSeenFrom=30d',
  '/search/dns-records?firstSeenFrom=30d',
])('REST names what finds what is new, asked for by a time that there is none of: %s', async (path) => {
  expect(await service.rest(path)).toMatchObject({ status: 400, text: expect.stringMatching(WHAT_IS_NEW) });
});

test.each([
  '{ changes(from: "2024-01-01T00:00:00Z") { nodes { id } } }',
  'subscription { changes(since: "2024-01-01T00:00:00Z") { id } }',
  '{ searchDomains(where: { firstSeenFrom: "2024-01-01T00:00:00Z" }) { nodes { id } } }',
  '{ httpHeaders(where: { name: "a", firstSeenFrom: "2024-01-01T00:00:00Z" }) { nodes { name } } }',
  '{ dnsRecords(firstSeenFrom: "2024-01-01T00:00:00Z") { nodes { source } } }',
  'query ($where: DomainFilter) { searchDomains(where: $where) { nodes { id } } }',
])('GraphQL names what finds what is new, asked for by a time that there is none of: %s', async (query) => {
  const variables = { where: { firstSeenFrom: '2024-01-01T00:00:00Z' } };
  expect((await service.graphql(query, variables)).text).toMatch(WHAT_IS_NEW);
});

test('a time of one domain is another question, for which no searches are named', async () => {
  expect((await service.rest('/domain/example.com?from=30d')).text).toContain('This operation has: at."');
});

test.each([
  ['a.-b', 'its last label begins or ends with'],
  ['192.0.2.1', 'it is an IP address'],
  ['a..b', 'it has an empty label'],
  ['a%00b', 'its labels may hold only'],
  ['%zz', 'it is not percent-encoded UTF-8'],
  ['%C3', 'it is not percent-encoded UTF-8'],
])('400 INVALID_DOMAIN for /domain/%s, and why', async (name, reason) => {
  const { status, text, body } = await service.rest(`/domain/${name}`);
  expect(body.detail).toContain(` is not a domain name: ${reason}`);
  expect([status, text]).toEqual([400, problem(400, 'Bad Request', 'INVALID_DOMAIN', body.detail)]);
});

test('a name of 8 kB comes back cut', async () => {
  expect((await service.rest(`/domain/%ff${'a'.repeat(8000)}`)).body.detail).toBe(
    `"%ff${'a'.repeat(61)}…" is not a domain name: it is not percent-encoded UTF-8 (RFC 3986, section 2.1).`,
  );
});

test.each([
  ['application/problem+json', 'application/problem+json'],
  ['text/html, Application/Problem+JSON;q=0.5', 'application/problem+json'],
  ['application/problem+json;q=0, application/json', 'application/json'],
  ['application/problem+json; q=0.000', 'application/json'],
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
])('an error for a client that accepts %s is %s', async (accept, type) => {
  const { status, headers } = await get('/domain/example.net', { headers: { accept } });
  expect([status, headers.get('content-type')]).toEqual([404, `${type}; charset=utf-8`]);
  expect(headers.get('vary')).toBe('Accept, Accept-Encoding, Authorization');
});

const LISTS = ['dns', 'details', 'headers'] as const;
const PROTECTED = LISTS.map((name) => [`/${name}`, `${name}:read`] as const);

test.each(PROTECTED)('%s without a token is 401, whatever the domain is', async (path) => {
  for (const name of ['example.com', 'example.net', '%zz']) {
    const response = await get(`/domain/${name}${path}`);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, REALM]);
    const detail = expect.stringContaining('The operator creates one: dms token create --name NAME --scope ');
    expect(await response.json()).toMatchObject({ code: 'UNAUTHENTICATED', title: 'Unauthorized', detail });
  }
});

test.each(PROTECTED)('%s needs a token with %s', async (path, scope) => {
  const withScopes = async (scopes: (typeof PROTECTED)[number][1][]) =>
    service.rest(`/domain/example.com${path}`, bearer(await service.createToken({ scopes })));
  expect((await withScopes([scope])).status).toBe(200);
  const others = PROTECTED.map(([, each]) => each).filter((each) => each !== scope);
  const { fields, text } = await withScopes(others);
  const challenge = `${REALM}, error="insufficient_scope", scope="${scope}"`;
  expect(fields.get('www-authenticate')).toBe(challenge);
  expect(text).toBe(problem(403, 'Forbidden', 'FORBIDDEN', `The token lacks the scope ${scope}.`));
});

test('a protected operation is open to all clients where ANONYMOUS_SCOPES says so, with a token too', async () => {
  const anonymousScopes = new Set(['dns:read'] as const);
  const open = await startServiceForTest({ database: service.database, anonymousScopes });
  const headers = bearer(await service.createToken({ scopes: ['headers:read'] }));
  const ask = (path: string, fields = {}) => open.rest(`/domain/example.com${path}`, fields);
  const withToken = ['/dns', '/headers', '/details'].map((path) => ask(path, headers));
  const responses = await Promise.all([ask('/dns'), ask('/headers'), ...withToken]);
  expect(responses.map(({ status }) => status)).toEqual([200, 401, 200, 200, 403]);
  expect(responses[2]?.fields.get('cache-control')).toMatch(/^private/);
});

const INVALID_TOKEN = `${REALM}, error="invalid_token"`;
const NOT_VALID = 'The access token is not valid: it is malformed, unknown, expired or revoked.';
const NO_BEARER =
  'The header Authorization must be "Authorization: Bearer <token>", with a token in the place of <token>.';

test.each([
  ['an unknown token', `Bearer ${UNKNOWN_TOKEN}`, NOT_VALID, INVALID_TOKEN],

  // Where no bearer token was sent, the challenge has no error (RFC 6750, section 3.1).
  ['no token at all', 'Bearer', NO_BEARER, REALM],
  ['a password that is no token', 'Basic dTpw', NOT_VALID, INVALID_TOKEN],
])('a credential that is %s is 401, everywhere', async (_what, authorization, detail, challenge) => {
  for (const path of ['/domain/example.com', '/domain/example.com/dns', '/nothing', '/domain/%zz']) {
    const { status, fields, text } = await service.rest(path, { authorization });
    expect([status, fields.get('www-authenticate')]).toEqual([401, challenge]);
    expect(text).toBe(problem(401, 'Unauthorized', 'UNAUTHENTICATED', detail));
  }
});

test('what fails inside is 500 INTERNAL without a word of it, and is logged under the request id', async () => {
  const { pool } = service.database;
  await insertDomain(pool, { name: 'broken.example' });
  await insertDnsRecords(pool, 'broken.example', [{ type: 'MX', rdata: { pri: -1, target: 'secret' } }]);
  const { text } = await service.rest('/domain/broken.example', { 'x-request-id': 'broken-1' });
  const detail = "Internal error. It is in the server's log.";
  expect(text).toBe(problem(500, 'Internal Server Error', 'INTERNAL', detail));
  const line = { level: 'error', requestId: 'broken-1', msg: 'request failed' };
  expect(service.logged).toContainEqual(expect.objectContaining(line));
});

test('503 UNAVAILABLE with Retry-After while the database is unavailable', async () => {
  const database = await openTestDatabase();
  const cutOff = await startServiceForTest({ database, role: 'api' });
  await database.close();
  for (const headers of [{}, bearer(UNKNOWN_TOKEN)]) {
    const { fields, text } = await cutOff.rest('/domain/example.com', headers);
    expect(Number(fields.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const detail = 'The database does not answer. Try again shortly.';
    expect(text).toBe(problem(503, 'Service Unavailable', 'UNAVAILABLE', detail));
  }
});
