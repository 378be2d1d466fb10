import { request as httpRequest, type IncomingMessage } from 'node:http';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { domainAliases, EVERY_FIELD } from '../../support/every-field.js';
import { insertDnsRecords, insertDomain } from '../../support/rows.js';
import { startTestService, type TestService } from '../../support/service.js';

const GRAPHQL = { maxCost: 10_000, introspection: true, persistedOnly: undefined };

let service: TestService;
let strict: TestService;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  strict = await startTestService({ role: 'api', database: service.database, graphql: GRAPHQL });
  await insertDomain(service.database.pool, { name: 'd0.example' });
});
afterAll(async () => {
  await strict.stop();
  await service.stop();
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface Answer {
  readonly data?: Record<string, unknown>;
  readonly errors?: { message: string; extensions: { code: string } }[];
  readonly extensions?: { cost: number; estimatedCost: number };
}

/** Sends a query, and counts the statements that it leads to. */
async function ask({ url }: TestService, body: object, accept = 'application/json') {
  const statements = vi.spyOn(pg.Pool.prototype, 'query');
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const sent = statements.mock.calls.length;
  statements.mockRestore();
  const answer: Answer = JSON.parse(text);
  const type = response.headers.get('content-type');
  return { status: response.status, type, answer, statements: sent };
}

function aliases(count: number, field: string): string {
  return `{ ${Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')} }`;
}

test('100 aliases of domain, each with every field of every type, are a normal request', async () => {
  const { status, answer } = await ask(service, { query: domainAliases(100, EVERY_FIELD) });
  expect(status).toBe(200);
  expect(answer.errors).toBeUndefined();
  expect(Object.keys(answer.data ?? {})).toHaveLength(100);
  expect(answer.data?.['d0']).toMatchObject({ name: 'd0.example' });
  expect(answer.extensions).toEqual({ cost: 100, estimatedCost: 59_100 });
});

describe('a request at a limit is answered', () => {
  test.each([
    ['200 fields at the root', aliases(200, '__typename')],
    ['500 aliases', `{ domain(name: "d0.example") ${aliases(500, '__typename')} }`],
    [
      '500 directives',
      `{ domain(name: "d0.example") ${aliases(250, 'name @skip(if: false) @include(if: true)')} }`,
    ],
    ['20 levels', `{ __schema { queryType ${'{ ofType '.repeat(17)} { name ${'}'.repeat(20)}`],
    ['a name of 200 characters', `{ ${'n'.repeat(200)}: __typename }`],
    ['100 levels of fragments', `${'{ ... '.repeat(99)}{ __typename ${'}'.repeat(100)}`],
  ])('%s', async (_limit, query) => {
    const { status, answer } = await ask(service, { query });
    expect(answer.errors).toBeUndefined();
    expect(status).toBe(200);
  });
});

describe('a request beyond a limit gets 400 QUERY_TOO_COMPLEX, and the database is not queried', () => {
  const domain = (selection: string) => `{ domain(name: "d0.example") ${selection} }`;
  test.each([
    ['tokens', domain(`{ ${'name '.repeat(30_000)} }`)],
    ['50,000 aliases', aliases(50_000, 'a')],
    ['aliases of __typename', domain(aliases(501, '__typename'))],
    ['fields at the root', aliases(201, 'domain(name: "d0.example") { name }')],
    ['directives', domain(`{ name ${'@skip(if: false) '.repeat(501)} }`)],
    ['levels of fields', `{ __schema { queryType ${'{ ofType '.repeat(18)} { name ${'}'.repeat(21)}`],
    ['levels of brackets', `${'{ a '.repeat(10_000)}${'}'.repeat(10_000)}`],
    ['the same fields again and again', domain(`{ ${'name '.repeat(2000)} }`)],
    ['an alias of 201 characters', domain(`{ ${'n'.repeat(201)}: name }`)],
    ['a name of an operation of 480,000 characters', `query ${'n'.repeat(480_000)} { __typename }`],
    ['a name of a fragment of 201 characters', `{ ...${'n'.repeat(201)} }`],
    ['cost', domainAliases(180, EVERY_FIELD)],
  ])('%s', async (_limit, query) => {
    const { status, type, answer, statements } = await ask(service, { query });
    expect(status).toBe(400);
    expect(type).toBe('application/json; charset=utf-8');
    expect(answer.errors).toHaveLength(1);
    expect(answer).toMatchObject({
      errors: [{ message: expect.stringMatching(/\. Ask for less in one request\.$/) }],
    });
    expect(answer.errors?.[0]?.extensions).toEqual({ code: 'QUERY_TOO_COMPLEX' });
    expect(answer.data).toBeUndefined();
    expect(statements).toBe(0);
  });

  test('also by GET, by HEAD, and in the other media type', async () => {
    const charset = 'application/graphql-response+json; charset=utf-8';
    const { status, type } = await ask(service, { query: aliases(201, '__typename') }, charset);
    expect([status, type]).toEqual([400, charset]);
    const url = `${service.url}/graphql?query=${encodeURIComponent(aliases(201, '__typename'))}`;
    const headers = { accept: 'application/graphql-response+json' };
    const got = await fetch(url, { headers });
    expect(got.status).toBe(400);
    expect(got.headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
    expect(await got.json()).toMatchObject({ errors: [{ extensions: { code: 'QUERY_TOO_COMPLEX' } }] });
    expect((await fetch(url, { method: 'HEAD', headers })).status).toBe(400);
  });

  test('several requests in one are not answered', async () => {
    const { status, answer, statements } = await ask(service, [{ query: '{ __typename }' }]);
    expect([status, answer.data, statements]).toEqual([400, undefined, 0]);
  });
});

describe('an answer that would be too long is rejected, whatever its query costs', () => {
  beforeAll(async () => {
    const { pool } = service.database;
    const texts = ['a', 'b'].map((letter) => ({
      type: 'TXT',
      rdata: { txt: letter.repeat(50_000), entries: [] },
    }));
    await insertDomain(pool, { name: 'texts.example' });
    await insertDnsRecords(pool, 'texts.example', texts);
    await insertDomain(pool, { name: 'many.example' });
    await pool.query(
      `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
       SELECT 'many.example', 0, 'A', n, 'many.example', 'IN', json_build_object('ip', '192.0.2.1')
         FROM generate_series(1, 10000) AS n`,
    );
  });

  const records = (domain: string, selection: string) =>
    `{ domain(name: "${domain}") { name dnsRecords { ${selection} } } }`;

  test.each(['the first time', 'and as often as it comes'])('by its octets: %s', async (occasion) => {
    const query = records('texts.example', `... on TxtRecord ${aliases(120, 'txt')}`);
    for (let time = 0; time < (occasion === 'the first time' ? 1 : 34); time += 1) {
      const { status, answer } = await ask(service, { query });
      expect(status).toBe(400);
      expect(answer.errors).toEqual([
        {
          message:
            'The response would have more than 10000000 octets: select fewer domains, types, names or fields in one request. Long lists have pages: dnsRecordsConnection, httpHeadersConnection, historyConnection.',
          extensions: { code: 'QUERY_TOO_COMPLEX' },
        },
      ]);
      expect(answer.data).toBeUndefined();
    }
    const modest = await ask(service, {
      query: records('texts.example', `... on TxtRecord ${aliases(90, 'txt')}`),
    });
    expect([modest.status, modest.answer.errors]).toEqual([200, undefined]);
  });

  test.each([
    ['control characters', '\u0001', 6],
    ['characters of several octets', '€', 3],
    ['quotation marks', '"', 2],
  ])('by the octets that JSON has for %s', async (_which, character, octets) => {
    const rdata = JSON.stringify({ txt: character.repeat(20_000), entries: [] });
    await service.database.pool.query(
      `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types)
       VALUES ('escaped.example', 1, 0, 0, 0, '{}') ON CONFLICT DO NOTHING`,
    );
    await service.database.pool.query("DELETE FROM dns_record WHERE domain = 'escaped.example'");
    await service.database.pool.query(
      `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
       VALUES ('escaped.example', 0, 'TXT', 0, 'escaped.example', 'IN', $1)`,
      [rdata],
    );
    const most = Math.floor(10_000_000 / (20_000 * octets)) - 1;
    const statusOf = async (count: number) => {
      const query = records('escaped.example', `... on TxtRecord ${aliases(count, 'txt')}`);
      return (await ask(service, { query })).status;
    };
    expect(await statusOf(Math.min(most, 490))).toBe(200);
    if (most + 2 <= 490) expect(await statusOf(most + 2)).toBe(400);
  });

  test.each(['the first time', 'and as often as it comes'])(
    'by the values of its lists: %s',
    async (occasion) => {
      const query = records('many.example', `... on DnsRecordEntry ${aliases(145, 'host')}`);
      for (let time = 0; time < (occasion === 'the first time' ? 1 : 34); time += 1) {
        const { status, answer } = await ask(service, { query });
        expect(status).toBe(400);
        expect(answer).toEqual({
          errors: [
            {
              message:
                'The response would have more than 250000 values: select fewer domains, types, names or fields in one request. Long lists have pages: dnsRecordsConnection, httpHeadersConnection, historyConnection.',
              extensions: { code: 'QUERY_TOO_COMPLEX' },
            },
          ],
          extensions: { cost: expect.any(Number), estimatedCost: expect.any(Number) },
        });
      }
      const modest = await ask(service, {
        query: records('many.example', `... on DnsRecordEntry ${aliases(20, 'host')}`),
      });
      expect(modest.answer.errors).toBeUndefined();
      expect(modest.answer.data).toMatchObject({ domain: { dnsRecords: { length: 10000 } } });
    },
  );

  test('where a record counts as many values as there are fields of its type, and not of all types', async () => {
    const { answer } = await ask(service, { query: `{ domain(name: "many.example") { ${EVERY_FIELD} } }` });
    expect(answer.errors).toBeUndefined();
    expect(answer.data).toMatchObject({ domain: { dnsRecords: { length: 10000 } } });
  });

  test('and not in REST, which selects each value once', async () => {
    const response = await fetch(`${service.url}/api/v1/domain/many.example`);
    expect(await response.json()).toMatchObject({ dnsRecords: { length: 10000 } });
  });
});

test.each([
  ['an operation name', { query: 'query A { __typename }', operationName: 'n'.repeat(480_000) }],
  [
    'a variable',
    { query: 'query ($n: Int!) { domain(name: $n) { name } }', variables: { n: 'n'.repeat(480_000) } },
  ],
  ['a literal', { query: `{ domain(name: ["${'n'.repeat(480_000)}"]) { name } }` }],
  ['a domain', { query: `{ domain(name: "${'n'.repeat(480_000)}") { name } }` }],
])('%s of 480,000 characters is not repeated in the answer', async (_what, body) => {
  const { answer } = await ask(service, body);
  expect(answer.errors?.length).toBeGreaterThan(0);
  expect(JSON.stringify(answer).length).toBeLessThan(5_000);
});

describe('the cost follows the variables', () => {
  const query =
    'query Q($types: [String!], $all: Boolean!) { domain(name: "d0.example") { dnsRecords(types: $types) @include(if: $all) { ... on DnsRecordEntry { host type } } } }';
  const variables = (count: number, all = true) => ({ types: Array(count).fill('A'), all });

  test('and the maximum is that of GRAPHQL_MAX_COST', async () => {
    const most = (10_000 - 11) / 2;
    const within = await ask(strict, { query, variables: variables(Math.floor(most)) });
    expect(within.status).toBe(200);
    expect(within.answer.extensions).toEqual({ cost: 1, estimatedCost: 9999 });
    const beyond = await ask(strict, { query, variables: variables(Math.ceil(most)) });
    expect(beyond.status).toBe(400);
    expect(beyond.statements).toBe(0);
    expect(beyond.answer).toEqual({
      errors: [
        {
          message: 'The estimated cost of the query is 10001; 10000 is allowed. Ask for less in one request.',
          extensions: { code: 'QUERY_TOO_COMPLEX' },
        },
      ],
      extensions: { estimatedCost: 10_001 },
    });
    const leftOut = await ask(strict, { query, variables: variables(6000, false) });
    expect(leftOut.answer.extensions).toEqual({ cost: 1, estimatedCost: 10 });
  });

  test('for a request that comes again and again, byte for byte', async () => {
    const frequent =
      'query Often($types: [String!]) { domain(name: "d0.example") { dnsRecords(types: $types) { ... on DnsRecordEntry { host type } } } }';
    const answers = new Set<string>();
    for (let time = 0; time < 40; time += 1) {
      const small = await ask(strict, { query: frequent, variables: { types: ['A', 'MX'] } });
      const large = await ask(strict, { query: frequent, variables: { types: Array(5000).fill('A') } });
      answers.add(JSON.stringify([small.status, small.answer, large.status, large.answer, large.statements]));
    }
    expect([...answers]).toHaveLength(1);
    expect([...answers][0]).toContain('"extensions":{"cost":1,"estimatedCost":15}');
    expect([...answers][0]).toContain('"extensions":{"estimatedCost":10011}');
  });

  test('REST selects what it always selects, and is not limited', async () => {
    const tiny = await startTestService({
      role: 'api',
      database: service.database,
      graphql: { ...GRAPHQL, maxCost: 1 },
    });
    try {
      expect((await fetch(`${tiny.url}/api/v1/domain/d0.example`)).status).toBe(200);
      expect((await ask(tiny, { query: '{ domain(name: "d0.example") { name } }' })).status).toBe(400);
    } finally {
      await tiny.stop();
    }
  });
});

describe('the variables of a request', () => {
  const query =
    'query ($types: [String!]) { domain(name: "d0.example") { dnsRecords(types: $types) { __typename } } }';
  const UNTIL_COMPILED = 36;

  test('may have 11,000 values, and more are rejected, however often they come', async () => {
    // The object and the list are two of them.
    const within = { query, variables: { types: Array(10_998).fill('A') } };
    const beyond = { query, variables: { types: Array(10_999).fill('A') } };
    for (let time = 0; time < UNTIL_COMPILED; time += 1) {
      expect((await ask(service, within)).status).toBe(200);
      const { status, answer, statements } = await ask(service, beyond);
      expect([status, statements]).toEqual([400, 0]);
      expect(answer.errors?.[0]).toMatchObject({
        message: 'The variables have more than 11000 values. Ask for less in one request.',
        extensions: { code: 'QUERY_TOO_COMPLEX' },
      });
    }
  });

  test('give 21 errors at most, however many are wrong and however often they come', async () => {
    const answers = new Set<string>();
    for (let time = 0; time < UNTIL_COMPILED; time += 1) {
      const { status, answer } = await ask(service, { query, variables: { types: Array(10_000).fill(1) } });
      expect(answer.errors).toHaveLength(21);
      answers.add(JSON.stringify([status, answer]));
    }
    expect([...answers]).toHaveLength(1);
  });
});

describe('a client whose limit for documents is used up', () => {
  let impatient: TestService;
  beforeAll(async () => {
    const penaltyLimits = { failures: 60, documents: 3 };
    impatient = await startTestService({ role: 'api', database: service.database, penaltyLimits });
  });
  afterAll(() => impatient.stop());

  test.each([
    ['a large body', { 'content-length': 500_000 }],
    ['a body that may be large once it is unpacked', { 'content-length': 500, 'content-encoding': 'gzip' }],
    ['a body of unknown length', { 'transfer-encoding': 'chunked' }],
  ])('gets 429 before %s is read', async (_what, fields) => {
    const rejected = { query: '{ nothing }' };
    for (let time = 0; time < 3; time += 1)
      expect([400, 429]).toContain((await ask(impatient, rejected)).status);
    const request = httpRequest({
      port: impatient.port,
      path: '/graphql',
      method: 'POST',
      headers: { 'content-type': 'application/json', ...fields },
    });
    // The body never comes.
    request.flushHeaders();
    const response = await new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
    request.on('error', () => undefined);
    request.destroy();
    expect(response.statusCode).toBe(429);
    expect(response.headers['retry-after']).toMatch(/^\d+$/);
  });

  const withNewClient = async (use: (client: TestService) => Promise<void>) => {
    const penaltyLimits = { failures: 60, documents: 3 };
    const client = await startTestService({ role: 'api', database: service.database, penaltyLimits });
    await use(client).finally(client.stop);
  };

  test('has used up as much by one large document as by many small ones', () =>
    withNewClient(async (client) => {
      const large = { query: `{ nothing } # ${'.'.repeat(3 * 2_048)}` };
      expect((await ask(client, large)).status).toBe(400);
      expect((await ask(client, { query: '{ nothing }' })).status).toBe(429);
    }));

  test('gets 429 for other large bodies that it has sent at once, whose JSON is not parsed', () =>
    withNewClient(async ({ url }) => {
      const headers = { 'content-type': 'application/json' };
      const body = `{ "query": ${' '.repeat(500_000)}`;
      const send = () => fetch(`${url}/graphql`, { method: 'POST', headers, body });
      const answers = await Promise.all(Array.from({ length: 8 }, send));
      expect(answers.map(({ status }) => status).sort()).toEqual([400, ...Array(7).fill(429)]);
    }));
});
