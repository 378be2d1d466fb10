import { buildSchema } from 'graphql';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;
let based: TestService;

beforeAll(async () => {
  database = await openTestDatabase();
  service = await startTestService({ database });
  based = await startTestService({ database, basePath: '/a/dms' });
});
afterAll(async () => {
  await Promise.all([service.stop(), based.stop()]);
  await database.close();
});

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
] as const;

test('browsers find the icon of the page where they look for one beside JSON, whatever the base path', async () => {
  for (const { port } of [service, based]) {
    const response = await fetch(`http://127.0.0.1:${port}/favicon.ico`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(await response.text()).toMatch(/^<svg /);
  }
});

const FEED = /<link rel="alternate" type="application\/atom\+xml" href="([^"]*)">/;

function withoutFeed(page: string): string {
  return page.replace(FEED, '');
}

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

describe.each(DOCUMENTS)('%s', (path, mediaType) => {
  test('is there, with a validator that is checked, under a base path too', async () => {
    for (const { url } of [service, based]) {
      const response = await fetch(url + path);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe(mediaType);
      expect(response.headers.get('cache-control')).toBe('no-cache');
      const etag = response.headers.get('etag') ?? '';
      expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
      const again = await fetch(url + path, { headers: { 'if-none-match': etag } });
      expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    }
  });

  test('answers HEAD with the header fields of GET', async () => {
    const [head, got] = await Promise.all([
      fetch(service.url + path, { method: 'HEAD' }),
      fetch(service.url + path),
    ]);
    const fields = ['content-type', 'content-length', 'etag', 'link', 'content-security-policy'];
    expect(fields.map((name) => head.headers.get(name))).toEqual(fields.map((name) => got.headers.get(name)));
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('allows GET and HEAD only', async () => {
    const response = await fetch(service.url + path, { method: 'POST' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe.each(['/api/v1/docs', '/graphiql'])('the page %s', (path) => {
  test('loads nothing but files of this server, under a policy that names no other host', async () => {
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
});

describe('what the pages load', () => {
  const SCRIPT = '/assets/graphiql/graphql-worker.js';

  test('is compressed for a client that takes gzip, and the same as it is for others', async () => {
    const ask = (encoding: string) =>
      fetch(service.url + SCRIPT, { headers: { 'accept-encoding': encoding } });
    const [packed, plain] = await Promise.all([ask('gzip'), ask('identity')]);
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(Number(packed.headers.get('content-length'))).toBeLessThan(300_000);
    const short = await fetch(`${service.url}/.well-known/api-catalog`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(short.headers.get('content-encoding')).toBeNull();
    // Compressing it by br for each request would take half a second.
    expect((await ask('br')).headers.get('content-encoding')).toBeNull();
    for (const { headers } of [packed, plain]) {
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(headers.get('vary')).toMatch(/^Accept-Encoding/);
    }
    // fetch() has unpacked it.
    expect(await packed.text()).toBe(await plain.text());
  });

  test('is loaded once, and then only revalidated, whatever the content coding', async () => {
    for (const encoding of ['gzip', 'identity']) {
      const first = await fetch(service.url + SCRIPT, { headers: { 'accept-encoding': encoding } });
      await first.arrayBuffer();
      const etag = first.headers.get('etag') ?? '';
      expect([first.headers.get('cache-control'), etag]).toEqual([
        'no-cache',
        expect.stringMatching(/^W\/"[\w-]{22}"$/),
      ]);
      const again = await fetch(service.url + SCRIPT, { headers: { 'if-none-match': etag } });
      expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    }
  });

  test('is answered whatever else the request makes a condition, as every other document is', async () => {
    const past = 'Sat, 01 Jan 2000 00:00:00 GMT';
    for (const path of [SCRIPT, '/api/v1/openapi.json']) {
      for (const encoding of ['gzip', 'identity']) {
        for (const condition of [
          { 'if-match': '"x"' },
          { 'if-unmodified-since': past },
          { range: 'bytes=9-1' },
        ]) {
          const headers = { ...condition, 'accept-encoding': encoding };
          const response = await fetch(service.url + path, { headers });
          await response.arrayBuffer();
          expect([path, condition, response.status]).toEqual([path, condition, 200]);
        }
      }
    }
  });

  test('answers HEAD with the header fields of GET, compressed or not, and allows no other method', async () => {
    for (const encoding of ['gzip', 'identity']) {
      const ask = async (method: string) => {
        const response = await fetch(service.url + SCRIPT, {
          method,
          headers: { 'accept-encoding': encoding },
        });
        const fields = ['content-type', 'content-length', 'content-encoding', 'etag', 'cache-control'];
        const { byteLength } = await response.arrayBuffer();
        return {
          status: response.status,
          fields: fields.map((name) => response.headers.get(name)),
          byteLength,
        };
      };
      const [head, got] = await Promise.all([ask('HEAD'), ask('GET')]);
      expect(head).toEqual({ ...got, byteLength: 0 });
      if (encoding === 'identity') expect(got.fields[1]).toBe(String(got.byteLength));
    }
    const posted = await fetch(service.url + SCRIPT, { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test.each([
    '/assets/',
    '/assets/graphiql',
    '/assets/graphiql/graphql-worker.js.gz',
    '/assets/graphiql/..%2f..%2f..%2fpackage.json',
    '/assets/swagger-ui/swagger-ui-bundle.js.map',
    '/assets/%zz',
  ])('is these files only: 404 for %s', async (path) => {
    const response = await fetch(service.url + path);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the catalog of APIs (RFC 9727)', () => {
  test('is at the root of the host whatever the base path, and links what describes both APIs', async () => {
    const response = await fetch(`http://127.0.0.1:${based.port}/.well-known/api-catalog`);
    expect(response.headers.get('link')).toBe('</.well-known/api-catalog>; rel="api-catalog"');
    const { linkset } = JSON.parse(await response.text());
    expect(linkset).toMatchObject([
      {
        anchor: '/a/dms/api/v1',
        'service-desc': [{ href: '/a/dms/api/v1/openapi.json', type: 'application/json' }],
        'service-doc': [{ href: '/a/dms/api/v1/docs', type: 'text/html' }],
        status: [{ href: '/readyz', type: 'application/json' }],
      },
      {
        anchor: '/a/dms/graphql',
        'service-desc': [{ href: '/a/dms/schema.graphql', type: 'text/plain' }],
        'service-doc': [{ href: '/a/dms/graphiql', type: 'text/html' }],
        status: [{ href: '/readyz', type: 'application/json' }],
      },
    ]);
    const hrefs = [...JSON.stringify(linkset).matchAll(/"href":"([^"]+)"/g)].map(([, href = '']) => href);
    for (const href of hrefs) expect((await fetch(new URL(href, based.url))).status).toBe(200);
  });
});

test('the schema of GraphQL and the types of its interfaces and unions are what introspection says', async () => {
  const text = async (path: string) => (await fetch(based.url + path)).text();
  const query = '{ __schema { types { name possibleTypes { name } } } }';
  const { body } = await request(based.url).post('/graphql').send({ query });
  const types: readonly { name: string; possibleTypes: readonly { name: string }[] | null }[] =
    body.data.__schema.types;
  const inSchema = buildSchema(await text('/schema.graphql')).getTypeMap();
  expect(Object.keys(inSchema).sort()).toEqual(types.map(({ name }) => name).sort());
  const possible = types.flatMap(({ name, possibleTypes }) =>
    possibleTypes === null ? [] : [[name, possibleTypes.map((type) => type.name)]],
  );
  expect(possible.map(([name]) => name)).toContain('Node');
  expect(JSON.parse(await text('/possibleTypes.json'))).toEqual(Object.fromEntries(possible));
});

test('the start page links the documents', async () => {
  const page = await (await fetch(`${based.url}/`)).text();
  for (const path of ['/graphiql', '/api/v1/docs', '/api/v1/openapi.json']) {
    expect(page).toContain(`<a href="/a/dms${path}">`);
  }
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
