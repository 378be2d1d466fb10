import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRecorder } from '../../src/recorder/recorder.js';
import { observation } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ rateLimits: { anonymous: 4, token: 4 } });
  await createRecorder(service.database.pool).record([
    observation({ domain: 'example.com', at: 1, records: ['192.0.2.1'], headers: { server: 'nginx' } }),
  ]);
});
afterAll(() => service.stop());

interface Result {
  readonly data: object;
  readonly errors?: readonly { readonly path: string[]; readonly extensions: { readonly code: string } }[];
}

/** As a client with a rate limit of its own. */
async function ask(query: string) {
  const token = await service.createToken();
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  });
  const { data, errors = [] } = (await response.json()) as Result;
  const codes = errors.map(({ path, extensions }) => [path.join('.'), extensions.code] as const);
  return { data, codes: Object.fromEntries(codes) };
}

test('a field beyond the rate limit, and one with an invalid name, are null beside their errors and leave the others', async () => {
  const searches = [1, 2, 3].map((at) => `s${at}: searchDomains { nodes { name } }`).join(' ');
  const { data, codes } = await ask(`{
    good: domain(name: "example.com") { name }
    invalid: domain(name: "-") { name }
    ${searches}
    missing: dnsRecords(where: {}) { nodes { __typename } }
  }`);
  expect(data).toMatchObject({ good: { name: 'example.com' }, invalid: null, missing: null });
  expect(codes).toMatchObject({ invalid: 'INVALID_DOMAIN' });
  const limited = Object.keys(codes).filter((field) => codes[field] === 'RATE_LIMITED');
  expect(limited).not.toEqual([]);
  for (const field of limited) expect(data).toHaveProperty(field, null);
});

test('a list or page of a domain that cannot be given leaves its other fields', async () => {
  const { data, codes } = await ask(`{ domain(name: "example.com") {
    name
    dnsRecords(types: ["?"]) { __typename }
    dnsRecordsConnection(first: 0) { nodes { __typename } }
    httpHeadersConnection(after: "x") { nodes { name } }
    changes(first: 501) { nodes { id } }
    diff(from: "2024-01-02T00:00:00Z", to: "2024-01-01T00:00:00Z") { from }
    httpHeaders { value historyConnection(first: 0) { nodes { new } } }
  } }`);
  expect(data).toEqual({
    domain: {
      ...{ name: 'example.com', dnsRecords: null, dnsRecordsConnection: null, httpHeadersConnection: null },
      ...{ changes: null, diff: null, httpHeaders: [{ value: 'nginx', historyConnection: null }] },
    },
  });
  expect(codes).toEqual({
    ...{ 'domain.dnsRecords': 'INVALID_PARAMETER', 'domain.dnsRecordsConnection': 'INVALID_PARAMETER' },
    ...{ 'domain.httpHeadersConnection': 'INVALID_CURSOR', 'domain.changes': 'INVALID_PARAMETER' },
    ...{ 'domain.diff': 'INVALID_PARAMETER', 'domain.httpHeaders.0.historyConnection': 'INVALID_PARAMETER' },
  });
});
