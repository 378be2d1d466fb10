import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { TIME_LIMITS } from '../../src/http/server.js';
import { requireDocumentedRaw } from '../support/documented-raw.js';
import { exchangeRaw, type RawResponse } from '../support/raw-http.js';
import { startTestService, type TestService } from '../support/service.js';

const LIMITS = {
  ...TIME_LIMITS,
  ...{ header: 300, request: 300, idle: 10_000, silence: 10_000, checkEvery: 50 },
};
const PATH = '/api/v1/domain/example.com';

let service: TestService;

beforeAll(async () => {
  const telemetry = { metricsPort: 0, metricsHost: '127.0.0.1', traces: false };
  service = await startTestService({ timeLimits: LIMITS, telemetry });
});
afterAll(() => service.stop());

async function ask(octets: string): Promise<RawResponse> {
  const response = await exchangeRaw(service.port, Buffer.from(octets));
  await requireDocumentedRaw(octets, response);
  return response;
}

async function counted(labels: string): Promise<number> {
  const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
  const line = metrics.split('\n').find((each) => each.startsWith(`${labels} `));
  return Number(line?.slice(labels.length + 1) ?? 0);
}

const total = (api: string, operation: string, status: number) =>
  counted(`dms_http_requests_total{api="${api}",operation="${operation}",status="${status}"}`);

const linesOf = (id: string | undefined) => service.logged.filter(({ requestId }) => requestId === id);

describe('what is rejected before its header section is complete', () => {
  test.each([
    ['what is no HTTP', 400, 'GARBAGE\r\n\r\n'],
    ['header fields that are too large', 431, `GET ${PATH} HTTP/1.1\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`],
    [
      'a header section that does not come to its end',
      408,
      `GET ${PATH} HTTP/1.1\r\nhost: a\r\nx-request-id: a\r\n`,
    ],
    ['a connection that says nothing', 408, ''],
  ])(
    '%s is one line of the log under the id of the answer, and is counted: %i',
    async (_what, status, octets) => {
      const before = await total('none', 'unknown', status);
      const durations = 'dms_http_request_duration_seconds_count{api="none",operation="unknown"}';
      const timed = await counted(durations);
      const response = await ask(octets);
      const id = response.fields.get('x-request-id');
      expect([response.status, id]).toEqual([status, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
      expect(linesOf(id)).toEqual([expect.objectContaining({ status, msg: 'request rejected' })]);
      expect(await total('none', 'unknown', status)).toBe(before + 1);
      expect(await counted(durations), 'how long it took is not known').toBe(timed);
      expect(await counted('dms_http_requests_in_flight')).toBe(0);
    },
  );
});

describe('what is rejected within its body', () => {
  const CHUNKED = 'host: a\r\ntransfer-encoding: chunked\r\n';
  const BROKEN = '\r\nzz\r\n';
  const JSON_TYPE = 'content-type: application/json\r\n';

  test.each([
    ['a broken chunk', 400, `GET ${PATH}`, CHUNKED, BROKEN, 'rest', 'Get domain'],
    ['a broken chunk', 400, 'POST /graphql', CHUNKED + JSON_TYPE, BROKEN, 'graphql', 'query'],
    ['a broken chunk', 400, 'GET /nothing', CHUNKED, BROKEN, 'page', 'page'],
    [
      'an end that does not come',
      408,
      'POST /graphql',
      `host: a\r\n${JSON_TYPE}content-length: 9\r\n`,
      '\r\n{',
      'graphql',
      'query',
    ],
    [
      'chunk extensions',
      413,
      `GET ${PATH}`,
      CHUNKED,
      `\r\n1;${'a'.repeat(20_000)}\r\n`,
      'rest',
      'Get domain',
    ],
    ['trailers', 431, `GET ${PATH}`, CHUNKED, `\r\n0\r\nx: ${'a'.repeat(20_000)}\r\n`, 'rest', 'Get domain'],
  ])(
    'for %s is one request with that status, under the id that was sent: %i for %s',
    async (what, status, start, fields, body, api, operation) => {
      const id = `mine-${status}-${api}-${what.length}`;
      const before = await total(api, operation, status);
      const response = await ask(`${start} HTTP/1.1\r\nx-request-id: ${id}\r\n${fields}${body}`);
      expect([response.status, response.fields.get('x-request-id')]).toEqual([status, id]);
      const [method, path] = start.split(' ');
      await vi.waitFor(() => expect(linesOf(id)).not.toEqual([]), { timeout: 60_000 });
      expect(linesOf(id)).toEqual([expect.objectContaining({ method, path, status, msg: 'request' })]);
      expect(linesOf(id)[0]).not.toHaveProperty('aborted');
      expect(await total(api, operation, status)).toBe(before + 1);
      expect(await total(api, operation, 0)).toBe(0);
      expect(await counted('dms_http_requests_in_flight')).toBe(0);
    },
  );

  test('has a new id in the answer and in the log where the client has sent none', async () => {
    const response = await ask(`GET ${PATH} HTTP/1.1\r\n${CHUNKED}${BROKEN}`);
    const id = response.fields.get('x-request-id');
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    await vi.waitFor(() => expect(linesOf(id)).toMatchObject([{ status: 400, msg: 'request' }]), {
      timeout: 60_000,
    });
  });

  test('is rejected without a body for HEAD (RFC 9110, section 9.3.2)', async () => {
    const socket = connect(service.port, '127.0.0.1');
    const received = text(socket);
    socket.write(`HEAD ${PATH} HTTP/1.1\r\n${CHUNKED}${BROKEN}`);
    expect(await received).toMatch(/^HTTP\/1\.1 400 (?:.+\r\n)+\r\n$/);
  });

  test('at a probe, which has no line of its own in the log, is one of the rejections', async () => {
    const before = await total('none', 'unknown', 400);
    const response = await ask(`GET /readyz HTTP/1.1\r\nx-request-id: probe\r\n${CHUNKED}${BROKEN}`);
    expect([response.status, response.fields.get('x-request-id')]).toEqual([400, 'probe']);
    expect(linesOf('probe')).toEqual([expect.objectContaining({ status: 400, msg: 'request rejected' })]);
    expect(await total('none', 'unknown', 400)).toBe(before + 1);
  });
});
