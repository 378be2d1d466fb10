import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireDocumentedRaw } from '../support/documented-raw.js';
import { exchangeRaw, type RawResponse } from '../support/raw-http.js';
import { insertDomain } from '../support/rows.js';
import { startTestService, type TestService } from '../support/service.js';

const PATH = '/api/v1/domain/example.com';
const CLOSE = 'host: a\r\nconnection: close\r\n\r\n';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await insertDomain(service.database.pool, { name: 'example.com' });
});
afterAll(() => service.stop());

/** Sends bytes as they are, and gives all that comes back. */
async function send(bytes: string): Promise<string> {
  const socket = connect(service.port, '127.0.0.1');
  socket.write(bytes, 'latin1');
  return text(socket);
}

/** Sends a request as it is; what REST answers must be documented. */
async function ask(bytes: string): Promise<RawResponse> {
  const response = await exchangeRaw(service.port, Buffer.from(bytes, 'latin1'));
  await requireDocumentedRaw(bytes, response);
  return response;
}

describe('the forms of a target (RFC 9112, section 3.2)', () => {
  test.each(['http://other.example', 'HTTPS://other.example:8443'])(
    'an absolute one is its path: %s',
    async (origin) => {
      expect((await ask(`GET ${origin}${PATH}?at=2024-06-01T00:00:00Z HTTP/1.1\r\n${CLOSE}`)).status).toBe(
        200,
      );
      expect((await ask(`GET ${origin} HTTP/1.1\r\n${CLOSE}`)).fields.get('content-type')).toContain(
        'text/html',
      );
      const rejected = await ask(`DELETE ${origin}/graphql HTTP/1.1\r\n${CLOSE}`);
      expect(rejected.status).toBe(405);
      expect(JSON.parse(rejected.body)).toMatchObject({
        errors: [{ extensions: { code: 'METHOD_NOT_ALLOWED' } }],
      });
    },
  );

  test('what is written as a fragment is passed over, and the answer has the shape of its path', async () => {
    expect((await ask(`GET ${PATH}#x HTTP/1.1\r\n${CLOSE}`)).status).toBe(200);
    const rejected = await ask(`DELETE /graphql#x?y HTTP/1.1\r\n${CLOSE}`);
    expect(JSON.parse(rejected.body)).toMatchObject({
      errors: [{ extensions: { code: 'METHOD_NOT_ALLOWED' } }],
    });
    const token = 'authorization: Bearer unknown';
    const thrown = await ask(`GET /graphql#x HTTP/1.1\r\n${token}\r\n${CLOSE}`);
    expect(JSON.parse(thrown.body)).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });

  test('OPTIONS * tells what the server can do (RFC 9110, section 9.3.7)', async () => {
    const { status, fields, body } = await ask(`OPTIONS * HTTP/1.1\r\n${CLOSE}`);
    expect([status, fields.get('allow'), body]).toEqual([204, 'GET, HEAD, POST', '']);
  });

  test.each(['GET *', 'GET mailto:x', 'GET //'])('%s is nothing', async (start) => {
    const { status, body } = await ask(`${start} HTTP/1.1\r\n${CLOSE}`);
    expect([400, 404]).toContain(status);
    expect(JSON.parse(body)).toMatchObject({ status });
  });
});

test('a client that sends CONNECT does no harm', async () => {
  expect(await send('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n')).toBe('');
  expect((await ask(`GET ${PATH} HTTP/1.1\r\n${CLOSE}`)).status).toBe(200);
});

describe('Authorization (RFC 9110, section 5.3)', () => {
  test.each([PATH, '/graphql', '/'])('more than once is rejected, whichever is good: %s', async (path) => {
    const good = `authorization: Bearer ${await service.createToken()}\r\n`;
    const bad = `Authorization: Bearer dms_${'a'.repeat(43)}\r\n`;
    expect((await ask(`GET ${PATH} HTTP/1.1\r\n${good}${CLOSE}`)).status).toBe(200);
    for (const fields of [good + bad, bad + good, good + good]) {
      const { status, body } = await ask(`GET ${path} HTTP/1.1\r\n${fields}${CLOSE}`);
      expect(status).toBe(400);
      expect(body).toContain('"code":"INVALID_PARAMETER"');
      expect(body).toContain('one header field Authorization');
    }
  });
});

