import { buildSchema } from 'graphql';
import { expect, test, vi } from 'vitest';
import { staticHandler } from '../../src/http/pages/static-files.js';
import { serviceOfFile } from '../support/service.js';

const service = serviceOfFile();
const based = serviceOfFile(() => ({ database: service.database, basePath: '/a/dms' }));

const JSON_TYPE = 'application/json; charset=utf-8';
const HTML_TYPE = 'text/html; charset=utf-8';
const LINKSET_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

const DOCUMENTS = [
  ['/', HTML_TYPE],
  ['/api/v1/openapi.json', JSON_TYPE],
  ['/api/v1/docs', HTML_TYPE],
  ['/graphiql', HTML_TYPE],
  ['/schema.graphql', 'text/plain; charset=utf-8'],
  ['/possibleTypes.json', JSON_TYPE],
  ['/.well-known/api-catalog', LINKSET_TYPE],
  ['/assets/graphiql/graphql-worker.js', 'text/javascript; charset=utf-8'],
] as const;

test('browsers find the icon of the page where they look for one beside JSON, whatever the base path', async () => {
  for (const { port } of [service, based]) {
    const response = await fetch(`http://127.0.0.1:${port}/favicon.ico`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(await response.text()).toMatch(/^<svg /);
  }
});

const FEED = /<link rel="alternate" type="application\/atom\+xml" href="([^"]*)">/;

const withoutFeed = (page: string) => page.replace(FEED, '');

test('readers of feeds find in a page the feed of what it shows, however the name is written', async () => {
  for (const [page, feed] of [
    [`${service.url}/`, '/api/v1/changes.atom'],
    [`${service.url}/domains/%ff`, '/api/v1/changes.atom'],
    [`${service.url}/domains/B%C3%BCcher.example.`, '/api/v1/domain/xn--bcher-kva.example/changes.atom'],
    [`${based.url}/domains/example.com`, '/a/dms/api/v1/domain/example.com/changes.atom'],
  ] as const) {
    const text = await (await fetch(page)).text();
    expect([page, FEED.exec(text)?.[1]]).toEqual([page, feed]);
  }
});

test('a domain has the page of the root at its address, whatever its name is there', async () => {
  for (const { url } of [service, based]) {
    const page = withoutFeed(await (await fetch(url)).text());
    for (const name of ['example.com', 'b%C3%BCcher.example', '%ff', '%', 'a/b']) {
      const response = await fetch(`${url}/domains/${name}`);
      expect([name, response.status, withoutFeed(await response.text())]).toEqual([name, 200, page]);
    }
    expect((await fetch(`${url}/domains/`)).status).toBe(404);
  }
});

test.each(DOCUMENTS)('%s is at any base path, with a validator, by GET and HEAD only', async (path, type) => {
  for (const { url } of [service, based]) {
    const ask = async (init: RequestInit = {}) => {
      const response = await fetch(url + path, init);
      const { status, headers } = response;
      const names = ['type', 'length', 'security-policy'].map((name) => `content-${name}`);
      const all = [...names, 'cache-control', 'etag', 'link', 'allow'];
      const fields = Object.fromEntries(all.map((name) => [name, headers.get(name)]));
      return { status, fields, text: await response.text() };
    };
    const got = await ask();
    const fields = { 'content-type': type, 'cache-control': 'no-cache', etag: TAG };
    expect(got).toMatchObject({ status: 200, fields });
    expect(await ask({ method: 'HEAD' })).toEqual({ ...got, text: '' });
    const etag = got.fields['etag'] ?? '';
    const again = await ask({ headers: { 'if-none-match': etag } });
    expect(again).toMatchObject({ status: 304, fields: { etag }, text: '' });
    expect(await ask({ method: 'POST' })).toMatchObject({ status: 405, fields: { allow: 'GET, HEAD' } });
  }
});

const TAG = expect.stringMatching(/^W\/"[\w-]{22}"$/);

test.each(['/api/v1/docs', '/graphiql'])('%s loads nothing of other hosts, by its policy', async (path) => {
  for (const { url } of [service, based]) {
    const response = await fetch(url + path);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self'(;|$)/);
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
    const page = await response.text();
    expect(page).not.toMatch(/https?:/);
    const loaded = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, address = '']) => address);
    expect(loaded.length).toBeGreaterThanOrEqual(2);
    for (const address of loaded) expect((await fetch(new URL(address, url))).status).toBe(200);
  }
});

const SCRIPT = '/assets/graphiql/graphql-worker.js';

async function load(coding: string) {
  const response = await service.fetch(SCRIPT, { headers: { 'accept-encoding': coding } });
  const names = ['content-type', 'content-encoding', 'content-length', 'vary'];
  const [type, packing, length, vary] = names.map((name) => response.headers.get(name));
  // fetch() has unpacked it.
  return { type, coding: packing, length, vary, text: await response.text() };
}

