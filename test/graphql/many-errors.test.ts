import { buildSchema, parse, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { locationsIn } from '../../src/graphql/plugins/errors.js';
import { insertDomain } from '../support/rows.js';
import { startTestService, type TestService } from '../support/service.js';

const DOMAINS = Array.from({ length: 20 }, (_, at) => `d${at}.example`);

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  for (const name of DOMAINS) await insertDomain(service.database.pool, { name });
});
afterAll(() => service.stop());

interface Answer {
  readonly data?: object;
  readonly errors: readonly {
    readonly locations?: unknown;
    readonly extensions: { readonly code: string };
  }[];
  readonly extensions?: { readonly cost: number };
}

async function ask(query: string, variables: object = {}) {
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const answer: Answer = JSON.parse(await response.text());
  return { status: response.status, ...answer };
}

/** Aliases of a field that fails for each domain, with many line ends between them. */
function failing(count: number, field: string): string {
  return Array.from({ length: count }, (_, at) => `a${at}: ${field}`).join('\n'.repeat(10));
}

const DIFF = 'diff(from: $from, to: $to) { dnsRecordsAdded { __typename } }';
const REVERSED = { from: '2024-02-01T00:00:00Z', to: '2024-01-01T00:00:00Z' };

/** How often regular expressions are applied to a text while something is done. */
async function countReads(text: string, work: () => Promise<unknown>): Promise<number> {
  let reads = 0;
  const { exec } = RegExp.prototype;
  const spy = vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, string) {
    if (string === text) reads += 1;
    return Reflect.apply(exec, this, [string]);
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return reads;
}

describe('the lines of a long text are not counted again', () => {
  test.each([
    ['by graphql-js', `domains(names: ${JSON.stringify(DOMAINS.slice(0, 3))})`, 1],
    ['compiled', 'domain(name: "d0.example")', 3],
  ])(
    'for each error of an operation, which has its path and no location: executed %s',
    async (_how, parent, times) => {
      const query = `query ($from: Timestamp!, $to: Timestamp!) { ${parent} { ${failing(100, DIFF)} } }`;
      const reads = await countReads(query, async () => {
        for (let time = 0; time < times; time += 1) {
          const { status, errors } = await ask(query, REVERSED);
          expect(status).toBe(200);
          expect(errors).toHaveLength(times === 1 ? 300 : 100);
          for (const error of errors) {
            expect(error).toEqual({
              message: expect.stringContaining('is later than'),
              path: expect.arrayContaining([expect.stringMatching(/^a\d+$/)]),
              extensions: { code: 'INVALID_PARAMETER' },
            });
          }
        }
      });
      expect(reads).toBe(0);
    },
  );

  test('for each error of an invalid document, which has its location', async () => {
    const query = `query ($from: Int) { domain(name: "d0.example") { ${failing(40, 'nothing')} } }`;
    const reads = await countReads(query, async () => {
      const { status, errors } = await ask(query);
      expect(status).toBe(400);
      expect(errors[1]).toMatchObject({ locations: [{ line: 11, column: 1 }] });
    });
    expect(reads).toBe(0);
  });
});

test.each([
  ['line ends of each system', '{\r\n\n\r domain(name: "a") { nothing }\r other }'],
  ['a byte order mark', '\ufeff{\n  nothing }'],
  ['a text of several lines', '{ domain(name: """a\n\n  b""") { nothing } other }'],
  [
    'several places of one error',
    'query A { __typename }\nquery A { a: __typename\na: domain(name: "x") { name } }',
  ],
  ['a description', '"""What\nit is for""" query A { nothing }'],
])('the errors of an invalid document have the locations that graphql-js tells: %s', (_what, query) => {
  const schema = buildSchema('type Query { domain(name: String!): Domain } type Domain { name: String }');
  const expected = validate(schema, parse(query)).map(({ locations }) => locations);
  expect(expected.length).toBeGreaterThan(0);
  const document = parse(query, { noLocation: true });
  const locate = locationsIn(document, query);
  expect(validate(schema, document).map((error) => locate(error))).toEqual(expected);
});

test('more errors than can be told are one, without the data beside them', async () => {
  const query = `query ($from: Timestamp!, $to: Timestamp!) {
    domains(names: ${JSON.stringify(DOMAINS)}) { ${failing(126, DIFF)} } }`;
  const answers = [1, 2, 3].map(() => ask(query, REVERSED));
  for (const answer of await Promise.all(answers)) {
    expect(answer).toEqual({
      status: 200,
      data: null,
      errors: [
        {
          message: 'The response has more than 2500 errors. Ask for less in one request.',
          extensions: { code: 'TOO_LARGE' },
        },
      ],
      extensions: { cost: expect.any(Number) },
    });
  }
});

test('a text that is no GraphQL is rejected with the place of the first error', async () => {
  const { status, errors } = await ask('{\n  domain(');
  expect(status).toBe(400);
  expect(errors).toMatchObject([{ locations: [{ line: 2, column: 10 }] }]);
});
/** In characters: a longer one is rejected by its length. */
const LONG = 240_000;

test.each([
  ['an address', 'DnsRecord', { ip: 'a'.repeat(LONG) }, 'is not an IP'],
  ['a network', 'DnsRecord', { network: `${'1'.repeat(LONG)}/8` }, 'is not a network'],
  ['the value of a header', 'HttpHeader', { name: 'a', value: `a${' '.repeat(LONG)}a` }, undefined],
])('a search is answered at once however long a text is given as %s', async (_what, kind, where, message) => {
  const field = kind === 'DnsRecord' ? 'dnsRecords' : 'httpHeaders';
  const query = `query ($where: ${kind}Filter!) { ${field}(where: $where) { nodes { __typename } } }`;
  const { status, errors } = await ask(query, { where });
  expect([status, errors]).toEqual([
    200,
    message === undefined
      ? undefined
      : [expect.objectContaining({ message: expect.stringContaining(message) })],
  ]);
});
