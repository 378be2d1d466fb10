import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertDomain } from '../support/rows.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({
    role: 'api',
    graphql: { maxFields: 1000, introspection: true, persistedOnly: undefined },
  });
  await insertDomain(service.database.pool, { name: 'a.example' });
});
afterAll(() => service.stop());

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function persisted(sha256Hash: unknown, version: unknown = 1) {
  return { extensions: { persistedQuery: { version, sha256Hash } } };
}

async function post(body: object, accept = 'application/json') {
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const NAME = 'query Name($name: String!) { domain(name: $name) { name } }';
const variables = { name: 'a.example' };

describe('automatic persisted queries', () => {
  test('a document that is sent once with its SHA-256 is known by it from then on', async () => {
    const query = `${NAME} # registered`;
    const named = { ...persisted(sha256(query)), variables };
    const before = await post(named);
    expect(before.status).toBe(200);
    expect(JSON.parse(before.text)).toMatchObject({
      errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }],
    });
    const registering = await post({ ...named, query });
    expect(registering.text).toBe('{"data":{"domain":{"name":"a.example"}},"extensions":{"cost":1}}\n');
    expect(await post(named)).toEqual(registering);
  });

  test('by GET too', async () => {
    const query = `${NAME} # by GET`;
    await post({ ...persisted(sha256(query)), query, variables });
    const parameters = new URLSearchParams({
      variables: JSON.stringify(variables),
      extensions: JSON.stringify(persisted(sha256(query)).extensions),
    });
    const response = await fetch(`${service.url}/graphql?${parameters}`);
    expect(await response.json()).toEqual({
      data: { domain: { name: 'a.example' } },
      extensions: { cost: 1 },
    });
  });

  test.each(['application/graphql-response+json', 'application/graphql-response+json; charset=utf-8'])(
    'one that is not known is a failed request in %s',
    async (accept) => {
      const { status } = await post(persisted(sha256('unknown')), accept);
      expect(status).toBe(400);
    },
  );

  test.each([
    ['a SHA-256 of another document', { ...persisted(sha256('other')), query: NAME }],
    ['another version', { ...persisted(sha256(NAME), 2), query: NAME }],
  ])('%s is rejected, and not taken up', async (_case, body) => {
    const { status, text } = await post({ ...body, variables });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
    const { text: after } = await post({ ...persisted(sha256('other')), variables });
    expect(after).toContain('PERSISTED_QUERY_NOT_FOUND');
    expect(service.logged.filter(({ err }) => err !== undefined)).toEqual([]);
  });

  test.each(['{ domain(', '{ nonsense }'])(
    'a document that is not answered is not taken up: %.20s',
    async (query) => {
      await post({ ...persisted(sha256(query)), query });
      expect((await post(persisted(sha256(query)))).text).toContain('PERSISTED_QUERY_NOT_FOUND');
    },
  );

  test('the limits hold for a known one, by the variables of each request', async () => {
    const query =
      'query T($first: Int) { domain(name: "a.example") { changes(first: $first) { nodes { id } } } }';
    const named = persisted(sha256(query));
    const ask = (first: number, body: object = named) => post({ ...body, variables: { first } });
    expect((await ask(1, { ...named, query })).status).toBe(200);
    expect((await ask(450)).status).toBe(200);
    const { status, text } = await ask(451);
    expect(status).toBe(400);
    expect(text).toContain('QUERY_TOO_COMPLEX');
  });

  test('a known one that comes again and again is answered as the first time', async () => {
    const query = `${NAME} # often`;
    const named = { ...persisted(sha256(query)), variables };
    const answers = new Set([JSON.stringify(await post({ ...named, query }))]);
    for (let time = 0; time < 40; time += 1) answers.add(JSON.stringify(await post(named)));
    expect([...answers]).toHaveLength(1);
  });
});
