import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { insertDomain } from '../support/rows.js';
import { startTestService } from '../support/service.js';

const folder = mkdtempSync(join(tmpdir(), 'dms-operations-'));
let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'a.example' });
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

const NAME = 'query Name($name: String!) { domain(name: $name) { name } }';
const TYPES =
  'query Types($types: [String!]) { domain(name: "a.example") { dnsRecords(types: $types) { ... on DnsRecordEntry { host } } } }';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const MANIFEST = {
  format: 'apollo-persisted-query-manifest',
  version: 1,
  operations: [
    { id: sha256(NAME), name: 'Name', type: 'query', body: NAME },
    { id: 'types', name: 'Types', type: 'query', body: TYPES },
  ],
};

let files = 0;

/** The service with a file of operations, which holds the text or the JSON of the content. */
function start(content: unknown) {
  files += 1;
  const persistedOnly = join(folder, `${files}.json`);
  writeFileSync(persistedOnly, typeof content === 'string' ? content : JSON.stringify(content));
  return startTestService({
    role: 'api',
    database,
    graphql: { maxFields: 1000, introspection: true, persistedOnly },
  });
}

async function post(url: string, body: object) {
  const statements = vi.spyOn(pg.Pool.prototype, 'query');
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const sent = statements.mock.calls.length;
  statements.mockRestore();
  return { status: response.status, text, statements: sent };
}

function named(sha256Hash: string) {
  return { extensions: { persistedQuery: { version: 1, sha256Hash } } };
}

const variables = { name: 'a.example' };
const ANSWER = '{"data":{"domain":{"name":"a.example"}},"extensions":{"cost":1}}\n';

describe.each([
  ["Apollo's persisted query manifest", MANIFEST],
  ['an object of ids and documents', { [sha256(NAME)]: NAME, types: TYPES }],
])('with a list of operations, as %s', (_format, content) => {
  test('each of them is answered, by its id or its text, time and again', async () => {
    const service = await start(content);
    try {
      const bodies = [
        { query: NAME, variables },
        { ...named(sha256(NAME)), variables },
        { ...named(sha256(NAME)), query: NAME, variables },
      ];
      for (let time = 0; time < 20; time += 1) {
        for (const body of bodies) expect(await post(service.url, body)).toMatchObject({ text: ANSWER });
      }
      const byId = await post(service.url, { ...named('types'), variables: { types: ['A'] } });
      expect(JSON.parse(byId.text)).toEqual({
        data: { domain: { dnsRecords: [] } },
        extensions: { cost: 1 },
      });
    } finally {
      await service.stop();
    }
  });

  test('everything else is rejected with 400 PERSISTED_QUERY_NOT_IN_LIST, and the database is not queried', async () => {
    const service = await start(content);
    const other = `${NAME} `;
    const query = encodeURIComponent(other);
    try {
      for (const body of [
        { query: other, variables },
        { ...named(sha256(other)), variables },
        { ...named(sha256(other)), query: other, variables },
        { ...named(sha256(NAME)), query: other, variables },
        { query: '{ __schema { queryType { name } } }' },
        { query: '{ domain(' },
      ]) {
        const { status, text, statements } = await post(service.url, body);
        expect(JSON.parse(text)).toMatchObject({
          errors: [{ extensions: { code: 'PERSISTED_QUERY_NOT_IN_LIST' } }],
        });
        expect([status, statements]).toEqual([400, 0]);
      }
      expect(await post(service.url, { operationName: 'Name', variables })).toMatchObject({
        status: 400,
        statements: 0,
      });
      expect((await fetch(`${service.url}/graphql?query=${query}`)).status).toBe(400);
    } finally {
      await service.stop();
    }
  });
});

test('an operation of the list costs what its variables say, and has the same maximum', async () => {
  const query =
    'query ($first: Int) { domain(name: "a.example") { changes(first: $first) { nodes { id } } } }';
  const service = await start({ page: query });
  try {
    const small = await post(service.url, { ...named('page'), variables: { first: 101 } });
    expect(JSON.parse(small.text)).toMatchObject({ extensions: { cost: 4 } });
    const { status, text } = await post(service.url, { ...named('page'), variables: { first: 500 } });
    expect(status).toBe(400);
    expect(text).toContain('QUERY_TOO_COMPLEX');
  } finally {
    await service.stop();
  }
});

test('there is no Sandbox and no GraphiQL where only the operations of a list are answered', async () => {
  const service = await start(MANIFEST);
  try {
    const response = await fetch(`${service.url}/graphql`, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    });
    expect(response.status).toBe(400);
    expect((await fetch(`${service.url}/graphiql`)).status).toBe(404);
    const catalog = await (await fetch(`${service.url}/.well-known/api-catalog`)).text();
    expect(catalog).not.toContain('graphiql');
    // The start page says so.
    const page = await (await fetch(`${service.url}/`)).text();
    expect(page).not.toMatch(/Sandbox|href="\/graphi?ql"/);
    expect(page).toContain('<code>/graphql</code>: for the operations of <code>PERSISTED_ONLY</code> only');
  } finally {
    await service.stop();
  }
});

describe('a list that is not in order stops the start, with one line that names the setting', () => {
  test.each<[string, unknown, RegExp]>([
    [
      'no JSON',
      '{',
      /^PERSISTED_ONLY is ".*": it is not JSON; write a JSON object of ids and documents, .*$/,
    ],
    ['a list', [NAME], /^PERSISTED_ONLY is ".*": it is neither format; .*$/],
    ['no documents', { a: 1 }, /^PERSISTED_ONLY is ".*": it is neither format; .*$/],
    ['an empty object', {}, /^PERSISTED_ONLY is ".*": it contains no operation; .*$/],
    ['a manifest of another version', { ...MANIFEST, version: 2 }, /it is neither format/],
    ['a manifest without operations', { ...MANIFEST, operations: null }, /it is neither format/],
    ['a manifest with an operation without an id', { ...MANIFEST, operations: [{ body: NAME }] }, /neither/],
    ['a manifest with no operation', { ...MANIFEST, operations: ['a'] }, /^PERSISTED_ONLY.*$/],
    [
      'an operation that the schema does not allow',
      { good: NAME, bad: '{ nonsense }' },
      /^PERSISTED_ONLY: the operation bad of the file is not allowed: Cannot query field "nonsense".*$/,
    ],
    [
      'no GraphQL',
      { bad: '{ domain(' },
      /^PERSISTED_ONLY: the operation bad of the file is not allowed: .*$/,
    ],
    [
      'an operation beyond a limit',
      { bad: `{ __schema { queryType ${'{ ofType '.repeat(20)} { name ${'}'.repeat(23)}` },
      /^PERSISTED_ONLY: the operation bad of the file is not allowed: The query has fields more than 20 levels deep.*$/,
    ],
    [
      'an operation without variables that costs too much',
      {
        bad: `{ ${Array.from({ length: 501 }, (_, at) => `a${at}: domain(name: "a.example") { name }`).join(' ')} }`,
      },
      /^PERSISTED_ONLY: the operation bad of the file is not allowed: The query asks for about 25551 fields; 1000 are allowed\. .*$/,
    ],
  ])('%s', async (_case, content, message) => {
    await expect(start(content)).rejects.toThrow(message);
  });

  test('no file', async () => {
    const graphql = { maxFields: 1000, introspection: true, persistedOnly: join(folder, 'none.json') };
    await expect(startTestService({ database, graphql })).rejects.toThrow(
      /^PERSISTED_ONLY is ".*none\.json": ENOENT.*; write a JSON object of ids .*$/,
    );
  });
});
