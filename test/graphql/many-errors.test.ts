import { buildSchema, parse, validate } from 'graphql';
import { expect, test, vi } from 'vitest';
import { locateErrors } from '../../src/graphql/plugin.js';
import { aliases } from '../support/every-field.js';
import { insertDomain } from '../support/rows.js';
import { serviceOfFile } from '../support/service.js';

const DOMAINS = Array.from({ length: 20 }, (_, at) => `d${at}.example`);

const service = serviceOfFile({ role: 'api' }, async ({ database }) => {
  for (const name of DOMAINS) await insertDomain(database.pool, { name });
});

/** Aliases of a field that fails for each domain, with many line ends between them. */
const failing = (count: number, field: string) => aliases(count, field, '\n'.repeat(10));

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

test.each([
  ['by graphql-js', `domains(names: ${JSON.stringify(DOMAINS.slice(0, 3))})`, 300],
  ['compiled', 'domain(name: "d0.example")', 100],
])('errors of an operation have a path and no location: executed %s', async (_how, parent, count) => {
  const query = `query ($from: Timestamp!, $to: Timestamp!) { ${parent} { ${failing(100, DIFF)} } }`;
  const reads = await countReads(query, async () => {
    for (const _time of [1, 2, 3]) {
      const { status, errors } = await service.graphql(query, REVERSED);
      expect([status, errors.length]).toEqual([200, count]);
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
});

test('errors of an invalid document have their locations, and its lines are not counted for each', async () => {
  const query = `query ($from: Int) { domain(name: "d0.example") { ${failing(40, 'nothing')} } }`;
  const reads = await countReads(query, async () => {
    const { status, errors } = await service.graphql(query);
    expect([status, errors[1].locations]).toEqual([400, [{ line: 11, column: 1 }]]);
  });
  expect(reads).toBe(0);
});

test.each([
  ['line ends of each system', '{\r\n\n\r domain(name: "a") { nothing }\r other }'],
  ['a byte order mark', '\ufeff{\n  nothing }'],
  ['a text of several lines', '{ domain(name: """a\n\n  b""") { nothing } other }'],
  ['several places of one error', 'query A { __typename }\nquery A { a: __typename\na: domain(name: "x") }'],
  ['a description', '"""What\nit is for""" query A { nothing }'],
])('the errors of an invalid document have the locations that graphql-js tells: %s', (_what, query) => {
  const schema = buildSchema('type Query { domain(name: String!): Domain } type Domain { name: String }');
  const expected = validate(schema, parse(query)).map(({ locations }) => locations);
  expect(expected.length).toBeGreaterThan(0);
  const document = parse(query, { noLocation: true });
  const errors = validate(schema, document);
  locateErrors(errors, document, query);
  expect(errors.map(({ locations }) => locations)).toEqual(expected);
});

test('more errors than can be told are one, without the data beside them', async () => {
  const query = `query ($from: Timestamp!, $to: Timestamp!) {
    domains(names: ${JSON.stringify(DOMAINS)}) { ${failing(126, DIFF)} } }`;
  const message = 'The response has more than 2500 errors. Ask for less in one request.';
  for (const { status, data, errors } of await Promise.all(
    [1, 2, 3].map(() => service.graphql(query, REVERSED)),
  ))
    expect([status, data, errors]).toEqual([200, null, [{ message, extensions: { code: 'TOO_LARGE' } }]]);
});

test('a text that is no GraphQL is rejected with the place of the first error', async () => {
  const { status, errors } = await service.graphql('{\n  domain(');
  expect([status, errors]).toMatchObject([400, [{ locations: [{ line: 2, column: 10 }] }]]);
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
  const { status, errors = [] } = await service.graphql(query, { where });
  const messages = errors.map((error: { message: string }) => error.message);
  expect([status, messages]).toEqual([200, message === undefined ? [] : [expect.stringContaining(message)]]);
});