test('what the pages load is compressed for a client that takes gzip, and the same as it is for others', async () => {
  const [packed, plain] = [await load('gzip'), await load('identity')];
  expect([packed.coding, plain.coding]).toEqual(['gzip', null]);
  expect(Number(packed.length)).toBeLessThan(300_000);
  // Compressing it by br for each request would take half a second.
  expect((await load('br')).coding).toBeNull();
  for (const { type, vary, text } of [packed, plain]) {
    expect(type).toBe('text/javascript; charset=utf-8');
    expect(vary).toMatch(/^Accept-Encoding/);
    expect(text).toBe(plain.text);
  }
});

test.each([
  { 'if-match': '"x"' },
  { 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' },
  { range: 'bytes=9-1' },
])('a document is answered whatever else the request makes a condition: %o', async (condition) => {
  for (const path of [SCRIPT, '/api/v1/openapi.json']) {
    for (const coding of ['gzip', 'identity']) {
      const headers = { ...condition, 'accept-encoding': coding };
      const response = await service.fetch(path, { headers });
      await response.arrayBuffer();
      expect([path, response.status]).toEqual([path, 200]);
    }
  }
});

test.each([
  '/assets/',
  '/assets/graphiql',
  '/assets/graphiql/graphql-worker.js.gz',
  '/assets/graphiql/..%2f..%2f..%2fpackage.json',
  '/assets/swagger-ui/swagger-ui-bundle.js.map',
  '/assets/%zz',
])('the assets of pages are their files only: 404 for %s', async (path) => {
  const response = await service.fetch(path);
  expect([response.status, await response.json()]).toMatchObject([404, { code: 'NOT_FOUND' }]);
});

test('the catalog of APIs (RFC 9727) is at the root of the host whatever the base path, and links what describes both APIs', async () => {
  const response = await fetch(`http://127.0.0.1:${based.port}/.well-known/api-catalog`);
  expect(response.headers.get('link')).toBe('</.well-known/api-catalog>; rel="api-catalog"');
  const { linkset } = JSON.parse(await response.text());
  const api = (anchor: string, description: string, type: string, page: string) => ({
    anchor: `/a/dms${anchor}`,
    'service-desc': [{ href: `/a/dms${description}`, type }],
    'service-doc': [{ href: `/a/dms${page}`, type: 'text/html' }],
    status: [{ href: '/readyz', type: 'application/json' }],
  });
  expect(linkset).toMatchObject([
    api('/api/v1', '/api/v1/openapi.json', 'application/json', '/api/v1/docs'),
    api('/graphql', '/schema.graphql', 'text/plain', '/graphiql'),
  ]);
  const hrefs = [...JSON.stringify(linkset).matchAll(/"href":"([^"]+)"/g)].map(([, href = '']) => href);
  for (const href of hrefs) expect((await fetch(new URL(href, based.url))).status).toBe(200);
});

test('the schema of GraphQL and the types of its interfaces and unions are what introspection says', async () => {
  const text = async (path: string) => (await based.fetch(path)).text();
  const query = '{ __schema { types { name possibleTypes { name } } } }';
  const { data } = await based.graphql(query);
  const types: readonly { name: string; possibleTypes: readonly { name: string }[] | null }[] =
    data.__schema.types;
  const inSchema = buildSchema(await text('/schema.graphql')).getTypeMap();
  expect(Object.keys(inSchema).sort()).toEqual(types.map(({ name }) => name).sort());
  const possible = types.flatMap(({ name, possibleTypes }) =>
    possibleTypes === null ? [] : [[name, possibleTypes.map((type) => type.name)]],
  );
  expect(possible.map(([name]) => name)).toContain('Node');
  expect(JSON.parse(await text('/possibleTypes.json'))).toEqual(Object.fromEntries(possible));
});

test('the documents link to nothing but one another, this service, and other hosts', async () => {
  const { origin } = new URL(based.url);
  const pages = new Set([`${based.url}/docs/`]);
  for (const page of pages) {
    const response = await fetch(page, { headers: { accept: 'text/html' } });
    expect([page, response.status]).toEqual([page, 200]);
    if (!page.startsWith(`${based.url}/docs/`)) continue;
    for (const [, href = ''] of (await response.text()).matchAll(/<a [^>]*href="([^"]*)"/g)) {
      const target = new URL(href, page);
      if (target.hostname !== '127.0.0.1') continue;
      expect(target.origin, href).toBe(origin);
      target.hash = '';
      pages.add(target.href);
    }
  }
  expect(pages.size).toBeGreaterThan(20);
});

test('requests share the octets of a page in each coding: whoever reads slowly holds no copy of 5 MB', () => {
  const handler = staticHandler(() => ({ mediaType: 'text/plain', body: 'a'.repeat(2_000) }));
  const [gzip, identity, ...again] = ['gzip', 'identity', 'gzip', 'identity'].map((coding) => {
    const [send, set] = [vi.fn(), vi.fn().mockReturnThis()];
    const request = { method: 'GET', headers: {}, acceptsEncodings: () => coding };
    handler(request as never, { set, send } as never, vi.fn());
    return send.mock.lastCall?.[0];
  });
  expect(again[0]).toBe(gzip);
  expect(again[1]).toBe(identity);
});
