import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { getOperationAST, parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PublicError } from '../../../src/model/errors.js';
import { createRestV1 } from '../../../src/rest/v1/handler.js';
import { openApiDocument } from '../../../src/rest/v1/openapi/document.js';
import type { Parameter } from '../../../src/rest/v1/parameters.js';
import { problemOf, sendProblem } from '../../../src/rest/v1/problem.js';
import { ROUTES, type Route } from '../../../src/rest/v1/routes.js';
import { openTestDatabase, type TestDatabase } from '../../support/database.js';
import { anonymous, openExecutor } from '../../support/graphql-executor.js';
import { insertDomain } from '../../support/rows.js';

const TEXT: Omit<Parameter, 'name' | 'schema'> = { description: 'A text.', example: 'a' };

/** A row with a query and without validators, whose body shows what its operation is given. */
const WITH_QUERY: readonly Route[] = ROUTES.slice(0, 1).map((route) => ({
  ...route,
  path: '/{domain}/shown',
  parameters: [
    { ...TEXT, name: 'domain', in: 'path', schema: { type: 'string' } },
    { ...TEXT, name: 'from', schema: { type: 'string', enum: ['a', '+1 2'] }, required: true },
    { ...TEXT, name: 'order', schema: { type: 'string', default: 'OLDEST_FIRST' } },
    { ...TEXT, name: 'kinds', schema: { type: 'array', items: { type: 'string' } } },
  ],
  missing: (variables) => new PublicError('DOMAIN_NOT_FOUND', JSON.stringify(variables)),
  state: null,
}));

let database: TestDatabase;
let server: Server;
let url: string;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  const cache = { megabytes: 1, seconds: 0 };
  const rest = createRestV1(
    openExecutor(database),
    { basePath: '', maxAge: 60, cache, onInternalError: () => {} },
    WITH_QUERY,
  );
  server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    rest(request, response, path, anonymous(), () => '').catch((error) =>
      sendProblem(
        request,
        response,
        problemOf(error, () => {}),
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await database.close();
});

async function ask(path: string): Promise<[status: number, detail: string]> {
  const response = await fetch(url + path);
  const { detail } = JSON.parse(await response.text());
  return [response.status, detail];
}

describe('a route whose row has query parameters', () => {
  test('gives its operation their decoded values, all values of a list, and the default of an absent one', async () => {
    const [status, detail] = await ask('/b%C3%BCcher.example/shown?from=%2B1+2&kinds=a&kinds=%26');
    expect(status).toBe(404);
    expect(JSON.parse(detail)).toEqual({
      domain: 'bücher.example',
      from: '+1 2',
      order: 'OLDEST_FIRST',
      kinds: ['a', '&'],
    });
  });

  test.each([
    [
      '/a.example/shown?from=a&form=b',
      'Unknown query parameter "form". This operation has: from, order, kinds.',
    ],
    [
      '/a.example/shown?from=a&domain=b',
      'Unknown query parameter "domain". This operation has: from, order, kinds.',
    ],
    [
      '/a.example/shown?from=a&From',
      'Unknown query parameter "From". This operation has: from, order, kinds.',
    ],
    ['/a.example/shown', 'The query must have the parameter from.'],
    ['/a.example/shown?from=a&from=a', 'The query parameter from is given more than once.'],
    ['/a.example/shown?from=wrong', 'from: "wrong" is not one of a, +1 2.'],
  ])('rejects %s with 400, and says why', async (path, detail) => {
    expect(await ask(path)).toEqual([400, detail]);
  });

  test('answers a found domain, without validators if it has no operation for its state', async () => {
    const response = await fetch(`${url}/example.com/shown?from=a`, { headers: { 'if-none-match': '*' } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ domain: 'example.com' });
    for (const field of ['etag', 'last-modified', 'cache-control']) {
      expect(response.headers.get(field)).toBeNull();
    }
  });

  test('has them in the OpenAPI document', () => {
    const document = openApiDocument(WITH_QUERY, { basePath: '', version: '1' });
    expect(document).toMatchObject({
      paths: {
        '/{domain}/shown': {
          get: {
            parameters: [
              { name: 'domain', in: 'path', required: true },
              { name: 'from', in: 'query', required: true, schema: { type: 'string' } },
              { name: 'order', in: 'query', required: false, schema: { default: 'OLDEST_FIRST' } },
              { name: 'kinds', in: 'query', required: false, schema: { type: 'array' } },
            ],
          },
        },
      },
    });
    expect(document).not.toHaveProperty(['paths', '/{domain}/shown', 'get', 'responses', '304']);
  });
});

test.each(
  ROUTES.flatMap(({ operationId, runs, state }) =>
    [`${runs?.operationId ?? operationId}.graphql`, state ?? []].flat(),
  ),
)('%s selects one field, whose cost the rate limit counts', (file) => {
  const operations = new URL('../../../src/rest/v1/operations/', import.meta.url);
  const operation = getOperationAST(parse(readFileSync(new URL(file, operations), 'utf8')));
  const fields = operation?.selectionSet.selections.map((selection) =>
    'name' in selection ? selection.name.value : undefined,
  );
  expect(fields).toHaveLength(1);
  const limited = openExecutor(database).schema.getQueryType()?.getFields()[fields?.[0] ?? ''];
  expect(limited?.astNode?.directives?.map(({ name }) => name.value)).toEqual(['cost', 'rateLimit']);
});