describe('Host (RFC 9112, section 3.2)', () => {
  test.each([
    ['none, in HTTP/1.1', `GET ${PATH} HTTP/1.1\r\nconnection: close\r\n\r\n`],
    ['two', `GET ${PATH} HTTP/1.1\r\nhost: b\r\n${CLOSE}`],
    ['two, in HTTP/1.0', `GET ${PATH} HTTP/1.0\r\nhost: b\r\n${CLOSE}`],
  ])('%s is rejected', async (_what, request) => {
    const { status, fields, body } = await ask(request);
    expect(status).toBe(400);
    expect(fields.get('x-request-id')).toBeDefined();
    expect(JSON.parse(body)).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
  });

  test('HTTP/1.0 needs none', async () => {
    expect((await ask(`GET ${PATH} HTTP/1.0\r\n\r\n`)).status).toBe(200);
  });
});

describe('more than 2,000 header fields, of which Node.js drops those beyond, are rejected', () => {
  const FIELDS = 'a:\r\n'.repeat(2_000);
  const LAST = [
    ['nothing that matters', 'a: b'],
    ['an invalid token', 'authorization: Bearer unknown'],
    ['a second Host', 'host: b'],
    ['an address of the client', 'x-forwarded-for: 192.0.2.1'],
  ] as const;

  test.each(LAST)('with %s behind them', async (_what, field) => {
    for (const path of [PATH, '/graphql', '/nothing', '/livez', '/metrics']) {
      const rejected = await ask(`GET ${path} HTTP/1.1\r\nhost: a\r\n${FIELDS}${field}\r\n\r\n`);
      expect(rejected.status).toBe(431);
      expect(rejected.fields.get('connection')).toBe('close');
      expect(JSON.parse(rejected.body)).toMatchObject({
        code: 'HEADERS_TOO_LARGE',
        detail: expect.stringContaining('more than 2000 header fields'),
      });
      const requestId = rejected.fields.get('x-request-id');
      expect(service.logged).toContainEqual(expect.objectContaining({ requestId, status: 431 }));
    }
  });

  test('and the last of 2,000 is read', async () => {
    const most = 'a:\r\n'.repeat(1_997);
    const request = (field: string) =>
      `GET ${PATH} HTTP/1.1\r\nhost: a\r\n${most}connection: close\r\n${field}\r\n\r\n`;
    expect((await ask(request('a: b'))).status).toBe(200);
    expect((await ask(request('authorization: Bearer unknown'))).status).toBe(401);
    expect((await ask(request('host: b'))).status).toBe(400);
  });
});

