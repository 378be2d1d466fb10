import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { aliases } from '../support/every-field.js';
import { insertDomain } from '../support/rows.js';
import { serviceOfFile, startServiceForTest, type TestService } from '../support/service.js';

const folder = mkdtempSync(join(tmpdir(), 'dms-operations-'));
const GRAPHQL = { maxFields: 1000, introspection: true, persistedOnly: undefined };
const service = serviceOfFile({ role: 'api', graphql: GRAPHQL }, ({ database }) =>
  insertDomain(database.pool, { name: 'a.example' }),
);
afterAll(() => rmSync(folder, { recursive: true }));

const NAME = 'query Name($name: String!) { domain(name: $name) { name } }';
const TYPES =
  'query Types($types: [String!]) { domain(name: "a.example") { dnsRecords(types: $types) { ... on DnsRecordEntry { host } } } }';
const PAGE = 'query ($first: Int) { domain(name: "a.example") { changes(first: $first) { nodes { id } } } }';

const variables = { name: 'a.example' };
const ANSWER = '{"data":{"domain":{"name":"a.example"}},"extensions":{"cost":1}}\n';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const named = (sha256Hash: string, version = 1) => {
  return { extensions: { persistedQuery: { version, sha256Hash } } };
};

async function post(asked: TestService, body: object, accept = 'application/json') {
  const headers = { 'content-type': 'application/json', accept };
  const response = await asked.fetch('/graphql', { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

test('a document that is sent once with its SHA-256 is known by it from then on, by POST and GET', async () => {
  const query = `${NAME} # registered`;
  const byName = { ...named(sha256(query)), variables };
  const before = await post(service, byName);
  const errors = [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }];
  expect([before.status, JSON.parse(before.text)]).toMatchObject([200, { errors }]);
  for (const body of [{ ...byName, query }, ...Array(5).fill(byName)])
    expect(await post(service, body)).toEqual({ status: 200, text: ANSWER });
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(byName)) parameters.set(name, JSON.stringify(value));
  expect(await (await service.fetch(`/graphql?${parameters}`)).text()).toBe(ANSWER);
});

test('a document that is not known by its SHA-256 is a failed request in application/graphql-response+json', async () => {
  const { status } = await post(service, named(sha256('unknown')), 'application/graphql-response+json');
  expect(status).toBe(400);
});

test.each([
  ['with the SHA-256 of another one', { ...named(sha256('other')), query: NAME, variables }],
  ['by another version', { ...named(sha256(NAME), 2), query: NAME, variables }],
  ['that is no GraphQL', { ...named(sha256('{ domain(')), query: '{ domain(' }],
  ['that is not valid', { ...named(sha256('{ nonsense }')), query: '{ nonsense }' }],
])('a document %s is rejected, and not taken up', async (_which, body) => {
  expect((await post(service, body)).status).toBe(400);
  const { sha256Hash } = body.extensions.persistedQuery;
  const again = await post(service, { ...named(sha256Hash), variables });
  expect(again.text).toContain('PERSISTED_QUERY_NOT_FOUND');
  expect(service.logged.filter(({ err }) => err !== undefined)).toEqual([]);
});

test('the limits hold for a document that is known, by the variables of each request', async () => {
  const ask = (first: number, body: object = {}) =>
    post(service, { ...named(sha256(PAGE)), ...body, variables: { first } });
  expect((await ask(1, { query: PAGE })).status).toBe(200);
  expect((await ask(450)).status).toBe(200);
  const { status, text } = await ask(451);
  expect([status, text]).toEqual([400, expect.stringContaining('QUERY_TOO_COMPLEX')]);
});

const MANIFEST = {
  format: 'apollo-persisted-query-manifest',
  version: 1,
  operations: [
    { id: sha256(NAME), name: 'Name', type: 'query', body: NAME },
    { id: 'types', name: 'Types', type: 'query', body: TYPES },
  ],
};

let files = 0;

/** The service, until the test ends, with a file of operations: the text or the JSON of the content, or no file. */
function startListed(content: unknown) {
  files += 1;
  const persistedOnly = join(folder, `${files}.json`);
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  if (content !== undefined) writeFileSync(persistedOnly, text);
  const graphql = { ...GRAPHQL, persistedOnly };
  return startServiceForTest({ role: 'api', database: service.database, graphql });
}

test.each([
  ["Apollo's persisted query manifest", MANIFEST],
  ['an object of ids and documents', { [sha256(NAME)]: NAME, types: TYPES }],
])('each operation of %s is answered, by its id or its text, time and again', async (_format, content) => {
  const listed = await startListed(content);
  for (let time = 0; time < 5; time += 1) {
    for (const body of [
      { query: NAME, variables },
      { ...named(sha256(NAME)), variables },
      { ...named(sha256(NAME)), query: NAME, variables },
    ])
      expect(await post(listed, body)).toMatchObject({ text: ANSWER });
  }
  const byId = await post(listed, { ...named('types'), variables: { types: ['A'] } });
  expect(byId.text).toBe('{"data":{"domain":{"dnsRecords":[]}},"extensions":{"cost":1}}\n');
});

test('what is not in the list of operations is rejected with 400 PERSISTED_QUERY_NOT_IN_LIST, and the database is not queried', async () => {
  const listed = await startListed(MANIFEST);
  const other = `${NAME} `;
  const statements = vi.spyOn(pg.Pool.prototype, 'query');
  for (const body of [
    { query: other, variables },
    { ...named(sha256(other)), variables },
    { ...named(sha256(other)), query: other, variables },
    { ...named(sha256(NAME)), query: other, variables },
    { query: '{ __schema { queryType { name } } }' },
    { query: '{ domain(' },
    { operationName: 'Name', variables },
  ]) {
    const { status, text } = await post(listed, body);
    expect([status, text]).toEqual([400, expect.stringContaining('PERSISTED_QUERY_NOT_IN_LIST')]);
  }
  expect((await listed.fetch(`/graphql?query=${encodeURIComponent(other)}`)).status).toBe(400);
  expect(statements).not.toHaveBeenCalled();
  statements.mockRestore();
});

test('an operation of the list costs what its variables say, and has the same maximum', async () => {
  const listed = await startListed({ page: PAGE });
  const ask = (first: number) => post(listed, { ...named('page'), variables: { first } });
  expect(JSON.parse((await ask(101)).text)).toMatchObject({ extensions: { cost: 4 } });
  const { status, text } = await ask(500);
  expect([status, text]).toEqual([400, expect.stringContaining('QUERY_TOO_COMPLEX')]);
});

test('there is no Sandbox and no GraphiQL where only the operations of a list are answered, and the start page says so', async () => {
  const listed = await startListed(MANIFEST);
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  expect((await listed.fetch('/graphql', { headers: { accept } })).status).toBe(400);
  expect((await listed.fetch('/graphiql')).status).toBe(404);
  expect(await (await listed.fetch('/.well-known/api-catalog')).text()).not.toContain('graphiql');
  const page = await (await listed.fetch('/')).text();
  expect(page).not.toMatch(/Sandbox|href="\/graphi?ql"/);
  expect(page).toContain('<code>/graphql</code>: for the operations of <code>PERSISTED_ONLY</code> only');
});

const NOT_ALLOWED = 'PERSISTED_ONLY: the operation bad of the file is not allowed: ';
const DEEP = `{ __schema { queryType ${'{ ofType '.repeat(20)} { name ${'}'.repeat(23)}`;
const DEAR = `{ ${aliases(501, 'domain(name: "a.example") { name }')} }`;

test.each<[string, unknown, RegExp | string]>([
  ['no JSON', '{', /^PERSISTED_ONLY is ".*": it is not JSON; write a JSON object of ids and documents, .*$/],
  ['a list', [NAME], /^PERSISTED_ONLY is ".*": it is neither format; .*$/],
  ['no documents', { a: 1 }, /^PERSISTED_ONLY is ".*": it is neither format; .*$/],
  ['an empty object', {}, /^PERSISTED_ONLY is ".*": it contains no operation; .*$/],
  ['a manifest of another version', { ...MANIFEST, version: 2 }, /it is neither format/],
  ['a manifest without operations', { ...MANIFEST, operations: null }, /it is neither format/],
  ['a manifest with an operation without an id', { ...MANIFEST, operations: [{ body: NAME }] }, /neither/],
  ['a manifest with no operation', { ...MANIFEST, operations: ['a'] }, /^PERSISTED_ONLY.*$/],
  ['not valid for the schema', { good: NAME, bad: '{ nonsense }' }, `${NOT_ALLOWED}Cannot query field "non`],
  ['no GraphQL', { bad: '{ domain(' }, NOT_ALLOWED],
  ['beyond a limit', { bad: DEEP }, `${NOT_ALLOWED}The query has fields more than 20 levels deep`],
  ['too dear', { bad: DEAR }, `${NOT_ALLOWED}The query asks for about 25551 fields; 1000 are allowed. `],
  ['not there', undefined, /^PERSISTED_ONLY is ".*": ENOENT.*; write a JSON object of ids .*$/],
])('a list that is %s stops the start, with one line of the setting', async (_case, content, message) => {
  const error: Error = await startListed(content).then(
    () => new Error('It started.'),
    (thrown) => thrown,
  );
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain('\n');
});
