import { expect, test, vi } from 'vitest';
import { TIME_LIMITS } from '../../src/http/server.js';
import { askRaw } from '../support/documented-fetch.js';
import { readRaw } from '../support/raw-http.js';
import { serviceOfFile } from '../support/service.js';

const LIMITS = { header: 300, request: 300, idle: 10_000, silence: 10_000, checkEvery: 50 };
const PATH = '/api/v1/domain/example.com';
const LONG = 'a'.repeat(20_000);

const service = serviceOfFile({
  timeLimits: { ...TIME_LIMITS, ...LIMITS },
  telemetry: { metricsPort: 0, metricsHost: '127.0.0.1', traces: false },
});

async function counted(series: string): Promise<number> {
  const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
  const line = metrics.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

const total = (api: string, operation: string, status: number) =>
  counted(`dms_http_requests_total{api="${api}",operation="${operation}",status="${status}"}`);

async function linesOf(id: string | undefined) {
  const find = () => service.logged.filter(({ requestId }) => requestId === id);
  await vi.waitFor(() => expect(find()).not.toEqual([]), { timeout: 60_000 });
  return find();
}

test.each([
  ['what is no HTTP', 400, 'INVALID_PARAMETER', 'GARBAGE\r\n\r\n'],
  ['too large header fields', 431, 'HEADERS_TOO_LARGE', `GET ${PATH} HTTP/1.1\r\nx: ${LONG}\r\n\r\n`],
  ['a header section without an end', 408, undefined, `GET ${PATH} HTTP/1.1\r\nx-request-id: a\r\n`],
  ['a connection that says nothing', 408, undefined, ''],
])('%s is %i before any request, logged once under its id, and counted', async (_, status, code, octets) => {
  const before = await total('none', 'unknown', status);
  const durations = 'dms_http_request_duration_seconds_count{api="none",operation="unknown"}';
  const timed = await counted(durations);
  const response = await askRaw(service.port, octets);
  const id = response.fields.get('x-request-id');
  expect([response.status, id]).toEqual([status, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  if (code !== undefined) expect(JSON.parse(response.body)).toMatchObject({ status, code });
  expect(await linesOf(id)).toEqual([expect.objectContaining({ status, msg: 'request rejected' })]);
  expect(await total('none', 'unknown', status)).toBe(before + 1);
  expect(await counted(durations), 'how long it took is not known').toBe(timed);
  expect(await counted('dms_http_requests_in_flight')).toBe(0);
});

const CHUNKED = 'host: a\r\ntransfer-encoding: chunked\r\n';
const BROKEN = '\r\nzz\r\n';
const JSON_TYPE = 'content-type: application/json\r\n';
const ANNOUNCED = `host: a\r\n${JSON_TYPE}content-length: 9\r\n`;

test.each([
  ['a broken chunk', 400, `GET ${PATH}`, CHUNKED, BROKEN, 'rest', 'Get domain'],
  ['a broken chunk', 400, 'POST /graphql', CHUNKED + JSON_TYPE, BROKEN, 'graphql', 'query'],
  ['a broken chunk', 400, 'GET /nothing', CHUNKED, BROKEN, 'page', 'page'],
  ['a body that does not end', 408, 'POST /graphql', ANNOUNCED, '\r\n{', 'graphql', 'query'],
  ['chunk extensions', 413, `GET ${PATH}`, CHUNKED, `\r\n1;${LONG}\r\n`, 'rest', 'Get domain'],
  ['trailers', 431, `GET ${PATH}`, CHUNKED, `\r\n0\r\nx: ${LONG}\r\n`, 'rest', 'Get domain'],
])(
  '%s is the rejection of its request, logged and counted once under the id that was sent: %i for %s',
  async (what, status, start, fields, body, api, operation) => {
    const id = `mine-${status}-${api}-${what.length}`;
    const before = await total(api, operation, status);
    const octets = `${start} HTTP/1.1\r\nx-request-id: ${id}\r\n${fields}${body}`;
    const response = await askRaw(service.port, octets);
    expect([response.status, response.fields.get('x-request-id')]).toEqual([status, id]);
    const [method, path] = start.split(' ');
    const lines = await linesOf(id);
    expect(lines).toEqual([expect.objectContaining({ method, path, status, msg: 'request' })]);
    expect(lines[0]).not.toHaveProperty('aborted');
    expect(await total(api, operation, status)).toBe(before + 1);
    expect(await total(api, operation, 0)).toBe(0);
    expect(await counted('dms_http_requests_in_flight')).toBe(0);
  },
);

test('what is rejected within its body is rejected without a body for HEAD (RFC 9110, section 9.3.2)', async () => {
  const received = await readRaw(service.port, `HEAD ${PATH} HTTP/1.1\r\n${CHUNKED}${BROKEN}`);
  expect(received).toMatch(/^HTTP\/1\.1 400 (?:.+\r\n)+\r\n$/);
});

test('a probe with a broken body, which has no line of its own in the log, is one of the rejections', async () => {
  const before = await total('none', 'unknown', 400);
  const octets = `GET /readyz HTTP/1.1\r\nx-request-id: probe\r\n${CHUNKED}${BROKEN}`;
  const response = await askRaw(service.port, octets);
  expect([response.status, response.fields.get('x-request-id')]).toEqual([400, 'probe']);
  expect(await linesOf('probe')).toEqual([expect.objectContaining({ status: 400, msg: 'request rejected' })]);
  expect(await total('none', 'unknown', 400)).toBe(before + 1);
});
