import { once } from 'node:events';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import supertest from 'supertest';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { graphqlRequest } from '../support/ask.js';
import { requireDocumented } from '../support/documented-fetch.js';
import { insertDomain, insertHeaderChanges } from '../support/rows.js';
import { bearer, serviceOfFile, type TestService } from '../support/service.js';

const ALLOWED = 'https://app.example';
const PATH = '/api/v1/domain/example.com';
const HTTP = readSettings({}).http;

const CORS = { ...HTTP, corsOrigins: [ALLOWED, 'http://localhost:3000'] };
const service = serviceOfFile({ http: CORS }, async ({ database }) => {
  await insertDomain(database.pool, { name: 'example.com' });
  await insertDomain(database.pool, { name: 'small.example' });
  const value = 'nginx '.repeat(1000);
  await insertHeaderChanges(database.pool, 'example.com', [{ name: 'server', observedAt: 1n, value }]);
});
const open = serviceOfFile(() => ({ database: service.database, http: { ...HTTP, corsOrigins: '*' } }));
const closed = serviceOfFile(() => ({ database: service.database }));

const getAs = (coding: string, path = PATH, init: RequestInit = {}) =>
  service.fetch(path, { ...init, headers: { 'accept-encoding': coding, ...init.headers } });

test.each([
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br', 'br'],
  ['*', 'br'],
  ['deflate', 'deflate'],
  ['gzip;q=0', undefined],
  ['nonsense;;q=x', undefined],
])('Accept-Encoding: %s is answered in %s (RFC 9110, section 12.5.3)', async (acceptEncoding, coding) => {
  const { status, headers, text } = await supertest(service.url)
    .get(PATH)
    .set('accept-encoding', acceptEncoding);
  await requireDocumented('GET', PATH, new Response(text, { status, headers }));
  expect(headers['content-encoding']).toBe(coding);
  expect(headers['vary']).toContain('Accept-Encoding');
});

