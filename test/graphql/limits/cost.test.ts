import { describe, expect, test } from 'vitest';
import { PRICES } from '../../../src/graphql/limits/cost.js';
import { costOf as costIn, examine } from '../../../src/graphql/limits/examine.js';
import { QueryTooComplexError } from '../../../src/graphql/limits/limits.js';
import { createSchema } from '../../../src/graphql/schema.js';
import { atOnce } from '../../support/at-once.js';

const schema = createSchema();
const MAX_COST = 100_000;
const TYPES = Object.keys(schema.getTypeMap()).length;

function costOf(source: string, variables = {}, operationName: string | null = null): number | undefined {
  return costIn(atOnce(examine(schema, source)), operationName, variables, MAX_COST);
}

/** The cost of what is selected of one domain, without the domain's own. */
function inDomain(selection: string, variables = {}, declared = ''): number {
  return (costOf(`query ${declared} { domain(name: "a.example") { ${selection} } }`, variables) ?? 0) - 10;
}

describe('a query costs', () => {
  test.each([
    ['1 for a field', '{ __typename }', 1],
    ['10 for a domain, and what is selected of it', '{ domain(name: "a") { name created } }', 12],
    ['that for each alias', '{ a: domain(name: "a") { name } b: domain(name: "b") { name } }', 22],
    [
      '1 for a list, and what is selected of each of 10 objects',
      '{ domain(name: "a") { httpHeaders { name value } } }',
      31,
    ],
    ['lists in lists', '{ domain(name: "a") { httpHeaders { history { date } } } }', 10 + 1 + 10 * (1 + 10)],
    [
      'of several types of records, the dearest',
      '{ domain(name: "a") { dnsRecords { __typename ... on MxRecord { pri target } ... on ARecord { ip } } } }',
      10 + 1 + 10 * 3,
    ],
    [
      'a fragment as what is in it',
      '{ domain(name: "a") { ...D dnsRecords { ...E ...R } } } fragment D on Domain { name } fragment E on DnsRecordEntry { host } fragment R on DnsRecord { ... on SoaRecord { serial rname } ... on ARecord { ip } }',
      10 + 1 + 1 + 10 * 3,
    ],
    [
      'an inline fragment without a type as what is in it',
      '{ ... { domain(name: "a") { ... { name } } } }',
      11,
    ],
    [
      '1 for each object and value of the schema',
      '{ __schema { types { name } } __type(name: "Domain") { name } }',
      1 + 2 * TYPES + 2,
    ],
    [
      'as much for a type that a variable names as for all',
      'query ($n: String!) { __type(name: $n) { name } }',
      2 * TYPES,
    ],
    ['nothing for a type that is not there', '{ __type(name: "Nothing") { name fields { name } } }', 0],
  ])('%s', (_case, source, cost) => {
    expect(costOf(source)).toBe(cost);
  });

  test.each([
    ['a list in the document', 'httpHeaders(names: ["a", "b", "c"]) { name value }', {}, 1 + 3 * 2],
    ['an empty list', 'httpHeaders(names: []) { name value }', {}, 1],
    ['one name alone', 'httpHeaders(names: "a") { name value }', {}, 1 + 2],
    ['null', 'httpHeaders(names: null) { name value }', {}, 1 + 10 * 2],
    ['a variable', 'httpHeaders(names: $list) { name value }', { list: ['a', 'b', 'c'] }, 1 + 3 * 2],
    ['a variable for types', 'dnsRecords(types: $list) { __typename }', { list: ['A', 'MX'] }, 1 + 2],
    [
      'a variable of 1000 types',
      'dnsRecords(types: $list) { __typename }',
      { list: Array(1000).fill('A') },
      1001,
    ],
    ['a variable of one name alone', 'httpHeaders(names: $list) { name }', { list: 'a' }, 2],
    ['a variable that is null', 'httpHeaders(names: $list) { name }', { list: null }, 11],
    ['a variable that is missing', 'httpHeaders(names: $list) { name }', {}, 11],
    ['a variable of no sense', 'httpHeaders(names: $list) { name }', { list: 7 }, 2],
    ['variables in a list', 'httpHeaders(names: [$one, "b"]) { name }', { one: 'a' }, 3],
  ])('as many objects as a list of arguments names: %s', (_case, selection, variables, cost) => {
    expect(inDomain(selection, variables, '($list: [String!], $one: String!)')).toBe(cost);
  });

  test.each([
    ['in the document', 'changes(first: 50) { nodes { kind } }', {}, 10 + 50 * 2],
    ['in a variable', 'changes(first: $first) { edges { node { kind } } }', { first: 20 }, 10 + 20 * 3],
    ['that is not one', 'changes(first: $first) { nodes { kind } }', { first: 'many' }, 10 + 2],
    ['that is negative', 'changes(first: -5) { nodes { kind } }', {}, 10 + 2],
    ['that is the default', 'changes { nodes { kind } }', {}, 10 + 100 * 2],
    ['that is missing', 'changes(first: $first) { nodes { kind } }', {}, 10 + 100 * 2],
  ])('as many objects as a page may have by a number %s', (_case, selection, variables, cost) => {
    expect(inDomain(selection, variables, '($first: Int)')).toBe(cost);
  });

  test('what a default says where the variable is missing', () => {
    const source = 'httpHeaders(names: $list) { name }';
    const declared = '($list: [String!] = ["a", "b", "c"])';
    expect(inDomain(source, {}, declared)).toBe(1 + 3);
    expect(inDomain(source, { list: ['a'] }, declared)).toBe(1 + 1);
    expect(inDomain(source, { list: null }, declared)).toBe(1 + 10);
  });

  test.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])(
    'a variable named %s as any other',
    (name) => {
      const source = `dnsRecords(types: $${name}) { __typename }`;
      const given = JSON.parse(`{ "${name}": ["A", "MX", "NS"] }`);
      for (const declared of [`($${name}: [String!])`, `($other: Int = 1, $${name}: [String!])`]) {
        expect(inDomain(source, {}, declared), 'missing').toBe(1 + 10);
        expect(inDomain(source, given, declared), 'given').toBe(1 + 3);
      }
      expect(inDomain(source, {}, `($${name}: [String!] = ["A", "MX"])`), 'by default').toBe(1 + 2);
      expect(inDomain(source, given, `($${name}: [String!] = ["A", "MX"])`)).toBe(1 + 3);
    },
  );

  test.each<[string, Record<string, unknown>, number]>([
    ['name @skip(if: true)', {}, 0],
    ['name @skip(if: false)', {}, 1],
    ['name @include(if: false)', {}, 0],
    ['httpHeaders @include(if: $on) { name }', { on: true }, 11],
    ['httpHeaders @include(if: $on) { name }', { on: false }, 0],
    ['httpHeaders @skip(if: $on) { name }', { on: true }, 0],
    ['httpHeaders @skip(if: $on) { name }', { on: false }, 11],
    ['httpHeaders { name @skip(if: $on) value }', { on: true }, 11],
    ['... @include(if: $on) { name created }', { on: false }, 0],
    ['...F @include(if: $on)', { on: false }, 0],
    ['...F @include(if: $on)', { on: true }, 2],
    ['name @include(if: $on) @skip(if: $on)', { on: true }, 0],
    ['name @include(if: $on)', { on: 'of no sense' }, 1],
    ['dnsRecords { ... on ARecord @skip(if: $on) { ip host } ... on MxRecord { pri } }', { on: true }, 11],
  ])('nothing for what is left out: %s with %o', (selection, variables, cost) => {
    const source = `query ($on: Boolean!) { domain(name: "a") { ${selection} } } fragment F on Domain { name created }`;
    expect((costOf(source, variables) ?? 0) - 10).toBe(cost);
  });
});

