import { describe, expect, test } from 'vitest';
import { FrequentOperations } from '../../src/graphql/frequent-operations.js';
import { QueryLimits } from '../../src/graphql/limits/query-limits.js';
import { createSchema } from '../../src/graphql/schema.js';

const schema = createSchema();
const limits = new QueryLimits(schema, 1_000_000);
const QUERY = 'query Name($name: String!) { domain(name: $name) { name } }';

/** How many of 100 occurrences of a document are answered by a compiled operation. */
function compiledOf(source: string): number {
  const operations = new FrequentOperations(schema, limits);
  return Array.from({ length: 100 }, () => operations.find(source)).filter((found) => found !== undefined)
    .length;
}

test('a document is compiled once it has come 32 times', () => {
  expect(compiledOf(QUERY)).toBe(69);
  const operations = new FrequentOperations(schema, limits);
  for (let time = 1; time < 32; time += 1) expect(operations.find(QUERY)).toBeUndefined();
  const operation = operations.find(QUERY);
  expect(operation?.name).toBe('Name');
  expect(operations.find(QUERY)).toBe(operation);
});

test('documents that differ are counted apart', () => {
  const operations = new FrequentOperations(schema, limits);
  for (let time = 0; time < 62; time += 1) {
    expect(operations.find(time % 2 === 0 ? QUERY : `${QUERY} `)).toBeUndefined();
  }
});

describe('a document is not compiled', () => {
  test.each([
    ['that is no GraphQL', '{ domain('],
    ['that the schema does not allow', '{ domain { name } }'],
    ['that is nested too deeply', `${'{a'.repeat(1900)}${'}'.repeat(1900)}`],
    ['with two operations', 'query A { __typename } query B { __typename }'],
    ['with directives', '{ domain(name: "a") { name @skip(if: false) } }'],
    ['with introspection', '{ __schema { description } }'],
    ['with a default for a variable', 'query ($name: String! = "a") { domain(name: $name) { name } }'],
    ['with a variable named __proto__', 'query ($__proto__: String!) { domain(name: $__proto__) { name } }'],
    ['that is long', `${QUERY} # ${'x'.repeat(8000)}`],
    ['with many selections', `{ ${aliases(150)} }`],
    [
      'with many selections by fragments',
      `{ ${aliases(12, '...F')} } fragment F on Domain { ${'name '.repeat(12)}}`,
    ],
  ])('%s', (_case, source) => {
    expect(compiledOf(source)).toBe(0);
  });

  test('unless it is as large as the largest question of one domain', () => {
    expect(compiledOf(`{ ${aliases(10, '...F')} } fragment F on Domain { ${'name '.repeat(12)}}`)).toBe(69);
  });
});

function aliases(count: number, selection = 'name'): string {
  return Array.from({ length: count }, (_, index) => `a${index}: domain(name: "a") { ${selection} }`).join(
    ' ',
  );
}

test('what is counted and compiled is forgotten rather than kept without bounds', () => {
  const operations = new FrequentOperations(schema, limits);
  const sources = Array.from({ length: 60 }, (_, index) => `{ domain(name: "d${index}") { name } }`);
  for (const source of sources) for (let time = 0; time < 32; time += 1) operations.find(source);
  const kept = sources.filter((source) => operations.find(source) !== undefined);
  expect(kept.length).toBeLessThanOrEqual(50);
  expect(kept).toContain(sources.at(-1));
});