test.each(['br', 'gzip'])(
  'the octets in %s are those of the answer without it, and fewer, with one weak tag',
  async (coding) => {
    const [plain, coded] = [await getAs('identity'), await getAs(coding)];
    const text = await plain.text();
    expect(await coded.text()).toBe(text);
    // One tag for every coding is a weak one (RFC 9110, section 8.8.3.3).
    expect(coded.headers.get('etag')).toMatch(/^W\//);
    expect(coded.headers.get('etag')).toBe(plain.headers.get('etag'));
    const asked = request(service.url + PATH, { headers: { 'accept-encoding': coding } }).end();
    const [answer] = await once(asked, 'response');
    expect((await buffer(answer)).length).toBeLessThan(text.length / 10);
  },
);

test('a small body, an error and a 304 are not compressed', async () => {
  const answers = [
    await getAs('gzip', '/api/v1/domain/small.example'),
    await getAs('gzip', '/nothing'),
    await getAs('gzip', PATH, { headers: { 'if-none-match': '*' } }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 304]);
  for (const { headers } of answers) expect(headers.get('content-encoding')).toBeNull();
});

test('answers of GraphQL and pages are compressed too', async () => {
  const init = graphqlRequest('{ __schema { types { name description } } }');
  const answered = await service.fetch('/graphql', init);
  expect(answered.headers.get('content-encoding')).not.toBeNull();
  expect(await answered.json()).toMatchObject({ data: { __schema: {} } });
  const page = await service.fetch('/graphql', { headers: { accept: 'text/html' } });
  expect(page.headers.get('content-encoding')).not.toBeNull();
  expect(await page.text()).toContain('EmbeddedSandbox');
});

const get = (asked: TestService, headers: Record<string, string>, path = PATH) =>
  asked.fetch(path, { headers });

const REQUESTED = {
  'access-control-request-method': 'GET',
  'access-control-request-headers': 'authorization,if-none-match',
};
const preflight = (asked: TestService, origin: string, path = PATH) =>
  asked.fetch(path, { method: 'OPTIONS', headers: { ...REQUESTED, origin } });

const OTHER = 'https://other.example';
/** What permits a page at ALLOWED to read, and by which value. */
const PERMITTING = [
  [service, ALLOWED],
  [open, '*'],
] as const;

test('pages of other sites may read nothing by default, and are not told that they might', async () => {
  const { headers } = await get(closed, { origin: ALLOWED });
  expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  expect(headers.get('vary')).not.toContain('Origin');
  expect((await preflight(closed, ALLOWED)).status).toBe(405);
});

test('pages of other sites may read answers where CORS_ORIGINS lists their origin, with the fields that are of use', async () => {
  const { headers } = await get(service, { origin: ALLOWED });
  expect(headers.get('access-control-allow-origin')).toBe(ALLOWED);
  const exposed = headers.get('access-control-expose-headers')?.split(', ');
  const names = 'ETag RateLimit RateLimit-Policy Retry-After X-Request-Id Deprecation Sunset Link';
  expect(exposed).toEqual(expect.arrayContaining(names.split(' ')));
  expect(headers.get('access-control-allow-credentials')).toBeNull();
});

test('pages of other sites may read errors, of tokens and of bodies that are too large', async () => {
  for (const [asked, origin] of PERMITTING) {
    const tooLarge = graphqlRequest(' '.repeat(600_000), {}, { origin: ALLOWED });
    const byToken = await get(asked, { origin: ALLOWED, ...bearer('x') });
    for (const { status, headers } of [byToken, await asked.fetch('/graphql', tooLarge)]) {
      expect([401, 413]).toContain(status);
      expect(headers.get('access-control-allow-origin')).toBe(origin);
    }
  }
});

const UNLISTED = [OTHER, 'https://app.example.evil.example', 'http://app.example', 'null'];

test.each(UNLISTED)('pages of origins that are not in CORS_ORIGINS may read nothing: %s', async (origin) => {
  for (const { status, headers } of [await get(service, { origin }), await preflight(service, origin)]) {
    expect([200, 405]).toContain(status);
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});

test.each(['cross-site', 'same-site'])('GraphQL by GET is only for listed origins: %s', async (site) => {
  const statuses = async (asked: TestService) => {
    const answers = [{ origin: ALLOWED }, { origin: OTHER }, {}].map((fields) =>
      get(asked, { ...fields, 'sec-fetch-site': site }, '/graphql?query={__typename}'),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  expect(await statuses(service)).toEqual([200, 400, 400]);
  expect(await statuses(closed)).toEqual([400, 400, 400]);
  expect(await statuses(open)).toEqual([200, 200, 200]);
});

test('caches keep answers apart by origin, whether a page sends the request or not', async () => {
  for (const headers of [{}, { origin: ALLOWED }, { origin: OTHER }]) {
    for (const path of [PATH, '/nothing'])
      expect((await get(service, headers, path)).headers.get('vary')).toContain('Origin');
  }
  expect((await get(open, { origin: ALLOWED })).headers.get('vary')).not.toContain('Origin');
});

test('with CORS_ORIGINS=* all pages may read, and a cache has one answer for requests from a page and others', async () => {
  for (const path of [PATH, '/nothing', '/graphql', '/api/v1/openapi.json']) {
    const fieldsFor = async (fields: Record<string, string>) => {
      const { headers } = await get(open, { ...fields, 'x-request-id': 'same' }, path);
      return [...headers].filter(([name]) => !['date', 'ratelimit'].includes(name));
    };
    const plain = await fieldsFor({});
    expect(await fieldsFor({ origin: ALLOWED })).toEqual(plain);
    expect(new Map(plain).get('access-control-allow-origin')).toBe('*');
    expect(new Map(plain).get('access-control-expose-headers')).toContain('ETag');
  }
});

test.each([PATH, '/graphql'])(
  'a preflight permits tokens and conditions, and needs no token: %s',
  async (path) => {
    for (const [asked, origin] of PERMITTING) {
      const { status, headers } = await preflight(asked, ALLOWED, path);
      const fields = ['origin', 'methods', 'headers'].map((name) =>
        headers.get(`access-control-allow-${name}`),
      );
      expect([status, ...fields]).toEqual([204, origin, 'GET, HEAD, POST', 'Authorization, *']);
      expect(headers.get('access-control-max-age')).toBe('7200');
    }
  },
);

test('OPTIONS that is no preflight is answered as ever', async () => {
  const response = await service.fetch(PATH, { method: 'OPTIONS', headers: { origin: ALLOWED } });
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

const PATHS = [PATH, '/nothing', '/api/v1/domain/example.com/dns', '/graphql', '/'];

test.each(PATHS)('every answer says how it may be used, and not what it is made with: %s', async (path) => {
  const { headers } = await closed.fetch(path);
  expect(headers.get('x-powered-by')).toBeNull();
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; frame-ancestors 'none'/);
});
