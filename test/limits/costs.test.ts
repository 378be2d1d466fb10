import fc from 'fast-check';
import { getIntrospectionQuery, getOperationAST, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { createSchema } from '../../src/graphql/schema.js';
import { Costs, NO_COST, requireWithinLimits, type Variables } from '../../src/limits/costs.js';
import { aliases, domainAliases, EVERY_FIELD } from '../support/every-field.js';

const SCHEMA = createSchema();

/** What follows from a document that comes with each of some variables. */
function measureEach(source: string, given: readonly Variables[]) {
  const document = parse(source, { noLocation: true });
  const operation = getOperationAST(document);
  if (operation == null) throw new Error(`There is no operation: ${source}`);
  const costs = new Costs(SCHEMA);
  return given.map((variables) => costs.of(document, operation, variables));
}

function measure(source: string, variables: Variables = {}) {
  const [cost = NO_COST] = measureEach(source, [variables]);
  return cost;
}

const inDomain = (selection: string) => `{ domain(name: "a.example") { ${selection} } }`;

const DIFF = 'diff(from: "2024-01-01T00:00:00Z", to: "2024-02-01T00:00:00Z") { from }';
const SEARCHES = [
  'dnsRecords(where: { ip: "192.0.2.1" } PAGE) { nodes { domain { DOMAIN } } }',
  'httpHeaders(where: { name: "via" } PAGE) { nodes { domain { DOMAIN } } }',
  'searchDomains(where: { match: "*.example" } PAGE) { nodes { DOMAIN } }',
  'searchDomains(where: { match: "*.example" } PAGE) { edges { node { DOMAIN } } }',
];
const PAGES_IN_PAGE =
  'httpHeadersConnection(first: 5) { nodes { historyConnection(first: 101) { nodes { date } } } }';
const PAGES_OF_DOMAIN = [
  'changes(PAGE) { nodes { id } }',
  'dnsRecordsConnection(PAGE) { nodes { __typename } }',
  'httpHeadersConnection(PAGE) { nodes { name } }',
];

test.each([
  ['a domain: 1', '{ domain(name: "a.example") { name } }', 1],
  ['each alias of it', '{ a: domain(name: "a") { name } b: domain(name: "a") { name } }', 2],
  ['whatever lists are selected of it', inDomain(EVERY_FIELD), 1],
  ['a node: 1', '{ node(id: "x") { id } }', 1],
  ['each name: 1', '{ domains(names: ["a", "b", "c"]) { name } }', 3],
  ['a name alone, which is a list of one', '{ domains(names: "a") { name } }', 1],
  ['diff: 4', inDomain(DIFF), 1 + 4],
  ['for each name, what is selected there', `{ domains(names: ["a", "b"]) { name ${DIFF} } }`, 2 * (1 + 4)],
  ['a page of the feed', '{ changes { nodes { id } } }', 2],
  ['statistics: 10', '{ statistics { __typename } }', 10],
  ['in a list: as for 10', inDomain('httpHeaders { historyConnection { nodes { date } } }'), 1 + 10 * 2],
  ['through all levels', inDomain(PAGES_IN_PAGE), 1 + 2 + 5 * 3],
  ['the schema: nothing of its own', '{ __schema { types { name } } }', 0],
])('a document costs what its arguments ask for: %s', (_row, source, units) => {
  expect(measure(source).sum).toBe(units);
});

test.each(PAGES_OF_DOMAIN)('a page: 2, and 1 for each further 100 of first: %s', (page) => {
  const of = (first: string) => measure(inDomain(page.replace('(PAGE)', first))).sum - 1;
  expect(['(first: 1)', '(first: 100)', '', '(first: 101)', '(first: 500)'].map(of)).toEqual([2, 2, 2, 3, 6]);
});

test.each(SEARCHES)('a search: 5, and as a page; the domains it finds, if lists of them: %s', (search) => {
  const of = (page: string, selection: string) =>
    measure(`{ ${search.replace('PAGE', page).replace('DOMAIN', selection)} }`).sum;
  expect(['first: 1', '', 'first: 500'].map((page) => of(page, 'name created'))).toEqual([7, 7, 11]);
  for (const list of ['dnsRecords { __typename }', 'httpHeaders { name }', '...F'])
    expect(of('first: 20', list.replace('...F', '... on Domain { parts { name } }'))).toBe(7 + 20);
});

test('a document: 1 for each full 1,000 tokens', () => {
  const of = (tokens: number) => measure(`{ ${'__typename '.repeat(tokens - 2)} }`).unitsOfDocument;
  expect([998, 999, 1_000, 1_999, 2_000].map(of)).toEqual([0, 0, 1, 1, 2]);
});

test('a stream: 2, and each change what is selected of it', () => {
  const of = (selection: string) => {
    const { sum, unitsOfChange } = measure(`subscription { changes { nodes { ${selection} } } }`);
    return [sum, unitsOfChange];
  };
  expect(of('id')).toEqual([2, 0]);
  expect(of('domain { name }')[0]).toBe(2);
  expect(of('domain { dnsRecords { __typename } }')[0]).toBe(2);
});

const NAMES = 'query ($names: [String!]!) { domains(names: $names) { name } }';
const PAGE = 'query ($first: Int = 201) { changes(first: $first) { nodes { id } } }';

test.each<[string, string, Variables, number]>([
  ['names', NAMES, { names: ['a', 'b', 'c'] }, 3],
  ['a name alone', NAMES, { names: 'a' }, 1],
  ['no names', NAMES, { names: [] }, 0],
  ['the length of a page', PAGE, { first: 500 }, 6],
  ['its default, where it is absent', PAGE, {}, 4],
  ['that of the schema, where it is null', PAGE, { first: null }, 2],
  ['what is no length, which a resolver rejects', PAGE, { first: -1 }, 2],
])('variables are read: %s', (_what, source, variables, units) => {
  expect(measure(source, variables).sum).toBe(units);
});

test.each(['constructor', 'toString', '__proto__'])('variables of any name are read: %s', (name) => {
  const source = `query ($${name}: Int) { changes(first: $${name}) { nodes { id } } }`;
  expect(measure(source, {}).sum).toBe(2);
  expect(measure(source, JSON.parse(`{ "${name}": 500 }`)).sum).toBe(6);
});

test('variables of a document that comes again with others are read', () => {
  const source = `query ($first: Int) { domain(name: "a") { ...F ...F } }
    fragment F on Domain { changes(first: $first) { nodes { id } } }`;
  const given = [1, 500, 1, 100].map((first) => ({ first }));
  const [one, most, again, usual] = measureEach(source, given).map(({ fields }) => fields);
  expect(one).toBe(again);
  expect(new Set([one, most, usual]).size).toBe(3);
});

test.each([
  '{ domain(name: "a") @skip(if: true) { name } }',
  '{ ... @include(if: false) { domain(name: "a") { name } } }',
  'query ($no: Boolean = true) { ...F @skip(if: $no) } fragment F on Query { statistics { __typename } }',
])('where all is left out, nothing costs, so that the request itself does: %s', (source) => {
  expect(measure(source)).toMatchObject({ sum: 0, units: new Map() });
});

test('each operation of a document has its own cost', () => {
  const document = parse('query A { domain(name: "a") { name } } query B { statistics { __typename } }');
  const costs = new Costs(SCHEMA);
  const of = (name: string) => {
    const operation = getOperationAST(document, name);
    return operation && [...costs.of(document, operation, {}).units.values()];
  };
  expect([of('A'), of('B'), of('A')]).toEqual([[1], [10], [1]]);
});

interface Piece {
  readonly field: 'name' | 'dnsRecords' | 'httpHeaders' | 'changes' | 'diff';
  readonly first: [written: string, length: number];
  readonly condition: [written: string, included: number];
  /** Of the domain of each change. */
  readonly inside: readonly Piece[];
  /** Whether it is in a fragment of its own, and whether that has the condition. */
  readonly fragment: 'none' | 'named' | 'inline';
}

const DECLARED =
  '($yes: Boolean!, $no: Boolean!, $on: Boolean! = true, $few: Int, $many: Int!, $some: Int = 120)';
const GIVEN = { yes: true, no: false, few: 3, many: 250 };
/** How a page's length is written, and which it is. */
const FIRSTS = { '': 100, '(first: 5)': 5, '(first: $few)': 3, '(first: $many)': 250, '(first: $some)': 120 };
/** How a selection is included, 1, or left out. */
const CONDITIONS = {
  ...{ '': 1, '@include(if: $yes)': 1, '@include(if: $no)': 0, '@skip(if: $yes)': 0, '@skip(if: $no)': 1 },
  ...{ '@skip(if: true)': 0, '@include(if: $on)': 1, '@include(if: $yes) @skip(if: $yes)': 0 },
};

const { pieces } = fc.letrec<{ pieces: Piece[]; piece: Piece }>((tie) => ({
  pieces: fc.array(tie('piece'), { minLength: 1, maxLength: 4, depthIdentifier: 'pieces' }),
  piece: fc.record({
    field: fc.constantFrom<Piece['field']>('name', 'dnsRecords', 'httpHeaders', 'changes', 'diff'),
    first: fc.constantFrom(...Object.entries(FIRSTS)),
    condition: fc.constantFrom(...Object.entries(CONDITIONS)),
    inside: fc.oneof({ maxDepth: 2, depthIdentifier: 'pieces' }, fc.constant([]), tie('pieces')),
    fragment: fc.constantFrom<Piece['fragment']>('none', 'named', 'inline'),
  }),
}));

/** A document of it, with its fragments or with their fields written out. */
function written(domains: readonly (readonly Piece[])[], withFragments: boolean): string {
  const fragments: string[] = [];
  let names = 0;
  const own = ({ field, first: [page], inside }: Piece, condition: string): string => {
    names += 1;
    const texts = {
      name: `name ${condition}`,
      dnsRecords: `dnsRecords ${condition} { __typename }`,
      httpHeaders: `httpHeaders ${condition} { name historyConnection${page} { nodes { date } } }`,
      changes: `changes${page} ${condition} { nodes { domain { name INSIDE } } }`,
      diff: DIFF.replace('{', `${condition} {`),
    };
    return `a${names}: ${texts[field].replace('INSIDE', () => all(inside))}`;
  };
  const all = (many: readonly Piece[]): string =>
    many
      .map((piece) => {
        const [condition] = piece.condition;
        if (!withFragments || piece.fragment === 'none') return own(piece, condition);
        if (piece.fragment === 'inline') return `... on Domain ${condition} { ${own(piece, '')} }`;
        const text = own(piece, '');
        const name = `F${fragments.length}`;
        fragments.push(`fragment ${name} on Domain { ${text} }`);
        return `...${name} ${condition}`;
      })
      .join(' ');
  const roots = domains.map((selected, at) => `d${at}: domain(name: "a.example") { name ${all(selected)} }`);
  return `query ${DECLARED} { ${roots.join(' ')} } ${fragments.join(' ')}`;
}

function unitsOf({ field, first: [, first], condition: [, included], inside }: Piece): number {
  const page = 1 + Math.ceil(first / 100);
  const lists = inside.filter((each) => each.field === 'dnsRecords' || each.field === 'httpHeaders');
  const ofDomain = lists.some(({ condition: [, isIncluded] }) => isIncluded === 1) ? 1 : 0;
  const units = {
    name: 0,
    dnsRecords: 0,
    httpHeaders: 10 * page,
    changes: page + first * (ofDomain + sumOf(inside)),
    diff: 4,
  };
  return included * units[field];
}

const sumOf = (all: readonly Piece[]) => all.reduce((sum, piece) => sum + unitsOf(piece), 0);

const selections = fc.array(pieces, { minLength: 1, maxLength: 3 });

test('whatever is selected costs what the table says, multiplied through all levels', () => {
  fc.assert(
    fc.property(selections, (domains) => {
      const expected = domains.reduce((sum, selected) => sum + 1 + sumOf(selected), 0);
      expect(measure(written(domains, false), GIVEN).sum).toBe(expected);
    }),
  );
});

test('whatever is selected costs the same by fragments and written out', () => {
  fc.assert(
    fc.property(selections, (domains) => {
      const [plain, byFragments] = [false, true].map((each) => measure(written(domains, each), GIVEN));
      expect({ ...byFragments, unitsOfDocument: 0 }).toEqual({ ...plain, unitsOfDocument: 0 });
    }),
  );
});

const search = (count: number, value: string) =>
  Array.from({ length: count }, (_, at) => `a${at}: searchDomains(where: ${value}) { totalCount }`).join(' ');
const fieldsOf = (count: number, where: object) =>
  measure(`query ($w: DomainFilter) { ${search(count, '$w')} }`, { w: where }).fields;

test('a long argument counts as often as it is used: a text by its characters, in a variable, in its default and in the document', () => {
  const long = 'a'.repeat(100_000);
  expect(fieldsOf(3, { match: long }) - fieldsOf(3, { match: 'a' })).toBeGreaterThanOrEqual(300_000);
  const written = measure(`{ ${search(3, `{ match: "${long}" }`)} }`).fields;
  expect(written - measure(`{ ${search(3, '{ match: "a" }')} }`).fields).toBeGreaterThanOrEqual(300_000);
  const byDefault = measure(`query ($w: DomainFilter = { match: "${long}" }) { ${search(3, '$w')} }`);
  expect(byDefault.fields).toBeGreaterThanOrEqual(300_000);
});

test('a long argument counts as often as it is used: a list and an object by their values, and by the names that may not be there', () => {
  const names = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [at, at]));
  expect(fieldsOf(1, names)).toBeGreaterThan(250_000);
  expect(fieldsOf(10, { match: Array.from({ length: 25_000 }, () => '') })).toBeGreaterThan(250_000);
});

