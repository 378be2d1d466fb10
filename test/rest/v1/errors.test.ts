import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase } from '../../support/database.js';
import { insertDnsRecords, insertDomain } from '../../support/rows.js';
import { bearer, startTestService, type TestService } from '../../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await insertDomain(service.database.pool, { name: 'example.com' });
});
afterAll(() => service.stop());

const REALM = 'Bearer realm="Domain Metadata Service"';
const UNKNOWN_TOKEN = `dms_${'A'.repeat(43)}`;

const WHAT_IS_NEW =
  / For what is new at any domain, search domains by changedFrom or createdFrom, or read changes after your last cursor\."/;

function get(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${service.url}/api/v1${path}`, init);
}

function problem(status: number, title: string, code: string, detail: string): string {
  return JSON.stringify({ type: 'about:blank', title, status, detail, code });
}

describe('an error has the members of RFC 9457 and a code', () => {
  test('404 DOMAIN_NOT_FOUND for a domain that nothing is recorded of, under its canonical name', async () => {
    const response = await get('/domain/Example.NET.');
    expect(response.status).toBe(404);
    expect(await response.text()).toBe(
      problem(404, 'Not Found', 'DOMAIN_NOT_FOUND', 'No history is recorded for example.net.'),
    );
  });

  test.each([
    '',
    '/',
    '/domain',
    '/domain/',
    '/domain//dns',
    '/domain/example.com/',
    '/domain/example.com/DNS',
    '/Domain/example.com',
    '/domain/example.com/dns/',
    '/domain/example.com/a/b',
    '/domains',
  ])('404 NOT_FOUND for the path /api/v1%s, which is none', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe(
      problem(
        404,
        'Not Found',
        'NOT_FOUND',
        'There is nothing at this path: /api/v1/openapi.json lists the paths of REST, and /graphql is GraphQL.',
      ),
    );
  });

  test.each([
    '/changes?from=30d',
    '/changes?since=30d',
    '/search/http-headers?name=server&firstSeenFrom=30d',
    '/search/domains?firstSeenFrom=30d',
    '/search/dns-records?firstSeenFrom=30d',
  ])(
    'names what finds what is new where that is asked for by a time that there is none of: %s',
    async (path) => {
      const response = await get(path);
      expect([response.status, await response.text()]).toEqual([400, expect.stringMatching(WHAT_IS_NEW)]);
    },
  );

  test.each([
    '{ changes(from: "2024-01-01T00:00:00Z") { nodes { id } } }',
    'subscription { changes(since: "2024-01-01T00:00:00Z") { id } }',
    '{ searchDomains(where: { firstSeenFrom: "2024-01-01T00:00:00Z" }) { nodes { id } } }',
    '{ httpHeaders(where: { name: "a", firstSeenFrom: "2024-01-01T00:00:00Z" }) { nodes { name } } }',
    '{ dnsRecords(where: { firstSeenFrom: "2024-01-01T00:00:00Z" }) { nodes { source } } }',
    '{ dnsRecords(firstSeenFrom: "2024-01-01T00:00:00Z") { nodes { source } } }',
    'query ($where: DomainFilter) { searchDomains(where: $where) { nodes { id } } }',
  ])('the same in GraphQL: %s', async (query) => {
    const variables = { where: { firstSeenFrom: '2024-01-01T00:00:00Z' } };
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    expect(await response.text()).toMatch(WHAT_IS_NEW);
  });

  test('a time of one domain is another question, for which no searches are named', async () => {
    expect(await (await get('/domain/example.com?from=30d')).text()).toContain('This operation has: at."');
  });

  test.each([
    ['a.-b', 'its last label begins or ends with'],
    ['192.0.2.1', 'it is an IP address'],
    ['a..b', 'it has an empty label'],
    ['%20', 'its labels may hold only'],
    ['a%00b', 'its labels may hold only'],
    ['a%2Fb', 'its labels may hold only'],
    ['%zz', 'it is not percent-encoded UTF-8'],
    ['%', 'it is not percent-encoded UTF-8'],
    ['%ff', 'it is not percent-encoded UTF-8'],
    ['%C3', 'it is not percent-encoded UTF-8'],
    ['a'.repeat(64), 'it has a label longer than 63 characters'],
  ])('400 INVALID_DOMAIN for /domain/%s, and why', async (name, reason) => {
    const response = await get(`/domain/${name}`);
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const body = JSON.parse(await response.text());
    expect(body).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: expect.stringContaining(` is not a domain name: ${reason}`),
      code: 'INVALID_DOMAIN',
    });
    expect(Object.keys(body)).toEqual(['type', 'title', 'status', 'detail', 'code']);
  });

  test('a name of 8 kB comes back cut', async () => {
    const detail = async (name: string) => JSON.parse(await (await get(`/domain/${name}`)).text()).detail;
    expect(await detail(`%ff${'a'.repeat(8000)}`)).toBe(
      `"%ff${'a'.repeat(61)}…" is not a domain name: it is not percent-encoded UTF-8 (RFC 3986, section 2.1).`,
    );
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('405 with Allow for %s', async (method) => {
    const response = await get('/domain/example.com', { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(await response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', status: 405 });
  });

  test('404 and not 405 for a method on a path that is none', async () => {
    expect((await get('/nothing', { method: 'DELETE' })).status).toBe(404);
  });
});

describe('the media type of an error', () => {
  test.each([
    ['application/problem+json', 'application/problem+json'],
    ['text/html, Application/Problem+JSON;q=0.5', 'application/problem+json'],
    ['application/problem+json;q=0, application/json', 'application/json'],
    ['application/problem+json; q=0.000', 'application/json'],
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
  ])('for a client that accepts %s is %s', async (accept, type) => {
    const response = await get('/domain/example.net', { headers: { accept } });
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    expect(response.headers.get('vary')).toBe('Accept, Accept-Encoding, Authorization');
  });

  test('does not touch what is found', async () => {
    const response = await get('/domain/example.com', { headers: { accept: 'application/problem+json' } });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});

const PROTECTED = [
  ['/dns', 'dns:read'],
  ['/details', 'details:read'],
  ['/headers', 'headers:read'],
] as const;

describe('a protected operation', () => {
  test.each(PROTECTED)('%s without a token is 401, whatever the domain is', async (path) => {
    for (const name of ['example.com', 'example.net', '%zz']) {
      const response = await get(`/domain/${name}${path}`);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(REALM);
      expect(await response.json()).toMatchObject({
        code: 'UNAUTHENTICATED',
        title: 'Unauthorized',
        detail: expect.stringContaining('The operator creates one: dms token create --name NAME --scope '),
      });
    }
  });

  test.each(PROTECTED)('%s needs a token with %s', async (path, scope) => {
    const fitting = await service.createToken({ scopes: [scope] });
    expect((await get(`/domain/example.com${path}`, { headers: bearer(fitting) })).status).toBe(200);
    const other = await service.createToken({
      scopes: PROTECTED.map(([, each]) => each).filter((each) => each !== scope),
    });
    const rejected = await get(`/domain/example.com${path}`, { headers: bearer(other) });
    expect(rejected.status).toBe(403);
    expect(rejected.headers.get('www-authenticate')).toBe(
      `${REALM}, error="insufficient_scope", scope="${scope}"`,
    );
    expect(await rejected.text()).toBe(
      problem(403, 'Forbidden', 'FORBIDDEN', `The token lacks the scope ${scope}.`),
    );
  });

  test('is open to all clients where ANONYMOUS_SCOPES says so', async () => {
    const { database } = service;
    const open = await startTestService({ database, anonymousScopes: new Set(['dns:read'] as const) });
    expect((await fetch(`${open.url}/api/v1/domain/example.com/dns`)).status).toBe(200);
    expect((await fetch(`${open.url}/api/v1/domain/example.com/headers`)).status).toBe(401);
    const headers = bearer(await service.createToken({ scopes: ['headers:read'] }));
    const answers = ['/dns', '/headers', '/details'].map((path) =>
      fetch(`${open.url}/api/v1/domain/example.com${path}`, { headers }),
    );
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses, 'to clients with a token, too').toEqual([200, 200, 403]);
    const dns = await answers[0];
    expect(dns?.headers.get('cache-control')).toMatch(/^private/);
    await open.stop();
  });
});

const INVALID_TOKEN = `${REALM}, error="invalid_token"`;
const NOT_VALID = 'The access token is not valid: it is malformed, unknown, expired or revoked.';
const NO_BEARER =
  'The header Authorization must be "Authorization: Bearer <token>", with a token in the place of <token>.';

describe('a credential that is not valid is 401, everywhere', () => {
  test.each([
    ['an unknown token', `Bearer ${UNKNOWN_TOKEN}`, NOT_VALID, INVALID_TOKEN],
    ['a malformed token', 'bearer x', NOT_VALID, INVALID_TOKEN],
    ['the words of an example', 'Bearer <token>', NO_BEARER, INVALID_TOKEN],
    // Where no bearer token was sent, the challenge has no error (RFC 6750, section 3.1).
    ['no token at all', 'Bearer', NO_BEARER, REALM],
    ['a password that is no token', 'Basic dTpw', NOT_VALID, INVALID_TOKEN],
    ['no password', 'Basic dQ==', NO_BEARER, REALM],
    ['another scheme', 'Digest username="u"', NO_BEARER, REALM],
    ['no scheme', UNKNOWN_TOKEN, NO_BEARER, REALM],
    ['nothing', '', NO_BEARER, REALM],
  ])('%s', async (_what, authorization, detail, challenge) => {
    for (const path of ['/domain/example.com', '/domain/example.com/dns', '/nothing', '/domain/%zz']) {
      const response = await get(path, { headers: { authorization } });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(challenge);
      expect(await response.text()).toBe(problem(401, 'Unauthorized', 'UNAUTHENTICATED', detail));
    }
  });
});

describe('when the budget of requests is used up', () => {
  test('429 RATE_LIMITED with Retry-After, by address without a token and by token with one', async () => {
    const { database } = service;
    const limited = await startTestService({ database, rateLimits: { anonymous: 1, token: 2 } });
    const token = await service.createToken();
    const ask = (headers: Record<string, string>) =>
      fetch(`${limited.url}/api/v1/domain/example.com`, { headers });
    const statuses = [];
    for (const headers of [{}, {}, bearer(token), bearer(token), bearer(token)]) {
      statuses.push((await ask(headers)).status);
    }
    expect(statuses).toEqual([200, 429, 200, 200, 429]);
    // A client cannot choose its address.
    const rejected = await ask({ 'x-forwarded-for': '192.0.2.77' });
    expect(rejected.status).toBe(429);
    const seconds = Number(rejected.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(await rejected.text()).toBe(
      problem(429, 'Too Many Requests', 'RATE_LIMITED', `Too many requests. Try again in ${seconds} s.`),
    );
    await limited.stop();
  });

  test.each([
    ['a name that is not percent-encoded counts', ['%zz', '%ff', '%zz', 'example.com']],
    [
      'a parameter that is not valid counts, however long it is,',
      [`example.com?at=${'1'.repeat(15_000)}`, 'example.com?att=2024', 'example.com?at=soon', 'example.com'],
    ],
  ])('%s against it like any other name', async (_what, requests) => {
    const { database } = service;
    const limited = await startTestService({ database, rateLimits: { anonymous: 2, token: 1 } });
    const statuses = [];
    for (const request of requests) {
      const response = await fetch(`${limited.url}/api/v1/domain/${request}`);
      statuses.push([response.status, response.headers.get('ratelimit')?.split(';')[1]]);
    }
    expect(statuses).toEqual([
      [400, 'r=1'],
      [400, 'r=0'],
      [429, 'r=0'],
      [429, 'r=0'],
    ]);
    await limited.stop();
  });

  test('an operation without its scope counts against it like any other', async () => {
    const limited = await startTestService({
      database: service.database,
      rateLimits: { anonymous: 1, token: 2 },
      anonymousScopes: new Set(),
    });
    const headers = bearer(await limited.createToken({ scopes: ['dns:read'] }));
    const statuses = [];
    for (const init of [{ headers }, { headers }, { headers }, {}, {}]) {
      const response = await fetch(`${limited.url}/api/v1/search/domains`, init);
      statuses.push([response.status, response.headers.get('ratelimit')?.split(';')[1]]);
    }
    expect(statuses).toEqual([
      [403, 'r=1'],
      [403, 'r=0'],
      [429, 'r=0'],
      [401, 'r=0'],
      [429, 'r=0'],
    ]);
    await limited.stop();
  });

  test('a proxy that is trusted names the client, each with a budget of its own', async () => {
    const { database } = service;
    const limited = await startTestService({
      database,
      rateLimits: { anonymous: 1, token: 1 },
      trustProxy: ['loopback'],
    });
    const ask = (address: string) =>
      fetch(`${limited.url}/api/v1/domain/example.com`, { headers: { 'x-forwarded-for': address } });
    const statuses = [];
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) statuses.push((await ask(address)).status);
    expect(statuses).toEqual([200, 200, 429]);
    await limited.stop();
  });
});

describe('what fails inside', () => {
  test('is 500 INTERNAL without a word of it, and is logged under the request id', async () => {
    const { pool } = service.database;
    await insertDomain(pool, { name: 'broken.example' });
    await insertDnsRecords(pool, 'broken.example', [{ type: 'MX', rdata: { pri: -1, target: 'secret' } }]);
    const response = await get('/domain/broken.example', { headers: { 'x-request-id': 'broken-1' } });
    expect(response.status).toBe(500);
    expect(await response.text()).toBe(
      problem(500, 'Internal Server Error', 'INTERNAL', "Internal error. It is in the server's log."),
    );
    expect(service.logged).toContainEqual(
      expect.objectContaining({ level: 'error', requestId: 'broken-1', msg: 'request failed' }),
    );
  });

  test('is 503 UNAVAILABLE with Retry-After while the database is unavailable', async () => {
    const database = await openTestDatabase();
    const cutOff = await startTestService({ database, role: 'api' });
    await database.close();
    for (const headers of [{}, bearer(UNKNOWN_TOKEN)]) {
      const response = await fetch(`${cutOff.url}/api/v1/domain/example.com`, { headers });
      expect(response.status).toBe(503);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await response.text()).toBe(
        problem(
          503,
          'Service Unavailable',
          'UNAVAILABLE',
          'The database does not answer. Try again shortly.',
        ),
      );
    }
    await cutOff.stop();
  });
});
