import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../src/rest/v1/routes.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({
    auth: { provider: undefined, required: 'all' },
    anonymousScopes: new Set(['dns:read'] as const),
  });
  await insertDomain(service.database.pool, { name: 'example.com' });
});
afterAll(() => service.stop());

const POST = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"query":"{ __typename }"}',
};

/** GET from a script, which takes a page as well. */
function byPage(accept: string): RequestInit {
  return { headers: { accept } };
}

const ASKING: readonly (readonly [path: string, init: RequestInit])[] = [
  ['/api/v1/domain/example.com', {}],
  ['/api/v1/domain/example.com/dns', {}],
  ['/graphql', POST],
  ['/graphql', { ...POST, headers: { ...POST.headers, accept: 'text/html, */*' } }],
  ['/graphql?query={__typename}', {}],
  ['/graphql?query={__typename}', byPage('application/json; charset=utf-8, text/html;q=0.5')],
  ['/graphql?query={__typename}', byPage('multipart/mixed, text/html;q=0.9, application/json;q=0.1')],
];

describe('with AUTH_REQUIRED=all', () => {
  test.each(ASKING)('%s without a token is 401', async (path, init) => {
    const response = await fetch(`${service.url}${path}`, init);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Domain Metadata Service"');
    expect(await response.text()).toContain('"code":"UNAUTHENTICATED"');
  });

  test('GraphQL rejects in the media type that the client takes', async () => {
    const accepting = (accept: string) =>
      fetch(`${service.url}/graphql`, { ...POST, headers: { ...POST.headers, accept } });
    const type = async (accept: string) => (await accepting(accept)).headers.get('content-type');
    const graphql = 'application/graphql-response+json; charset=utf-8';
    expect(await type('application/graphql-response+json')).toBe(graphql);
    expect(await type('*/*')).toBe('application/json; charset=utf-8');
    expect(await type('image/png')).toBe('application/json; charset=utf-8');
  });

  test.each(ASKING)('%s with a token is answered', async (path, init) => {
    const headers = {
      ...Object.fromEntries(new Headers(init.headers)),
      ...bearer(await service.createToken()),
    };
    expect((await fetch(`${service.url}${path}`, { ...init, headers })).status).toBe(200);
  });

  test('ANONYMOUS_SCOPES opens nothing to a token either', async () => {
    const headers = bearer(await service.createToken({ scopes: ['headers:read'] }));
    expect((await fetch(`${service.url}/api/v1/domain/example.com/dns`, { headers })).status).toBe(403);
  });

  test('the OpenAPI document says that every operation needs a token', async () => {
    const { paths } = JSON.parse(await (await fetch(`${service.url}/api/v1/openapi.json`)).text());
    for (const { path, scope } of ROUTES) {
      const { security, description } = paths[path].get;
      expect([path, security]).toEqual([path, [{ accessToken: scope === null ? [] : [scope] }]]);
      expect(description).toContain('Needs an access token');
      expect(description).not.toContain('unless');
    }
  });

  test('the start page lists no operation as open', async () => {
    const page = await (await fetch(`${service.url}/`)).text();
    expect(page).not.toContain('no token needed');
  });

  test.each([
    'text/html',
    'text/html, application/json;q=0.5',
    'multipart/mixed;q=0.1, text/html',
    'application/json; charset=koi8-r, text/html;q=0.1',
  ])('a query beside the request for the page is not executed (accept: %s)', async (accept) => {
    const query = '/graphql?query={domain(name:"example.com"){name}}';
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(`${service.url}${query}`, { ...byPage(accept), method });
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await response.text()).not.toContain('"data"');
    }
  });

  test.each(['/', '/graphql'])('the page at %s is open: it holds no data', async (path) => {
    const response = await fetch(`${service.url}${path}`, { headers: { accept: 'text/html' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });
});