test('a short argument does not count, so that a document costs the same with other variables', () => {
  expect(fieldsOf(480, { match: 'a'.repeat(40) })).toBe(fieldsOf(480, { match: 'a' }));
});

test('a long argument counts after a request with short variables, too', () => {
  const given = ['a', 'a'.repeat(1_000), 'b'].map((n) => ({ n }));
  const costs = measureEach('query ($n: ID!) { node(id: $n) { id } }', given);
  const [short = 0, long = 0, again] = costs.map(({ fields }) => fields);
  expect([long - short, again]).toEqual([1_000, short]);
});

const check = (source: string, most: number, variables: Variables = {}) => {
  const cost = measure(source, variables);
  requireWithinLimits(cost, most);
  return cost.fields;
};
const tooComplex = (message: RegExp) =>
  expect.objectContaining({ code: 'QUERY_TOO_COMPLEX', message: expect.stringMatching(message) });

const OPTIONS = 'specifiedByUrl inputValueDeprecation schemaDescription directiveIsRepeatable oneOf';
const EVERY_INTROSPECTION = Object.fromEntries(OPTIONS.split(' ').map((option) => [option, true]));

test.each([
  ['100 domains with every field of every type', domainAliases(100, EVERY_FIELD)],
  ['the same by a fragment', `${domainAliases(100, '...F')} fragment F on Domain { ${EVERY_FIELD} }`],
  ['the usual introspection', getIntrospectionQuery()],
  ['introspection with everything', getIntrospectionQuery(EVERY_INTROSPECTION)],
])('a normal request is within the limits: %s', (_what, source) => {
  expect(() => check(source, 250_000)).not.toThrow();
});

