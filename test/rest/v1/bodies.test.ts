import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { presentDnsRecord } from '../../../src/rest/v1/presenters/dns-records.js';
import { EVERY_BODY, EVERYTHING, insertEverything } from '../../support/every-record-type.js';
import { insertDnsRecords, insertDomain } from '../../support/rows.js';
import { bearer, startTestService, type TestService } from '../../support/service.js';

let service: TestService;
let token: string;

beforeAll(async () => {
  service = await startTestService();
  await insertEverything(service.database.pool);
  await insertDomain(service.database.pool, { name: 'empty.example' });
  token = await service.createToken();
});
afterAll(() => service.stop());

function get(path: string, headers: Record<string, string> = bearer(token)): Promise<Response> {
  return fetch(`${service.url}/api/v1/domain/${path}`, { headers });
}

describe('for a domain with a record of every type the body is, byte for byte,', () => {
  test.each([
    ['Get domain', ''],
    ['Domain DNS info', '/dns'],
    ['Domain details', '/details'],
    ['Domain HTTP headers', '/headers'],
  ] as const)('that of %s', async (_operation, path) => {
    const response = await get(EVERYTHING + path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.text()).toBe(EVERY_BODY[path]);
  });
});

test('Get domain needs no token', async () => {
  const response = await get(EVERYTHING, {});
  expect(await response.text()).toBe(EVERY_BODY['']);
});

test('a domain without records and headers has empty lists and no changes', async () => {
  const times = '"created":"2024-03-01T10:20:30.123456Z","lastUpdate":"2024-03-01T10:20:30.123456Z"';
  expect(await (await get('empty.example')).text()).toBe(
    `{"domain":"empty.example",${times},"dnsRecords":[],"httpHeaders":[]}`,
  );
  expect(await (await get('empty.example/details')).text()).toBe(
    `{"domain":"empty.example","unicodeName":"empty.example","registrableDomain":"empty.example",${times},"lastChange":"2024-03-01T10:20:30.123456Z","dnsRecordCount":0,"httpHeaderCount":0,"changeCount":0}`,
  );
});

test('rdata that is none of its type, stored before the type had fields, is shown as the text that it is', async () => {
  const data = String.raw`\# 1 00`;
  const stay = { firstSeen: '2024-03-01T10:20:30.123456Z', removed: null };
  const owner = { host: 'a.example', class: 'IN', type: 'MX' };
  expect([presentDnsRecord({ ...owner, ...stay, data })]).toEqual([{ data: { ...owner, data }, ...stay }]);
  await insertDomain(service.database.pool, { name: 'text.example' });
  await insertDnsRecords(service.database.pool, 'text.example', [{ type: 'MX', rdata: { data } }]);
  const query =
    '{ domain(name: "text.example") { dnsRecords { ... on DnsRecordEntry { type } ... on OtherRecord { data } } } }';
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  expect(await response.json()).toMatchObject({ data: { domain: { dnsRecords: [{ type: 'MX', data }] } } });
});

describe('a HEAD request', () => {
  test.each(['', '/dns', '/details', '/headers'] as const)(
    'has the header fields of GET and no body: %s',
    async (path) => {
      const url = `${service.url}/api/v1/domain/${EVERYTHING}${path}`;
      const headers = { ...bearer(token), 'accept-encoding': 'identity' };
      const head = await fetch(url, { method: 'HEAD', headers });
      expect(head.status).toBe(200);
      expect(await head.text()).toBe('');
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(EVERY_BODY[path])));
      expect(head.headers.get('content-type')).toBe('application/json; charset=utf-8');
    },
  );

  test('for a domain that is not recorded is a 404 without a body', async () => {
    const url = `${service.url}/api/v1/domain/nothing.example`;
    const [head, got] = await Promise.all([fetch(url, { method: 'HEAD' }), fetch(url)]);
    expect(head.status).toBe(404);
    expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'));
    expect(await head.text()).toBe('');
  });
});

describe('the name in the path', () => {
  test.each([
    ['in upper case', 'XN--BCHER-KVA.Example.CO.UK'],
    ['with a final dot', `${EVERYTHING}.`],
    ['in Unicode', 'b%C3%BCcher.example.co.uk'],
    ['in Unicode, upper case and with a full-width dot', 'B%C3%9CCHER%EF%BC%8Eexample.co.uk'],
    ['with needless escapes', '%78n--bcher-kva.example.co%2Euk'],
  ])('may be %s; the body has its canonical form', async (_form, name) => {
    expect(await (await get(name)).text()).toBe(EVERY_BODY['']);
  });
});

test('query parameters that are unknown are rejected, with the names of those that are known: a misspelt one changes nothing unseen', async () => {
  const response = await get(`${EVERYTHING}?att=2024-03-01T00:00:00Z`);
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({
      code: 'INVALID_PARAMETER',
      detail: 'Unknown query parameter "att". This operation has: at.',
    }),
  ]);
  expect(await (await get(`${EVERYTHING}?`)).text()).toBe(EVERY_BODY['']);
});

test('the same state gives the same bytes', async () => {
  const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await get(EVERYTHING)).text()));
  expect(new Set(bodies)).toEqual(new Set([EVERY_BODY['']]));
});
