import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { requireDocumentedRaw } from '../support/documented-raw.js';
import { exchangeRaw } from '../support/raw-http.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await insertDomain(service.database.pool, { name: 'example.com' });
  await insertDomain(service.database.pool, { name: 'xn--bcher-kva.example' });
});
afterAll(() => service.stop());

/** Sends bytes as they are, and gives all that comes back. */
async function sendRaw(bytes: string, { port } = service): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes, 'latin1');
  return text(socket);
}

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}

const TYPENAME = '{"query":"{ __typename }"}';

describe('x-request-id', () => {
  test.each(['a', 'A.b_c-9', 'x'.repeat(128)])('is taken from the client: %s', async (id) => {
    const response = await fetch(`${service.url}/`, { headers: { 'x-request-id': id } });
    expect(response.headers.get('x-request-id')).toBe(id);
  });

  test.each(['', 'a b', 'x'.repeat(129), 'ü', '{"a":1}'])('is a new one in the place of %j', async (id) => {
    const response = await fetch(`${service.url}/`, { headers: { 'x-request-id': id } });
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('is in every response, whatever answers', async () => {
    const token = await service.createToken();
    const requests = [
      fetch(`${service.url}/api/v1/domain/example.com`),
      fetch(`${service.url}/api/v1/domain/example.com/dns`, { headers: bearer(token) }),
      fetch(`${service.url}/nothing`),
      fetch(`${service.url}/`, { headers: bearer('x') }),
      post(`${service.url}/graphql`, TYPENAME),
      post(`${service.url}/graphql`, '{'),
    ];
    const responses = await Promise.all(requests);
    const ids = responses.map(({ headers }) => headers.get('x-request-id'));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 404, 401, 200, 400]);
    expect(new Set(ids).size).toBe(6);
    expect(ids).not.toContain(null);
  });
});

describe('the log has one line for each request', () => {
  test('with method, path, status, duration and id', async () => {
    const response = await fetch(`${service.url}/api/v1/domain/example.com?at=2024-06-01T00:00:00Z`, {
      headers: { 'x-request-id': 'logged-1' },
    });
    await response.text();
    await vi.waitFor(
      () =>
        expect(service.logged.filter(({ requestId }) => requestId === 'logged-1')).toEqual([
          {
            level: 'info',
            time: expect.any(Number),
            requestId: 'logged-1',
            method: 'GET',
            path: '/api/v1/domain/example.com',
            status: 200,
            durationMs: expect.any(Number),
            msg: 'request',
          },
        ]),
      { timeout: 60_000 },
    );
  });

  test('and never a token, a query or the Authorization header', async () => {
    const token = await service.createToken();
    const headers = { ...bearer(token), 'x-request-id': 'secret-1' };
    const query = encodeURIComponent('{ domain(name: "whispered.example") { name } }');
    await (await fetch(`${service.url}/graphql?query=${query}`, { headers })).text();
    await vi.waitFor(
      () => expect(service.logged).toContainEqual(expect.objectContaining({ requestId: 'secret-1' })),
      { timeout: 60_000 },
    );
    const everything = JSON.stringify(service.logged);
    expect(everything).not.toContain(token);
    expect(everything).not.toContain('whispered');
    expect(everything.toLowerCase()).not.toContain('bearer');
  });
});

describe('a failure inside GraphQL', () => {
  test('is logged under the request id', async () => {
    const broken = await startTestService();
    await broken.database.pool.query('DROP TABLE dns_record');
    await insertDomain(broken.database.pool, { name: 'example.com' });
    const query = '{"query":"{ domain(name: \\"example.com\\") { dnsRecords { __typename } } }"}';
    const response = await post(`${broken.url}/graphql`, query, { 'x-request-id': 'graphql-1' });
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ errors: [{ extensions: { code: 'INTERNAL' } }] });
    expect(body).not.toContain('dns_record');
    expect(broken.logged).toContainEqual(
      expect.objectContaining({ level: 'error', requestId: 'graphql-1', msg: 'request failed' }),
    );
    await broken.stop();
  });
});

describe('a response', () => {
  test('does not say what it is made with, and has no validator that nothing checks', async () => {
    for (const path of ['/graphql', '/nothing', '/api/v1/domain/unknown.example']) {
      const { headers } = await fetch(service.url + path);
      expect(headers.get('x-powered-by')).toBeNull();
      expect(headers.get('etag')).toBeNull();
    }
  });
});