test('a request has 20 levels of fields, those of fragments included', () => {
  const deep = (levels: number) => `${'{ ofType '.repeat(levels)} { name ${'}'.repeat(levels + 1)}`;
  // __schema, queryType, ofType …, name.
  const source = (levels: number) =>
    `{ __schema { queryType { ...F } } } fragment F on __Type ${deep(levels)}`;
  expect(() => check(source(17), 1e9)).not.toThrow();
  expect(() => check(source(18), 1e9)).toThrow(tooComplex(/more than 20 levels deep/));
});

test('a request has four statistics', () => {
  const source = (count: number) => `{ ${aliases(count, 'statistics { __typename }')} }`;
  expect(() => check(source(4), 1e9)).not.toThrow();
  expect(() => check(source(5), 1e9)).toThrow(tooComplex(/statistics more than 4 times/));
});

test('a request asks for as many fields as a setting allows, lists in lists multiplied', () => {
  const source = `query ($first: Int) { searchDomains(first: $first) { nodes { changes(first: $first) { nodes { id } } } } }`;
  // Each level: the list of nodes, and of each node a page, which counts as 50 fields.
  const estimate = check(source, 1e9, { first: 100 });
  expect(estimate).toBeGreaterThan(100 * 100);
  expect(estimate).toBeLessThan((50 + 3 * 100) * 100);
  expect(check(source, estimate, { first: 100 })).toBe(estimate);
  expect(() => check(source, estimate - 1, { first: 100 })).toThrow(
    tooComplex(new RegExp(`about ${estimate} fields; ${estimate - 1} are allowed\\. Ask for less`)),
  );
  expect(() => check(source, estimate, { first: 1 })).not.toThrow();
});

