import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRecorder } from '../../src/recorder/recorder.js';
import { whileLocked } from '../support/locked-table.js';
import { observation } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

/** TXT records of so many kB together. */
function texts(domain: string, kilobytes: number) {
  return Array.from({ length: kilobytes }, (_, at) => ({
    ...{ host: domain, class: 'IN', type: 'TXT' },
    entries: [String(at), ...Array(4).fill('x'.repeat(190))],
  }));
}

const ADDRESSES = Array.from({ length: 5_001 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
const PARTS = ['a', 'b', 'c', 'd', 'e', 'f'];

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  await createRecorder(service.database.pool).record([
    observation({ domain: 'many.example', at: 1, records: ADDRESSES, headers: { server: 'nginx' } }),
    observation({ domain: 'small.example', at: 1, records: ['192.0.2.1'] }),
    observation({ domain: 'most.example', at: 1, records: ADDRESSES.slice(1) }),
    observation({ domain: 'long.example', at: 1, records: texts('long.example', 1_100) }),
    ...PARTS.map((part) =>
      observation({
        domain: `${part}.example`,
        at: 1,
        records: texts(`${part}.example`, 350),
      }),
    ),
  ]);
}, 60_000);
afterAll(() => service.stop());

interface Answer {
  readonly data: Record<string, Record<string, unknown> | null>;
  readonly errors?: readonly {
    readonly message: string;
    readonly path: readonly unknown[];
    readonly extensions: { readonly code: string };
  }[];
}

async function ask(query: string): Promise<Answer> {
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  expect(response.status).toBe(200);
  return JSON.parse(await response.text());
}

describe('a list in GraphQL that has no pages', () => {
  test.each([
    ['5,000 entries', 'many'],
    ['1 MB', 'long'],
  ])(
    'of more than %s is null, beside all other data, and its error names the connection',
    async (_what, name) => {
      const { data, errors } = await ask(
        `{ domain(name: "${name}.example") { name dnsRecords { __typename } httpHeaders { name } } }`,
      );
      const httpHeaders = name === 'many' ? [{ name: 'server' }] : [];
      expect(data).toEqual({ domain: { name: `${name}.example`, dnsRecords: null, httpHeaders } });
      expect(errors).toEqual([
        {
          message: expect.stringContaining('dnsRecordsConnection'),
          path: ['domain', 'dnsRecords'],
          extensions: { code: 'TOO_LARGE' },
        },
      ]);
    },
  );

  test('has 5,000 entries, or those of a longer one that a filter leaves', async () => {
    const { data, errors } = await ask(`{
      most: domain(name: "most.example") { dnsRecords { __typename } }
      many: domain(name: "many.example") { dnsRecords(types: ["TXT"]) { __typename } }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({ most: { dnsRecords: { length: 5_000 } }, many: { dnsRecords: [] } });
  });
});

test('of a response of more than 4 MB, the lists that come after are null, and those before are there', async () => {
  const fields = PARTS.flatMap((part) =>
    [0, 1].map(
      (time) =>
        `${part}${time}: domain(name: "${part}.example") { dnsRecords { ... on TxtRecord { txt entries } } }`,
    ),
  );
  const { data, errors = [] } = await ask(`{ ${fields.join(' ')} }`);
  const whole = Object.values(data).filter((domain) => domain?.['dnsRecords'] !== null);
  expect(whole.length).toBeGreaterThan(0);
  expect(errors.length).toBe(fields.length - whole.length);
  expect(errors.length).toBeGreaterThan(0);
  for (const { extensions, message } of errors) {
    expect(extensions.code).toBe('TOO_LARGE');
    expect(message).toContain('dnsRecordsConnection');
  }
  expect(JSON.stringify(whole).length).toBeLessThan(6 * 1024 ** 2);
});

test('hundreds of lists of a large history keep another client waiting for none of them', async () => {
  const lists = Array.from({ length: 490 }, (_, at) => `a${at}: dnsRecords(types: ["TXT"]) { __typename }`);
  const order: string[] = [];
  const large = ask(`{ domain(name: "many.example") { ${lists.join(' ')} } }`).then(({ errors }) => {
    expect(errors).toBeUndefined();
    order.push('large');
  });
  for (let time = 0; time < 10; time += 1) {
    await fetch(`${service.url}/api/v1/domain/small.example`).then((response) => response.text());
    order.push('small');
  }
  await large;
  // Each small one takes two statements at most, and the large one hundreds.
  expect(order.at(-1)).toBe('large');
});

const pagesOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `a${at}: changes(first: 1) { __typename }`).join(' ');

test.each([
  // More than may wait for a connection to the database.
  ['a domain', `{ domain(name: "many.example") { ${pagesOf(690)} } }`],
  ['the feed', `{ ${pagesOf(250)} }`],
])(
  'hundreds of pages of %s in one request are answered, and keep no other client waiting',
  async (_of, query) => {
    const order: string[] = [];
    const large = ask(query).then(({ errors }) => {
      expect(errors).toBeUndefined();
      order.push('large');
    });
    for (let time = 0; time < 10; time += 1) {
      const response = await fetch(`${service.url}/api/v1/domain/small.example`);
      expect(response.status).toBe(200);
      order.push('small');
    }
    await large;
    expect(order.at(-1)).toBe('large');
  },
);

test('REST gives a whole large history, which is that of the pages', async () => {
  const response = await fetch(`${service.url}/api/v1/domain/many.example`);
  const whole: { dnsRecords: unknown[] } = JSON.parse(await response.text());
  const found: unknown[] = [];
  let after = 'null';
  while (after !== '') {
    const { data } = await ask(`{ domain(name: "many.example") {
      dnsRecordsConnection(first: 500, after: ${after}) {
        nodes { ... on ARecord { host class type firstSeen removed ip } } pageInfo { hasNextPage endCursor }
      } } }`);
    const { nodes, pageInfo } = JSON.parse(JSON.stringify(data['domain']?.['dnsRecordsConnection']));
    found.push(...nodes);
    after = pageInfo.hasNextPage ? JSON.stringify(pageInfo.endCursor) : '';
  }
  expect(found).toHaveLength(5_001);
  const shown = found.map((record) => {
    const { firstSeen, removed, ...data } = Object(record);
    return { data, firstSeen, removed };
  });
  expect(whole.dnsRecords).toEqual(shown);
});

test('beside 100 requests of a client that wait, the next ones get 503 with Retry-After, and the others are answered', async () => {
  const get = () => fetch(`${service.url}/api/v1/domain/small.example`);
  let asked: Promise<Response>[] = [];
  await whileLocked(service.database.pool, async () => {
    asked = Array.from({ length: 120 }, get);
    const refused = await Promise.any(asked.map(refusal));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const graphql = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ domain(name: "small.example") { name } }' }),
    });
    expect([graphql.status, Number(graphql.headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  });
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(8);
});

async function refusal(response: Promise<Response>): Promise<Response> {
  const found = await response;
  if (found.status !== 503) throw new Error(`It is ${found.status}.`);
  return found;
}