describe('a credential that is not valid is rejected on every path', () => {
  test('at GraphQL in the shape of GraphQL', async () => {
    const response = await post(`${service.url}/graphql`, TYPENAME, bearer('x'));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer realm="Domain Metadata Service", error="invalid_token"',
    );
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual({
      errors: [
        {
          message: 'The access token is not valid: it is malformed, unknown, expired or revoked.',
          extensions: { code: 'UNAUTHENTICATED' },
        },
      ],
    });
  });

  test.each(['/', '/nothing', '/api/v1/domain/example.com'])('%s', async (path) => {
    expect((await fetch(service.url + path, { headers: bearer('x') })).status).toBe(401);
  });
});

describe('the start page', () => {
  test('names GraphQL and every operation of REST, for those without JavaScript too, and no other host', async () => {
    const response = await fetch(`${service.url}/`);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const page = await response.text();
    expect(page).toContain('<a href="/graphql">');
    expect(page).toContain('<a href="/api/v1/domain/example.com">');
    for (const path of ['', '/dns', '/details', '/headers']) {
      expect(page).toContain(`GET /api/v1/domain/{domain}${path}<`);
    }
    expect(page).not.toMatch(/https?:/);
  });

  test('allows GET and HEAD only', async () => {
    const response = await fetch(`${service.url}/`, { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('with a base path', () => {
  test('everything is under it, and nothing beside it', async () => {
    const { database } = service;
    const based = await startTestService({ database, basePath: '/a/dms' });
    const origin = `http://127.0.0.1:${based.port}`;
    expect(based.url).toBe(`${origin}/a/dms`);
    const statusOf = async (path: string) => (await fetch(origin + path)).status;
    for (const path of ['', '/', '/api/v1/domain/example.com']) {
      expect(await statusOf(`/a/dms${path}`)).toBe(200);
    }
    expect((await post(`${based.url}/graphql`, TYPENAME)).status).toBe(200);
    expect((await post(`${based.url}/graphql`, TYPENAME, bearer('x'))).status).toBe(401);
    for (const path of ['/', '/a', '/api/v1/domain/example.com', '/a/dmsx', '/A/dms/', '/a/dms/graphql/x']) {
      expect(await statusOf(path)).toBe(404);
    }
    expect(await (await fetch(`${based.url}/`)).text()).toContain('<a href="/a/dms/graphql">');
    await based.stop();
  });
});

describe('what is hardly HTTP is answered as JSON too', () => {
  test('200 where Accept or Accept-Encoding are too long to be compared: they are ignored', async () => {
    const long = Array.from({ length: 200 }, (_, at) => `text/x${at};q=0.1`).join(', ');
    for (const field of ['accept', 'accept-encoding']) {
      const response = await fetch(`${service.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', [field]: long },
        body: '{"query":"{ __typename }"}',
      });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  test('431 for header fields that are too large', async () => {
    const answer = await sendRaw(`GET / HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(head).toMatch(/^content-type: application\/json; charset=utf-8\r?$/m);
    expect(head).toMatch(/^x-request-id: [0-9a-f-]{36}\r?$/m);
    expect(JSON.parse(body)).toMatchObject({ status: 431, code: 'HEADERS_TOO_LARGE' });
  });

  test('431 on a connection that has been used before', async () => {
    const answer = await sendRaw(
      `HEAD / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
    );
    expect(answer).toContain('HTTP/1.1 431 ');
  });

  test('400 for what is no HTTP at all', async () => {
    const answer = await sendRaw('GARBAGE\r\n\r\n');
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
  });

  test('400 for a path with bytes outside ASCII that are not escaped', async () => {
    const target = `/api/v1/domain/${Buffer.from('bücher.example').toString('latin1')}`;
    const octets = `GET ${target} HTTP/1.1\r\nhost: a\r\n\r\n`;
    const response = await exchangeRaw(service.port, Buffer.from(octets, 'latin1'));
    expect(response).toMatchObject({ status: 400 });
    await requireDocumentedRaw(octets, response);
  });
});

test('a path may come as an absolute address, as a proxy sends it', async () => {
  const target = 'http://other.example/api/v1/domain/example.com?at=2024-06-01T00:00:00Z';
  const answer = await sendRaw(`GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});