test.each([
  ['by aliases', aliases(200, '__schema { types { fields { description } } }')],
  // Of 15 MB, for one unit: no other limit counts what is said of the schema.
  [
    'by aliases in lists',
    `__type(name: "Node") { possibleTypes { fields { ${aliases(700, 'description')} } } }`,
  ],
  ['by aliases in all types', `__schema { types { fields { ${aliases(170, 'description')} } } }`],
])('what is selected of the schema is limited: %s', (_what, selection) => {
  expect(() => check(`{ ${selection} }`, 250_000)).toThrow(tooComplex(/Ask for less/));
});

const TYPES_OF_TYPES = `${'{ possibleTypes { interfaces '.repeat(4)} { name } ${'} }'.repeat(4)}`;

test.each([
  ['types of types', `{ __schema { types ${TYPES_OF_TYPES} } }`],
  ['fields of fields', '{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }'],
])('what is selected of the schema is limited by validation: %s', (_what, source) => {
  expect(validate(SCHEMA, parse(source))).not.toEqual([]);
});

const chain = (length: number, spread: string, last: string, type: string) => {
  const selected = (at: number) => (at === length ? last : spread.replaceAll('NEXT', `...F${at + 1}`));
  const all = Array.from({ length: length + 1 }, (_, at) => `fragment F${at} on ${type} { ${selected(at)} }`);
  return all.join(' ');
};

test.each([
  ['', 'NEXT NEXT', ''],
  [', by variables', 'NEXT @skip(if: $no) NEXT @include(if: $yes)', '($yes: Boolean!, $no: Boolean!)'],
])('fragments that spread fragments twice each respond once%s', (_how, spread, declared) => {
  const source = `query ${declared} { domain(name: "a") { ...F0 } } ${chain(200, spread, DIFF, 'Domain')}`;
  expect(measure(source, GIVEN)).toMatchObject({ sum: 1 + 4, fields: 2 * 50 + 1 });
});

test('fragments that spread fragments in fields, which respond more than a number can have, are too complex', () => {
  const spread = 'changes(first: $many) { nodes { domain { NEXT } } } NEXT';
  const source = `query ($many: Int!) { domain(name: "a") { ...F0 } } ${chain(200, spread, DIFF, 'Domain')}`;
  expect(() => check(source, 250_000, GIVEN)).toThrow(tooComplex(/Ask for less/));
});

test('fragments that spread fragments in long chains are measured', () => {
  const fragments = chain(1_200, 'NEXT', 'domain(name: "a") { name }', 'Query');
  expect(measure(`{ ...F0 } ${fragments}`).sum).toBe(1);
});
