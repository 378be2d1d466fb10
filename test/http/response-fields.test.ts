import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { requireDocumented } from '../support/documented-fetch.js';
import { exchangeRaw } from '../support/raw-http.js';
import { insertDomain, insertHeaderChanges } from '../support/rows.js';
import { bearer, startTestService, type TestService } from '../support/service.js';

const ALLOWED = 'https://app.example';
const PATH = '/api/v1/domain/example.com';
const HTTP = readSettings({}).http;
const QUERY = { query: '{ __schema { types { name description } } }' };

let service: TestService;
let open: TestService;
let closed: TestService;

beforeAll(async () => {
  service = await startTestService({ http: { ...HTTP, corsOrigins: [ALLOWED, 'http://localhost:3000'] } });
  const { database } = service;
  open = await startTestService({ database, http: { ...HTTP, corsOrigins: '*' } });
  closed = await startTestService({ database });
  await insertDomain(database.pool, { name: 'example.com' });
  await insertDomain(database.pool, { name: 'small.example' });
  await insertHeaderChanges(database.pool, 'example.com', [
    { name: 'server', observedAt: 1n, value: 'nginx '.repeat(1000) },
  ]);
});
afterAll(async () => {
  await open.stop();
  await closed.stop();
  await service.stop();
});

describe('content coding (RFC 9110, section 12.5.3)', () => {
  const get = (acceptEncoding: string) =>
    supertest(service.url).get(PATH).set('accept-encoding', acceptEncoding);

  test.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip;q=0.5, br;q=0.8, *;q=0.1', 'br'],
    ['gzip, deflate, br', 'br'],
    ['*', 'br'],
    ['identity', undefined],
    ['deflate', 'deflate'],
    ['gzip;q=0', undefined],
    ['identity;q=1, gzip;q=0.5', undefined],
    ['', undefined],
    ['nonsense;;q=x', undefined],
  ])('Accept-Encoding: %s is answered in %s', async (acceptEncoding, coding) => {
    const { status, headers, text } = await get(acceptEncoding);
    await requireDocumented('GET', PATH, new Response(text, { status, headers }));
    expect(headers['content-encoding']).toBe(coding);
    expect(headers['vary']).toContain('Accept-Encoding');
  });

  test('the bytes are those of the answer without one, and fewer', async () => {
    const plain = await (
      await fetch(service.url + PATH, { headers: { 'accept-encoding': 'identity' } })
    ).text();
    for (const coding of ['br', 'gzip'] as const) {
      const response = await fetch(service.url + PATH, { headers: { 'accept-encoding': coding } });
      expect(await response.text()).toBe(plain);
      const octets = `GET ${PATH} HTTP/1.1\r\nhost: a\r\naccept-encoding: ${coding}\r\nconnection: close\r\n\r\n`;
      const { body } = await exchangeRaw(service.port, Buffer.from(octets));
      expect(body.length).toBeLessThan(plain.length / 10);
    }
  });

  test('HEAD says no other length than GET has (RFC 9110, section 8.6)', async () => {
    const lengths = async (acceptEncoding: string, path: string) => {
      const headers = { 'accept-encoding': acceptEncoding };
      const [got, head] = await Promise.all([
        fetch(service.url + path, { headers }),
        fetch(service.url + path, { method: 'HEAD', headers }),
      ]);
      expect(head.headers.get('etag')).toBe(got.headers.get('etag'));
      return [got, head].map((response) => response.headers.get('content-length'));
    };
    expect(await lengths('br', PATH), 'compressed').toEqual([null, null]);
    const [small, ofHead] = await lengths('br', '/api/v1/domain/small.example');
    expect(small).not.toBeNull();
    expect(ofHead).toBe(small);
    const [plain, ofPlainHead] = await lengths('identity', PATH);
    expect(plain).not.toBeNull();
    expect(ofPlainHead).toBe(plain);
  });

  test('the tag is a weak one, for every coding the same (RFC 9110, section 8.8.3.3)', async () => {
    const tags = await Promise.all(
      ['identity', 'gzip', 'br'].map(async (coding) => {
        const response = await fetch(service.url + PATH, { headers: { 'accept-encoding': coding } });
        return response.headers.get('etag');
      }),
    );
    expect(new Set(tags).size).toBe(1);
    expect(tags[0]).toMatch(/^W\//);
  });

  test('a small body, an error and a 304 go as they are', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const answers = await Promise.all([
      fetch(`${service.url}/api/v1/domain/small.example`, { headers }),
      fetch(`${service.url}/nothing`, { headers }),
      fetch(service.url + PATH, { headers: { ...headers, 'if-none-match': '*' } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 304]);
    for (const answer of answers) expect(answer.headers.get('content-encoding')).toBeNull();
  });

  test('answers of GraphQL and pages are compressed too', async () => {
    const headers = { 'accept-encoding': 'gzip', 'content-type': 'application/json' };
    const answered = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify(QUERY),
    });
    expect(answered.headers.get('content-encoding')).toBe('gzip');
    expect(await answered.json()).toMatchObject({ data: { __schema: {} } });
    const page = await fetch(`${service.url}/graphql`, { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-encoding')).not.toBeNull();
    expect(await page.text()).toContain('EmbeddedSandbox');
  });
});

