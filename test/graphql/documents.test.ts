import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { Documents } from '../../src/graphql/documents.js';
import { createSchema } from '../../src/graphql/schema.js';

const schema = createSchema();
const QUERY = 'query Name($name: String!) { domain(name: $name) { name } }';

function createDocuments(): Documents {
  return new Documents(schema, { maxCost: 1_000_000, introspection: true });
}

/** The compiled operation of a document that comes once more, if it has one. */
function send(documents: Documents, query: string) {
  const document = documents.identify({ query, id: undefined });
  try {
    documents.examine(document, { operationName: null, variables: { name: 'a' }, posted: true });
  } catch {
    return undefined;
  } finally {
    documents.release(document);
  }
  return documents.frequent(document);
}

/** How many of 100 occurrences of a document run as a compiled operation. */
function compiledOf(source: string): number {
  const documents = createDocuments();
  return Array.from({ length: 100 }, () => send(documents, source)).filter((found) => found !== undefined)
    .length;
}

test('a document is compiled once it has come 32 times', () => {
  expect(compiledOf(QUERY)).toBe(69);
  const documents = createDocuments();
  for (let time = 1; time < 32; time += 1) expect(send(documents, QUERY)).toBeUndefined();
  const operation = send(documents, QUERY);
  expect(operation).toBeDefined();
  expect(send(documents, QUERY)).toBe(operation);
});

test('a document that many clients send before it is known is examined once', async () => {
  const documents = createDocuments();
  const padded = `${QUERY} # ${'x'.repeat(20_000)}`;
  const all = Array.from({ length: 50 }, () => documents.identify({ query: padded, id: undefined }));
  expect(new Set(all).size).toBe(50);
  const examined = await Promise.all(
    all.map(async (sent, at) => {
      const document = await documents.inTurn(sent, `client ${at}`);
      await documents.examineInTurns(document, `client ${at}`);
      return document.examined;
    }),
  );
  expect(examined[0]).toMatchObject({ document: { kind: 'Document' } });
  for (const each of examined) expect(each).toBe(examined[0]);
});

test('where the examination of a document fails, it fails for all who wait for it, and for who sends it later', async () => {
  // Validation throws, since a type has no fields.
  const broken = buildSchema(
    'type Query { domain(name: String!): Domain } type Domain { name: String } type Empty',
  );
  const documents = new Documents(broken, { maxCost: 1_000_000, introspection: true });
  const examine = async () => {
    const document = await documents.inTurn(documents.identify({ query: QUERY, id: undefined }), 'client');
    await documents.examineInTurns(document, 'client');
  };
  const failures = await Promise.allSettled([examine(), examine(), examine()]);
  failures.push(...(await Promise.allSettled([examine()])));
  for (const failure of failures) {
    expect(failure).toMatchObject({ reason: { message: expect.stringContaining('Empty') } });
  }
});

test('documents that differ are counted apart', () => {
  const documents = createDocuments();
  for (let time = 0; time < 62; time += 1) {
    expect(send(documents, time % 2 === 0 ? QUERY : `${QUERY} `)).toBeUndefined();
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
    ['that is long', `${QUERY} # ${'x'.repeat(12_000)}`],
    [
      'with many fields of objects of several types',
      `{ ${aliases(1, `dnsRecords { ... on DnsRecordEntry { ${Array.from({ length: 31 }, (_, at) => `b${at}: host`).join(' ')} } }`)} }`,
    ],
    ['with many selections', `{ ${aliases(201)} }`],
    ['with many lists of objects of several types', `{ ${aliases(26, 'dnsRecords { __typename }')} }`],
    [
      'with many selections by fragments',
      `{ ${aliases(20, '...F')} } fragment F on Domain { ${'name '.repeat(20)}}`,
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

describe('what is known of documents has a bound', () => {
  test('and the compiled ones that were used longest ago go first', () => {
    const documents = createDocuments();
    const sources = Array.from(
      { length: 200 },
      (_, index) => `{ domain(name: "d${index}") { ${'name '.repeat(30)}} }`,
    );
    const [first = '', ...others] = sources;
    for (let time = 0; time < 32; time += 1) send(documents, first);
    for (const source of others) {
      for (let time = 0; time < 32; time += 1) send(documents, source);
      // Used again and again.
      expect(send(documents, first)).toBeDefined();
    }
    const kept = sources.filter((source) => send(documents, source) !== undefined);
    expect(kept.length).toBeLessThan(150);
    expect(kept).toContain(first);
  });

  test('of 400,000 characters of text, and one document does not remove the others', () => {
    const documents = createDocuments();
    const source = (index: number, length = 20_000) => `{ __typename } # ${index} ${'x'.repeat(length)}`;
    const isKnown = (query: string) => {
      const { hash } = documents.identify({ query, id: undefined });
      return documents.valid(hash) !== undefined;
    };
    for (let index = 0; index < 100; index += 1) {
      send(documents, source(index));
      expect(isKnown(source(0))).toBe(true);
    }
    const kept = Array.from({ length: 100 }, (_, index) => isKnown(source(index)));
    expect(kept.filter((known) => known).length).toBe(19);
    expect(kept[1]).toBe(false);
    expect(kept[99]).toBe(true);
    send(documents, source(0, 300_000));
    expect(isKnown(source(0, 300_000))).toBe(false);
    expect(isKnown(source(99))).toBe(true);
  });
});

test('listed operations stay known, however long they are together', () => {
  const listed = new Map(
    Array.from(
      { length: 120 },
      (_, at) => [`operation${at}`, `${QUERY} # ${at} ${'x'.repeat(5_000)}`] as const,
    ),
  );
  const documents = new Documents(schema, { maxCost: 1_000_000, introspection: true, listed });
  for (const [id, query] of listed) {
    const document = documents.identify({ query: undefined, id });
    expect(documents.identify({ query, id: undefined })).toBe(document);
    documents.release(document);
    expect(documents.valid(document.hash)).toBeDefined();
  }
});

test('a document that is too long to be kept is not known by its SHA-256, also while it is executed', () => {
  const documents = createDocuments();
  const document = documents.identify({ query: `${QUERY} # ${'x'.repeat(110_000)}`, id: undefined });
  documents.examine(document, { operationName: null, variables: { name: 'a' }, posted: true });
  expect(() => documents.identify({ query: undefined, id: document.hash })).toThrow('PersistedQueryNotFound');
  expect(documents.valid(document.hash)).toBeDefined();
  documents.release(document);
  expect(documents.valid(document.hash)).toBeUndefined();
});
