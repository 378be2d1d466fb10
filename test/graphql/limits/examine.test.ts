import fc from 'fast-check';
import { executeSync, GraphQLError, getIntrospectionQuery, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { examine } from '../../../src/graphql/limits/examine.js';
import { QueryTooComplexError } from '../../../src/graphql/limits/limits.js';
import { createSchema } from '../../../src/graphql/schema.js';
import { atOnce } from '../../support/at-once.js';
import { domainAliases, EVERY_FIELD } from '../../support/every-field.js';

const schema = createSchema();

function times(count: number, piece: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => piece(index)).join(' ');
}

/** So many fields, of names of their own. */
function fields(count: number, prefix = 'f'): string {
  return times(count, (index) => `${prefix}${index}`);
}

/** Fragments of which each spreads the next one, so many times. */
function chain(length: number, spreads = 1): string {
  const links = times(
    length,
    (index) => `fragment F${index} on Query { ${`...F${index + 1} `.repeat(spreads)} }`,
  );
  return `{ ...F0 } ${links} fragment F${length} on Query { __typename }`;
}

/** The same fragments, the last one first. */
function reversed(document: string): string {
  const [operation = '', ...fragments] = document.split('fragment ');
  return `${operation} ${fragments
    .reverse()
    .map((fragment) => `fragment ${fragment}`)
    .join(' ')}`;
}

/** Fields of one name: repeated(316, 21, 6, 3, 2, 2) are 50,000 of them. */
function repeated(...counts: number[]): string {
  return `{ domain { ${counts.map((count, index) => `f${index} `.repeat(count)).join(' ')} } }`;
}

describe('at its limit a document passes, and beyond it is rejected', () => {
  test.each<[string, string, string, RegExp]>([
    [
      '30,000 tokens',
      `{ domain(name: [${'1 '.repeat(29_988)}]) { a } }`,
      `{ domain(name: [${'1 '.repeat(29_989)}]) { a } }`,
      /more than 30000 tokens/,
    ],
    [
      '100 levels of brackets',
      `${'{ ... '.repeat(99)}{ a ${'}'.repeat(100)}`,
      `${'{ ... '.repeat(100)}{ a ${'}'.repeat(101)}`,
      /brackets nested more than 100 levels deep/,
    ],
    [
      '100 levels of lists',
      `{ a(b: ${'['.repeat(98)}${']'.repeat(98)}) }`,
      `{ a(b: ${'['.repeat(99)}${']'.repeat(99)}) }`,
      /brackets nested more than 100 levels deep/,
    ],
    ['100 levels of fragments', chain(98), chain(99), /nested more than 100 levels deep, fragments included/],
    ['20 levels of fields', deep(20), deep(21), /fields more than 20 levels deep/],
    ['500 aliases', aliases(500), aliases(501), /more than 500 aliases/],
    [
      '500 aliases in operations and fragments together',
      `query A { b { ${times(250, (index) => `a${index}: a`)} } } fragment F on Domain { ${times(250, (index) => `a${index}: a`)} }`,
      `query A { b { ${times(250, (index) => `a${index}: a`)} } } fragment F on Domain { ${times(251, (index) => `a${index}: a`)} }`,
      /more than 500 aliases/,
    ],
    [
      '500 aliases by fragments',
      `{ b { ...A } c { ...A } } fragment A on Domain { ${times(250, (index) => `a${index}: a`)} }`,
      `{ b { ...A } x: c { ...A } } fragment A on Domain { ${times(250, (index) => `a${index}: a`)} }`,
      /more than 500 aliases/,
    ],
    [
      '200 fields at the root',
      `{ ${fields(200)} }`,
      `{ ${fields(201)} }`,
      /more than 200 fields at its root/,
    ],
    [
      '200 fields at the root by fragments',
      `{ ...F } fragment F on Query { ${fields(200)} }`,
      `{ ...F } fragment F on Query { ${fields(201)} }`,
      /more than 200 fields at its root/,
    ],
    [
      '500 directives',
      `{ a ${'@skip(if: false) '.repeat(500)} }`,
      `{ a ${'@skip(if: false) '.repeat(501)} }`,
      /more than 500 directives/,
    ],
    [
      '30,000 selections',
      `{ ${times(200, (index) => `r${index} { ...F }`)} } fragment F on Domain { ${fields(148)} }`,
      `{ ${times(200, (index) => `r${index} { ...F ${index === 0 ? 'x' : ''} }`)} } fragment F on Domain { ${fields(148)} }`,
      /more than 30000 selections/,
    ],
    [
      '50,000 pairs of fields that validation compares',
      repeated(316, 21, 6, 3, 2, 2),
      repeated(316, 21, 6, 3, 2, 2, 2),
      /fields of one name in one place too many times: 50000 pairs are allowed/,
    ],
  ])('%s', (_limit, atLimit, beyond, message) => {
    expect(() => atOnce(examine(schema, atLimit))).not.toThrow();
    expect(() => atOnce(examine(schema, beyond))).toThrow(QueryTooComplexError);
    expect(() => atOnce(examine(schema, beyond))).toThrow(message);
  });
});

