import { getOperationAST, parse } from 'graphql';
import { expect, test } from 'vitest';
import { isCompilable } from '../../src/graphql/execute.js';
import { createSchema } from '../../src/graphql/schema.js';
import { Costs, NO_COST } from '../../src/limits/costs.js';
import { aliases } from '../support/every-field.js';

const COSTS = new Costs(createSchema());

function compiles(source: string): boolean {
  const document = parse(source, { noLocation: true });
  const operation = getOperationAST(document);
  return isCompilable(document, operation ? COSTS.of(document, operation, {}) : NO_COST);
}

const OF_DOMAIN = '{ name unicodeName registrableDomain created lastUpdate lastChange }';
const RECORDS = 'dnsRecords { ... on DnsRecordEntry { host class type firstSeen removed lastSeen } }';

const CHAIN = [
  '{ domain(name: "a") { ...F0 } } fragment F15 on Domain { name }',
  ...Array.from({ length: 15 }, (_, at) => {
    const next = `changes { nodes { domain { ...F${at + 1} } } }`;
    return `fragment F${at} on Domain { a: ${next} b: ${next} }`;
  }),
].join(' ');

test.each([
  ['a query of a dashboard', `query ($name: String!) { domain(name: $name) ${OF_DOMAIN} }`],
  ['a query that asks for the names of types', '{ domain(name: "a.example") { __typename name } }'],
  ['90 domains, written out', `{ ${aliases(90, `domain(name: "a") { name }`)} }`],
  ['every kind of record', `{ domain(name: "a") { ${RECORDS} } }`],
])('the compiler, which works in one turn of the event loop, is given %s', (_what, source) => {
  expect(compiles(source)).toBe(true);
});

test.each([
  ['1,001 tokens', `{ ${aliases(200, 'domain(name: "a") { name }')} }`],
  [
    'a fragment that is spread often',
    `{ ${aliases(90, 'domain(name: "a") { ...F }')} } fragment F on Domain ${`{ ${aliases(12, 'name')} }`}`,
  ],
  ['fragments of fragments, which stand for more than a number can have', CHAIN],
  [
    'fields of an interface, which are those of each of its types',
    `{ domain(name: "a") { dnsRecords { ... on DnsRecordEntry { ${aliases(100, 'host')} } } } }`,
  ],
])('the compiler is not given what it would write too much code for: %s', (_what, source) => {
  expect(compiles(source)).toBe(false);
});

test.each([
  ['a directive', '{ domain(name: "a") { name @include(if: true) } }'],
  ['introspection', '{ __schema { queryType { name } } }'],
  ['a default of a variable', 'query ($name: String = "a") { domain(name: $name) { name } }'],
  ['several operations', 'query A { domain(name: "a") { name } } query B { domain(name: "b") { name } }'],
  ['a subscription', 'subscription { changes { nodes { id } } }'],
  ['the name __proto__', '{ __proto__: domain(name: "a") { name } }'],
])('the compiler is not given what it executes otherwise than graphql-js: %s', (_what, source) => {
  expect(compiles(source)).toBe(false);
});
