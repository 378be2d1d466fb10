import { expect, test } from 'vitest';
import { ROUTES } from '../../src/rest/v1/routes.js';
import { graphqlRequest } from '../support/ask.js';
import { bearer, serviceOfFile } from '../support/service.js';

const auth = { provider: undefined, required: 'all' } as const;
const anonymousScopes = new Set(['dns:read'] as const);
const service = serviceOfFile({ auth, anonymousScopes }, ({ record }) => record({ at: 1, headers: {} }));

const POST = graphqlRequest('{ __typename }');

const byPage = (accept: string): RequestInit => ({ headers: { accept } });

const ASKING: readonly (readonly [path: string, init: RequestInit])[] = [
  ['/api/v1/domain/example.com', {}],
  ['/api/v1/domain/example.com/dns', {}],
  ['/graphql', POST],
  ['/graphql', graphqlRequest('{ __typename }', {}, { accept: 'text/html, */*' })],
  ['/graphql?query={__typename}', {}],
  ['/graphql?query={__typename}', byPage('application/json; charset=utf-8, text/html;q=0.5')],
  ['/graphql?query={__typename}', byPage('multipart/mixed, text/html;q=0.9, application/json;q=0.1')],
];

test.each(ASKING)('with AUTH_REQUIRED=all, %s needs a token: %o', async (path, init) => {
  const response = await service.fetch(path, init);
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Domain Metadata Service"');
  expect(await response.text()).toContain('"code":"UNAUTHENTICATED"');
  const headers = new Headers({ ...init.headers, ...bearer(await service.createToken()) });
  expect((await service.fetch(path, { ...init, headers })).status).toBe(200);
});

test('with AUTH_REQUIRED=all, ANONYMOUS_SCOPES opens nothing to a token either', async () => {
  const headers = bearer(await service.createToken({ scopes: ['headers:read'] }));
  expect((await service.rest('/domain/example.com/dns', headers)).status).toBe(403);
});

test('with AUTH_REQUIRED=all, the OpenAPI document says that every operation needs a token, and the start page lists none as open', async () => {
  const { paths } = (await service.rest('/openapi.json')).body;
  for (const { path, scope } of ROUTES) {
    const { security, description } = paths[path].get;
    expect([path, security]).toEqual([path, [{ accessToken: scope === null ? [] : [scope] }]]);
    expect(description).toContain('Needs an access token');
    expect(description).not.toContain('unless');
  }
  expect(await (await service.fetch('/')).text()).not.toContain('no token needed');
});

test.each([
  'text/html',
  'text/html, application/json;q=0.5',
  'multipart/mixed;q=0.1, text/html',
  'application/json; charset=koi8-r, text/html;q=0.1',
])('a query beside the request for the page is not executed (accept: %s)', async (accept) => {
  const query = '/graphql?query={domain(name:"example.com"){name}}';
  for (const method of ['GET', 'HEAD']) {
    const response = await service.fetch(query, { ...byPage(accept), method });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).not.toContain('"data"');
  }
});

test.each(['/', '/graphql'])('with AUTH_REQUIRED=all, the page %s is open: it has no data', async (path) => {
  const { status, headers } = await service.fetch(path, byPage('text/html'));
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
});