function deep(levels: number): string {
  return `${'{ ofType '.repeat(levels - 1)} { name ${'}'.repeat(levels)}`;
}

/** Nested, since at the root there is another limit. */
function aliases(count: number): string {
  return `{ domain { ${times(count, (index) => `a${index}: __typename`)} } }`;
}

describe('a document is rejected, however its size is hidden', () => {
  test.each([
    ['in fragments that double', chain(30, 2)],
    ['in fragments that double, and that nothing spreads', `{ a } ${chain(30, 2).slice('{ ...F0 }'.length)}`],
    ['in a fragment that spreads itself', '{ ...F } fragment F on Query { ...F }'],
    [
      'in fragments that spread each other',
      '{ ...F } fragment F on Query { a ...G } fragment G on Query { b { ...F } }',
    ],
    ['in long chains of fragments, the last one first', reversed(chain(3000))],
    [
      'in one of two fragments of one name',
      `{ a } fragment X on Query { ${'...B '.repeat(500)} } fragment X on Query { a } fragment B on Query { ${fields(100)} }`,
    ],
    ['in an operation that is not requested', `query A { a } query B { ${fields(201)} }`],
    ['in the same fields under the same fields', `{ ${`a { ${'b '.repeat(30)} } `.repeat(30)} }`],
  ])('%s', (_case, text) => {
    expect(() => atOnce(examine(schema, text))).toThrow(QueryTooComplexError);
  });
});

test('the colons of arguments, variables and their objects are no aliases', () => {
  const values = times(600, (index) => `v${index}: {w: [{x: $y}]}`);
  const text = `query ($y: Int, ${times(600, (index) => `$v${index}: Int`)}) { domain(${values}) @d(${values}) { name } }`;
  expect(() => atOnce(examine(schema, text))).not.toThrow();
});

describe('normal requests are within the limits', () => {
  test.each([
    ['100 domains with every field of every type', domainAliases(100, EVERY_FIELD)],
    ['the same by a fragment', `${domainAliases(100, '...F')} fragment F on Domain { ${EVERY_FIELD} }`],
    ['the usual introspection', getIntrospectionQuery()],
    [
      'introspection with everything',
      getIntrospectionQuery({
        specifiedByUrl: true,
        inputValueDeprecation: true,
        schemaDescription: true,
        directiveIsRepeatable: true,
        oneOf: true,
      }),
    ],
  ])('%s', (_case, text) => {
    const [cost] = atOnce(examine(schema, text)).costs.values();
    expect(cost).toBeLessThan(100_000);
  });
});