describe('pages of other sites (CORS_ORIGINS)', () => {
  const get = ({ url }: TestService, headers: Record<string, string>, path = PATH) =>
    fetch(url + path, { headers });
  const preflight = ({ url }: TestService, origin: string, path = PATH) =>
    fetch(url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,if-none-match',
      },
    });

  test('may read nothing by default, and are not told that they might', async () => {
    const { headers } = await get(closed, { origin: ALLOWED });
    expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
    expect(headers.get('vary')).not.toContain('Origin');
    expect((await preflight(closed, ALLOWED)).status).toBe(405);
  });

  test('may read answers where their origin is listed, with the fields that are of use', async () => {
    const { headers } = await get(service, { origin: ALLOWED });
    expect(headers.get('access-control-allow-origin')).toBe(ALLOWED);
    const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? [];
    for (const field of [
      'ETag',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'X-Request-Id',
      'Deprecation',
      'Sunset',
      'Link',
    ]) {
      expect(exposed).toContain(field);
    }
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('may read errors, of tokens too', async () => {
    const { status, headers } = await get(service, { origin: ALLOWED, ...bearer('x') });
    expect(status).toBe(401);
    expect(headers.get('access-control-allow-origin')).toBe(ALLOWED);
  });

  test('a body that is too large is rejected in words that the page may read', async () => {
    for (const { url } of [service, open]) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { origin: ALLOWED, 'content-type': 'application/json' },
        body: ' '.repeat(600_000),
      });
      expect(response.status).toBe(413);
      expect(response.headers.get('access-control-allow-origin')).toBe(url === open.url ? '*' : ALLOWED);
    }
  });

  test.each(['https://other.example', 'https://app.example.evil.example', 'http://app.example', 'null'])(
    'may not where it is not: %s',
    async (origin) => {
      expect((await get(service, { origin })).headers.get('access-control-allow-origin')).toBeNull();
      const { status, headers } = await preflight(service, origin);
      expect(status).toBe(405);
      expect(headers.get('access-control-allow-origin')).toBeNull();
    },
  );

  test('may send GraphQL by GET where their origin is listed, and cause nothing where it is not', async () => {
    const path = '/graphql?query={__typename}';
    const statuses = async (of: TestService, site: string) => {
      const asked = [{ origin: ALLOWED }, { origin: 'https://other.example' }, {}].map(
        async (fields) => (await get(of, { ...fields, 'sec-fetch-site': site }, path)).status,
      );
      return Promise.all(asked);
    };
    for (const site of ['cross-site', 'same-site']) {
      expect(await statuses(service, site)).toEqual([200, 400, 400]);
      expect(await statuses(closed, site)).toEqual([400, 400, 400]);
      expect(await statuses(open, site)).toEqual([200, 200, 200]);
    }
    expect(await statuses(closed, 'same-origin')).toEqual([200, 200, 200]);
  });

  test('caches keep answers apart by origin, whether a page sends the request or not', async () => {
    for (const headers of [{}, { origin: ALLOWED }, { origin: 'https://other.example' }]) {
      expect((await get(service, headers)).headers.get('vary')).toContain('Origin');
      expect((await get(service, headers, '/nothing')).headers.get('vary')).toContain('Origin');
    }
    expect((await get(open, { origin: ALLOWED })).headers.get('vary')).not.toContain('Origin');
  });

  test('all may where all are listed, and a cache has one answer for requests from a page and others', async () => {
    for (const path of [PATH, '/nothing', '/graphql', '/api/v1/openapi.json']) {
      const asked = [{}, { origin: ALLOWED }].map(async (fields) => {
        const { headers } = await get(open, { ...fields, 'x-request-id': 'same' }, path);
        return [...headers].filter(([name]) => !['date', 'ratelimit'].includes(name));
      });
      const [plain = [], fromPage] = await Promise.all(asked);
      expect(plain).toEqual(fromPage);
      expect(plain).toContainEqual(['access-control-allow-origin', '*']);
      expect(new Map(plain).get('access-control-expose-headers')).toContain('ETag');
    }
  });

  test.each([PATH, '/graphql'])(
    'are permitted tokens and conditions by a preflight, which needs no token: %s',
    async (path) => {
      for (const [permitting, origin] of [
        [service, ALLOWED],
        [open, '*'],
      ] as const) {
        const { status, headers } = await preflight(permitting, ALLOWED, path);
        expect(status).toBe(204);
        expect(headers.get('access-control-allow-origin')).toBe(origin);
        expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST');
        expect(headers.get('access-control-allow-headers')).toBe('Authorization, *');
        expect(headers.get('access-control-max-age')).toBe('7200');
      }
    },
  );

  test('OPTIONS that is no preflight is answered as ever', async () => {
    const response = await fetch(service.url + PATH, { method: 'OPTIONS', headers: { origin: ALLOWED } });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('every answer', () => {
  test.each([PATH, '/nothing', '/api/v1/domain/example.com/dns', '/graphql', '/'])(
    'says how it may be used: %s',
    async (path) => {
      const { headers } = await fetch(closed.url + path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; frame-ancestors 'none'/);
    },
  );

  test('Sandbox has the policy under which it loads', async () => {
    const { headers } = await fetch(`${closed.url}/graphql`, { headers: { accept: 'text/html' } });
    const policy = headers.get('content-security-policy');
    expect(policy).toContain('https://embeddable-sandbox.cdn.apollographql.com');
    expect(policy).toContain('frame-src https://sandbox.embed.apollographql.com');
    expect(headers.get('cache-control'), 'its nonce is for one page').toBe('no-store');
  });
});