test('100 Continue is sent to a client that waits for it (RFC 9110, section 10.1.1), and then the answer', async () => {
  const body = '{"query":"{ __typename }"}';
  const fields = `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\nhost: a\r\n`;
  const socket = connect(service.port, '127.0.0.1');
  socket.write(`POST /graphql HTTP/1.1\r\n${fields}\r\n`);
  const [continued] = await once(socket, 'data');
  expect(String(continued)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write(body);
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
});

describe('a method', () => {
  test.each(['TRACE', 'POST', 'PUT', 'DELETE', 'PROPFIND'])(
    '%s is rejected by REST with what is allowed',
    async (method) => {
      const { status, fields, body } = await ask(`${method} ${PATH} HTTP/1.1\r\nx-secret: s\r\n${CLOSE}`);
      expect([status, fields.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(body).not.toContain('secret');
      expect(JSON.parse(body)).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
    },
  );

  test('that is unknown is rejected', async () => {
    const { status, body } = await ask(`BREW ${PATH} HTTP/1.1\r\n${CLOSE}`);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({ status: 400 });
  });
});

describe('what a request asks for besides is ignored', () => {
  test.each([
    ['another protocol', 'upgrade: websocket\r\nconnection: upgrade, close\r\nhost: a\r\n\r\n'],
    [
      'HTTP/2',
      'upgrade: h2c\r\nhttp2-settings: AAMAAABk\r\nconnection: upgrade, http2-settings, close\r\nhost: a\r\n\r\n',
    ],
    ['an expectation', `expect: a-pony\r\n${CLOSE}`],
    ['a range', `range: bytes=0-3\r\n${CLOSE}`],
    ['a body with GET', `content-length: 7\r\n${CLOSE}{"a":1}`],
    ['a body with GET, in chunks', `transfer-encoding: chunked\r\n${CLOSE}3\r\nabc\r\n0\r\n\r\n`],
  ])('%s', async (_what, rest) => {
    const { status, fields, body } = await ask(`GET ${PATH} HTTP/1.1\r\n${rest}`);
    expect(status).toBe(200);
    expect(fields.get('x-request-id')).toBeDefined();
    expect(JSON.parse(body)).toMatchObject({ domain: 'example.com' });
  });
});

test('requests that are sent at once on one connection are answered in their order (RFC 9112, section 9.3.2)', async () => {
  const requests = ['p-1', 'p-2', 'p-3'].map((id, index) => {
    const target = index === 1 ? '/nothing' : PATH;
    return `GET ${target} HTTP/1.1\r\nhost: a\r\nx-request-id: ${id}\r\n\r\n`;
  });
  const answer = await send(`${requests.join('')}GET / HTTP/1.1\r\n${CLOSE}`);
  expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
    '200',
    '404',
    '200',
    '200',
  ]);
  expect([...answer.matchAll(/x-request-id: (p-\d)/g)].map(([, id]) => id)).toEqual(['p-1', 'p-2', 'p-3']);
});

test.each([`GET ${PATH}`, 'GET /', 'GET /graphql?query={__typename}'])(
  'a body that nobody reads changes nothing, whatever its size: %s',
  async (start) => {
    const body = ' '.repeat(700_000);
    const chunked = `transfer-encoding: chunked\r\n${CLOSE}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    for (const sent of [`content-length: ${body.length}\r\n${CLOSE}${body}`, chunked]) {
      expect((await ask(`${start} HTTP/1.1\r\n${sent}`)).status).toBe(200);
    }
  },
);

describe('what is no HTTP', () => {
  const statuses = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  const get = (target: string) => `GET ${target} HTTP/1.1\r\nhost: a\r\n\r\n`;

  test('is rejected after the answers to the requests that came before it at once', async () => {
    const answer = await send(`${get(PATH)}GARBAGE\r\n\r\n`);
    expect(statuses(answer)).toEqual(['200', '400']);
    expect(answer).toContain('"domain":"example.com"');
    expect(statuses(await send(`${get(PATH)}${get('/nothing')}${get(PATH)}GARBAGE\r\n\r\n`))).toEqual([
      '200',
      '404',
      '200',
      '400',
    ]);
  });

  test('is rejected in the place of the answer where it is in the body of a request', async () => {
    const head = `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`;
    const broken = `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`;
    expect(statuses(await send(broken))).toEqual(['400']);
    expect(statuses(await send(`${get(PATH)}${broken}`))).toEqual(['200', '400']);
  });
});

describe('the body of a GraphQL request', () => {
  const post = (fields: string, body: string) =>
    ask(`POST /graphql HTTP/1.1\r\n${fields}\r\n${CLOSE}${body}`);
  const code = ({ body }: RawResponse) => JSON.parse(body).errors[0].extensions.code;
  const JSON_TYPE = 'content-type: application/json';

  test('over 512 kB is rejected, also in an unknown number of chunks', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const chunked = await post(`${JSON_TYPE}\r\ntransfer-encoding: chunked`, `${chunk.repeat(9)}0\r\n\r\n`);
    const announced = await post(`${JSON_TYPE}\r\ncontent-length: 600000`, ' '.repeat(600_000));
    for (const answer of [chunked, announced]) {
      expect(answer.status).toBe(413);
      expect(code(answer)).toBe('PAYLOAD_TOO_LARGE');
    }
  });

  test('is counted as it is without its content coding', async () => {
    const pack = (body: string) => gzipSync(body).toString('latin1');
    const coded = (body: string, coding = 'gzip') =>
      post(`${JSON_TYPE}\r\ncontent-encoding: ${coding}\r\ncontent-length: ${body.length}`, body);
    expect((await coded(pack('{"query":"{ __typename }"}'))).status).toBe(200);
    const bomb = pack(' '.repeat(50_000_000));
    expect(bomb.length).toBeLessThan(100_000);
    expect((await coded(bomb)).status).toBe(413);
    expect((await coded('not gzip at all')).status).toBe(400);
    const unknown = await coded('x', 'compress');
    expect(unknown.status).toBe(415);
    expect(code(unknown)).toBe('UNSUPPORTED_MEDIA_TYPE');
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
  ])('of another media type is rejected: %s', async (type) => {
    const body = '{"query":"{ __typename }"}';
    const answer = await post(`content-type: ${type}\r\ncontent-length: ${body.length}`, body);
    expect(answer.status).toBe(415);
    expect(code(answer)).toBe('UNSUPPORTED_MEDIA_TYPE');
  });
});