describe('what a query selects of the schema', () => {
  const inside: Record<string, readonly [leaves: readonly string[], objects: Record<string, string>]> = {
    schema: [['description'], { types: 'type', queryType: 'type', directives: 'directive' }],
    type: [
      ['name', 'kind', 'description', '__typename'],
      {
        ...{
          'fields(includeDeprecated: true)': 'field',
          interfaces: 'type',
          possibleTypes: 'type',
          ofType: 'type',
        },
        ...{ 'enumValues(includeDeprecated: true)': 'value', inputFields: 'argument' },
      },
    ],
    field: [['name', 'description', 'isDeprecated'], { args: 'argument', type: 'type' }],
    argument: [['name', 'defaultValue'], { type: 'type' }],
    value: [['name', 'deprecationReason'], {}],
    directive: [['name', 'locations', 'isRepeatable'], { args: 'argument' }],
  };
  const selection = (kind: string, depth: number): fc.Arbitrary<string> => {
    const [leaves = [], objects = {}] = inside[kind] ?? [];
    const leaf = fc.constantFrom(...leaves);
    const nested = Object.entries(depth > 0 ? objects : {}).map(([name, of]) =>
      fc
        .tuple(fc.constantFrom('', 'a: ', 'b: '), selection(of, depth - 1))
        .map(([alias, set]) => `${alias}${name} ${set}`),
    );
    const piece = nested.length > 0 ? fc.oneof(leaf, ...nested) : leaf;
    return fc
      .uniqueArray(piece, { minLength: 1, maxLength: 3, selector: responseName })
      .map((all) => `{ ${all.join(' ')} }`);
  };
  const responseName = (piece: string) => /^\w+/.exec(piece)?.[0];
  const values = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 1
      : Object.values(value).reduce((sum, each) => sum + values(each), Array.isArray(value) ? 0 : 1);

  test('is known exactly before it is executed, or rejected as too much', () => {
    const root = fc.oneof(
      selection('schema', 5).map((set) => `{ __schema ${set} }`),
      selection('type', 4).map((set) => `{ __type(name: "Domain") { ...F } } fragment F on __Type ${set}`),
    );
    let executed = 0;
    fc.assert(
      fc.property(root, (source) => {
        let size: { values: number; octets: number } | undefined;
        try {
          size = atOnce(examine(schema, source)).introspections.get(null);
        } catch (error) {
          expect(error).toBeInstanceOf(QueryTooComplexError);
          return;
        }
        const { data, errors } = executeSync({ schema, document: parse(source) });
        expect(errors).toBeUndefined();
        executed += 1;
        // But for the object of the response itself.
        expect(size?.values).toBe(values(data) - 1);
        const { length } = JSON.stringify(data);
        expect(size?.octets).toBeGreaterThan(length * 0.7 - 50);
        expect(size?.octets).toBeLessThan(length * 1.5 + 50);
      }),
      { numRuns: 150 },
    );
    expect(executed).toBeGreaterThan(50);
  });

  test.each([
    [
      'lists in lists under many aliases',
      `{ x: __type(name: "DnsRecord") { ${times(490, (at) => `a${at}: possibleTypes { fields { description } }`)} } }`,
    ],
    [
      'types of types',
      `{ __schema { types ${'{ possibleTypes { interfaces '.repeat(4)} { name } ${'} }'.repeat(4)} } }`,
    ],
    [
      'descriptions',
      `{ ${times(190, (at) => `a${at}: __schema { types { description fields { description } } }`)} }`,
    ],
  ])('is limited: %s', (_case, source) => {
    expect(() => atOnce(examine(schema, source))).toThrow(
      /^The query selects more than [0-9]+ (?:values|octets) of the schema\./,
    );
  });
});

test('whatever the document, it is examined or rejected, and nothing else', () => {
  const piece = fc.constantFrom(
    ...['{', '}', '(', ')', '[', ']', ':', '$', '@', '!', '=', '|', '&', '...', 'a', '__typename', 'domain'],
    ...[
      'on',
      'Query',
      'Domain',
      'DnsRecord',
      'fragment',
      'query',
      'mutation',
      '"x"',
      '1',
      'true',
      'null',
      '"',
    ],
    ...['dnsRecords', '@skip(if: $v)', '@include(if: true)', '...F', 'fragment F on Domain {', '#', '\u0000'],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      try {
        expect(atOnce(examine(schema, pieces.join(' '))).selections).toBeLessThanOrEqual(30_000);
      } catch (error) {
        expect(error instanceof QueryTooComplexError || error instanceof GraphQLError).toBe(true);
      }
    }),
    { numRuns: 2000 },
  );
});
