import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { askRaw } from '../support/documented-fetch.js';
import { type RawResponse, readRaw } from '../support/raw-http.js';
import { insertDomain } from '../support/rows.js';
import { serviceOfFile } from '../support/service.js';

const PATH = '/api/v1/domain/example.com';
const CLOSE = 'host: a\r\nconnection: close\r\n\r\n';

const service = serviceOfFile({}, ({ database }) => insertDomain(database.pool, { name: 'example.com' }));

const send = (octets: string) => readRaw(service.port, octets);
const ask = (octets: string) => askRaw(service.port, octets);

const codeOf = ({ body }: RawResponse) => JSON.parse(body).errors[0].extensions.code;

const ORIGINS = ['http://other.example', 'HTTPS://other.example:8443'];

test.each(ORIGINS)('an absolute target, as proxies send, is its path (RFC 9112, 3.2): %s', async (origin) => {
  expect((await ask(`GET ${origin}${PATH}?at=2024-06-01T00:00:00Z HTTP/1.1\r\n${CLOSE}`)).status).toBe(200);
  const page = await ask(`GET ${origin} HTTP/1.1\r\n${CLOSE}`);
  expect(page.fields.get('content-type')).toContain('text/html');
  const rejected = await ask(`DELETE ${origin}/graphql HTTP/1.1\r\n${CLOSE}`);
  expect([rejected.status, codeOf(rejected)]).toEqual([405, 'METHOD_NOT_ALLOWED']);
});