describe('the cost is that of the requested operation', () => {
  const source = 'query A { __typename } query B { domain(name: "a") { name } }';

  test('by its name', () => {
    expect(costOf(source, {}, 'A')).toBe(1);
    expect(costOf(source, {}, 'B')).toBe(11);
  });

  test('and none where there is no such operation, or it is not said which', () => {
    expect(costOf(source, {}, 'C')).toBeUndefined();
    expect(costOf(source)).toBeUndefined();
  });
});

test('what costs the maximum passes, and 1 more is rejected with both figures', () => {
  const source = 'query ($types: [String!]) { domain(name: "a") { dnsRecords(types: $types) { host } } }';
  const ask = (count: number) =>
    costIn(atOnce(examine(schema, source)), null, { types: Array(count).fill('A') }, 100);
  expect(ask(89)).toBe(100);
  expect(() => ask(90)).toThrow(QueryTooComplexError);
  expect(() => ask(90)).toThrow(
    'The estimated cost of the query is 101; 100 is allowed. Ask for less in one request.',
  );
});

test('every field with a price of its own is in the schema', () => {
  for (const [field, { sizedBy }] of PRICES) {
    const [type = '', name = ''] = field.split('.');
    const definition = schema.getType(type);
    const found = definition && 'getFields' in definition ? definition.getFields()[name] : undefined;
    expect(found, field).toBeDefined();
    if (sizedBy !== undefined && found !== undefined && 'args' in found) {
      expect(found.args.map((argument) => argument.name)).toContain(sizedBy);
    }
  }
});