test('what is written as a fragment is passed over, and the answer has the shape of its path', async () => {
  expect((await ask(`GET ${PATH}#x HTTP/1.1\r\n${CLOSE}`)).status).toBe(200);
  expect(codeOf(await ask(`DELETE /graphql#x?y HTTP/1.1\r\n${CLOSE}`))).toBe('METHOD_NOT_ALLOWED');
  const token = 'authorization: Bearer unknown';
  expect(codeOf(await ask(`GET /graphql#x HTTP/1.1\r\n${token}\r\n${CLOSE}`))).toBe('UNAUTHENTICATED');
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

test('400 for a path with octets outside ASCII that are not escaped', async () => {
  const target = `/api/v1/domain/${Buffer.from('bücher.example').toString('latin1')}`;
  expect((await ask(`GET ${target} HTTP/1.1\r\n${CLOSE}`)).status).toBe(400);
});

test('a client that sends CONNECT does no harm', async () => {
  expect(await send('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n')).toBe('');
  expect((await ask(`GET ${PATH} HTTP/1.1\r\n${CLOSE}`)).status).toBe(200);
});

test.each([PATH, '/graphql', '/'])('Authorization twice is rejected (RFC 9110, 5.3): %s', async (path) => {
  const good = `authorization: Bearer ${await service.createToken()}\r\n`;
  const bad = `Authorization: Bearer dms_${'a'.repeat(43)}\r\n`;
  expect((await ask(`GET ${PATH} HTTP/1.1\r\n${good}${CLOSE}`)).status).toBe(200);
  for (const fields of [good + bad, bad + good, good + good]) {
    const { status, body } = await ask(`GET ${path} HTTP/1.1\r\n${fields}${CLOSE}`);
    expect([status, body]).toEqual([400, expect.stringContaining('one header field Authorization')]);
    expect(body).toContain('"code":"INVALID_PARAMETER"');
  }
});

test.each([
  ['no Host, in HTTP/1.1', `GET ${PATH} HTTP/1.1\r\nconnection: close\r\n\r\n`],
  ['two, in HTTP/1.1', `GET ${PATH} HTTP/1.1\r\nhost: b\r\n${CLOSE}`],
  ['two, in HTTP/1.0', `GET ${PATH} HTTP/1.0\r\nhost: b\r\n${CLOSE}`],
])('a request without exactly one Host is rejected (RFC 9112, section 3.2): %s', async (_what, request) => {
  const { status, fields, body } = await ask(request);
  expect(fields.get('x-request-id')).toBeDefined();
  expect([status, JSON.parse(body)]).toMatchObject([400, { status: 400, code: 'INVALID_PARAMETER' }]);
});

test.each(['constructor', '__proto__', 'toString'])('a header field %s is an unknown one', async (name) => {
  expect((await ask(`GET ${PATH} HTTP/1.1\r\n${name}: x\r\n${CLOSE}`)).status).toBe(200);
});

test('HTTP/1.0 needs no Host', async () => {
  expect((await ask(`GET ${PATH} HTTP/1.0\r\n\r\n`)).status).toBe(200);
});

const FIELDS = ['a: b', 'authorization: Bearer unknown', 'host: b', 'x-forwarded-for: 192.0.2.1'];

// Node.js would drop those beyond.
test.each(FIELDS)('more than 2,000 header fields are rejected, such as %s', async (field) => {
  for (const path of [PATH, '/graphql', '/nothing', '/livez', '/metrics']) {
    const fields = `host: a\r\n${'a:\r\n'.repeat(2_000)}${field}\r\n\r\n`;
    const rejected = await ask(`GET ${path} HTTP/1.1\r\n${fields}`);
    expect([rejected.status, rejected.fields.get('connection')]).toEqual([431, 'close']);
    const detail = expect.stringContaining('more than 2000 header fields');
    expect(JSON.parse(rejected.body)).toMatchObject({ code: 'HEADERS_TOO_LARGE', detail });
    const requestId = rejected.fields.get('x-request-id');
    expect(service.logged).toContainEqual(expect.objectContaining({ requestId, status: 431 }));
  }
});

test.each([
  ['a: b', 200],
  ['authorization: Bearer unknown', 401],
  ['host: b', 400],
])('the last of 2,000 header fields is read: %s', async (field, status) => {
  const fields = `host: a\r\n${'a:\r\n'.repeat(1_997)}connection: close\r\n${field}\r\n\r\n`;
  expect((await ask(`GET ${PATH} HTTP/1.1\r\n${fields}`)).status).toBe(status);
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

const METHODS = ['TRACE', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'OPTIONS'];

test.each(METHODS)('the method %s is rejected by REST with what is allowed', async (method) => {
  const { status, fields, body } = await ask(`${method} ${PATH} HTTP/1.1\r\nx-secret: s\r\n${CLOSE}`);
  expect([status, fields.get('allow')]).toEqual([405, 'GET, HEAD']);
  expect(body).not.toContain('secret');
  expect(JSON.parse(body)).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
});

test('a method that is unknown is rejected', async () => {
  const { status, body } = await ask(`BREW ${PATH} HTTP/1.1\r\n${CLOSE}`);
  expect([status, JSON.parse(body)]).toMatchObject([400, { status: 400 }]);
});

test.each([
  ['another protocol', `upgrade: websocket\r\nconnection: upgrade\r\n${CLOSE}`],
  ['HTTP/2', `upgrade: h2c\r\nhttp2-settings: AAMAAABk\r\nconnection: upgrade, http2-settings\r\n${CLOSE}`],
  ['an expectation', `expect: a-pony\r\n${CLOSE}`],
  ['a range', `range: bytes=0-3\r\n${CLOSE}`],
  ['a body with GET', `content-length: 7\r\n${CLOSE}{"a":1}`],
  ['a body with GET, in chunks', `transfer-encoding: chunked\r\n${CLOSE}3\r\nabc\r\n0\r\n\r\n`],
])('%s, which a request asks for besides, is ignored', async (_what, rest) => {
  const { status, body } = await ask(`GET ${PATH} HTTP/1.1\r\n${rest}`);
  expect([status, JSON.parse(body)]).toMatchObject([200, { domain: 'example.com' }]);
});

const statusesIn = (answer: string) =>
  [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const get = (target: string, fields = '') => `GET ${target} HTTP/1.1\r\nhost: a\r\n${fields}\r\n`;

test('requests that are sent at once on one connection are answered in their order (RFC 9112, section 9.3.2)', async () => {
  const sent = [PATH, '/nothing', PATH].map((target, at) => get(target, `x-request-id: p-${at}\r\n`));
  const answer = await send(`${sent.join('')}GET / HTTP/1.1\r\n${CLOSE}`);
  expect(statusesIn(answer)).toEqual([200, 404, 200, 200]);
  expect([...answer.matchAll(/x-request-id: (p-\d)/g)].map(([, id]) => id)).toEqual(['p-0', 'p-1', 'p-2']);
});

test('what is no HTTP is rejected after the answers to the requests that came before it at once', async () => {
  const answer = await send(`${get(PATH)}${get('/nothing')}${get(PATH)}GARBAGE\r\n\r\n`);
  expect(statusesIn(answer)).toEqual([200, 404, 200, 400]);
  expect(answer).toContain('"domain":"example.com"');
});

test('what is no HTTP is rejected in the place of the answer where it is in the body of a request', async () => {
  const head = `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`;
  const broken = `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`;
  expect(statusesIn(await send(broken))).toEqual([400]);
  expect(statusesIn(await send(`${get(PATH)}${broken}`))).toEqual([200, 400]);
});

test.each([PATH, '/', '/graphql?query={__typename}'])('a body with GET is ignored: %s', async (path) => {
  const body = ' '.repeat(700_000);
  const chunked = `transfer-encoding: chunked\r\n${CLOSE}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  for (const sent of [`content-length: ${body.length}\r\n${CLOSE}${body}`, chunked]) {
    expect((await ask(`GET ${path} HTTP/1.1\r\n${sent}`)).status).toBe(200);
  }
});

const post = (fields: string, body: string) =>
  ask(`POST /graphql HTTP/1.1\r\ncontent-type: application/json\r\n${fields}\r\n${CLOSE}${body}`);

test('a body of GraphQL over 512 kB is rejected, also in an unknown number of chunks', async () => {
  const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
  for (const answer of [
    await post('transfer-encoding: chunked', `${chunk.repeat(9)}0\r\n\r\n`),
    await post('content-length: 600000', ' '.repeat(600_000)),
  ])
    expect([answer.status, codeOf(answer)]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
});

test('a body of GraphQL is counted as it is without its content coding', async () => {
  const pack = (body: string) => gzipSync(body).toString('latin1');
  const coded = (body: string, coding = 'gzip') =>
    post(`content-encoding: ${coding}\r\ncontent-length: ${body.length}`, body);
  expect((await coded(pack('{"query":"{ __typename }"}'))).status).toBe(200);
  const bomb = pack(' '.repeat(50_000_000));
  expect(bomb.length).toBeLessThan(100_000);
  expect((await coded(bomb)).status).toBe(413);
  expect((await coded('not gzip at all')).status).toBe(400);
  const unknown = await coded('x', 'compress');
  expect([unknown.status, codeOf(unknown)]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
});

test.each(['accept', 'accept-encoding'])('%s that is too long to be compared is ignored', async (field) => {
  const long = Array.from({ length: 200 }, (_, at) => `text/x${at};q=0.1`).join(', ');
  const body = '{"query":"{ __typename }"}';
  const { status, fields } = await post(`${field}: ${long}\r\ncontent-length: ${body.length}`, body);
  expect([status, fields.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
});
