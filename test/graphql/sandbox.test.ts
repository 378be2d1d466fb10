import { readFileSync } from 'node:fs';
import express from 'express';
import { type DocumentNode, Kind, parse, print, validate } from 'graphql';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { createGraphqlOverHttp } from '../../src/graphql/over-http.js';
import { sandboxDocument } from '../../src/graphql/sandbox.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { anonymous, openExecutor } from '../support/graphql-executor.js';
import { insertDnsRecords, insertDomain, insertHeaderChanges } from '../support/rows.js';

const SOURCE = readFileSync(new URL('../../samples/queries.graphql', import.meta.url), 'utf8');

let database: TestDatabase;
let executor: GraphqlExecutor;

beforeAll(async () => {
  database = await openTestDatabase();
  executor = openExecutor(database);
  await insertDomain(database.pool, { name: 'example.com', created: 0n });
  await insertDnsRecords(database.pool, 'example.com', [{ type: 'A', rdata: { ip: '192.0.2.1' } }]);
  await insertHeaderChanges(database.pool, 'example.com', [
    { name: 'server', observedAt: 0n, value: 'nginx' },
    { name: 'via', observedAt: 0n, value: '1.1 a' },
    { name: 'via', observedAt: 1n },
  ]);
});
afterAll(() => database.close());

async function serve(sandbox: boolean) {
  const server = await createGraphqlOverHttp(executor, {
    // As ANONYMOUS_SCOPES has it unless it is set.
    viewerOf: () => ({ ...anonymous(), scopes: new Set(['search:read']) }),
    onInternalError: () => {},
    introspection: true,
    sandbox,
    maxFields: 100_000,
  });
  return express().use('/graphql', server.handle);
}

function open(app: express.Express) {
  return supertest(app).get('/graphql').set('accept', 'text/html,application/xhtml+xml,*/*;q=0.8');
}

test('the domains of the ready queries are in the samples', () => {
  const samples = readFileSync(new URL('../../samples/observations.ndjson', import.meta.url), 'utf8');
  const recorded = new Set(
    samples
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).domain),
  );
  const asked = [...SOURCE.matchAll(/(?:name:|\$domain: String! =) "([^"]+)"/g)].map(([, name]) => name);
  expect(asked.length).toBeGreaterThan(2);
  expect(asked.filter((name) => !recorded.has(name))).toEqual([]);
});

describe('GET /graphql in a browser', () => {
  test('opens Apollo Sandbox with the ready queries', async () => {
    const response = await open(await serve(true));
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(response.text).toContain('new window.EmbeddedSandbox(');
    for (const name of [
      'WholeHistory',
      'PresentRecords',
      'RemovedRecords',
      'AddressesOverTime',
      'BeforeAndAfter',
      'HeadersNow',
    ]) {
      expect(response.text).toContain(`query ${name}(`);
    }
    expect(response.text).toContain('"variables":{"domain":"example.com"}');
  });

  test('permits what the page loads, and nothing else', async () => {
    const response = await open(await serve(true));
    const policy = new Map(
      String(response.headers['content-security-policy'])
        .split('; ')
        .map((directive) => {
          const [name = '', ...sources] = directive.split(' ');
          return [name, sources];
        }),
    );
    const [nonce = ''] = policy.get('script-src') ?? [];
    expect(nonce).toMatch(/^'nonce-[0-9a-f]{64}'$/);
    expect(response.text, 'the nonce of its scripts').toContain(`<script nonce="${nonce.slice(7, -1)}">`);
    expect(policy.get('default-src')).toEqual(["'none'"]);
    expect(policy.get('connect-src')).toEqual(["'self'"]);
    expect([...policy.values()].flat()).not.toContain("'unsafe-inline'");
    const body = response.text.slice(response.text.indexOf('<link'));
    for (const [, element = '', url = ''] of body.matchAll(
      /<(script|link)[^>]* (?:src|href)="(https:[^"]*)"/g,
    )) {
      const { origin } = new URL(url);
      const permitted = [...policy.values()].some((sources) => sources.includes(origin));
      expect(permitted, `${element} ${origin}`).toBe(true);
    }
    const again = await open(await serve(true));
    expect(again.headers['content-security-policy']).not.toContain(nonce);
  });

  test('opens nothing where that is switched off', async () => {
    const response = await open(await serve(false));
    expect(response.status).toBe(400);
    expect(response.text).not.toContain('<html');
  });

  test('leaves other answers their policy', async () => {
    const response = await supertest(await serve(true))
      .post('/graphql')
      .send({ query: '{ __typename }' });
    expect(response.headers['content-security-policy']).toBeUndefined();
  });
});

describe('the ready queries', () => {
  const document = parse(SOURCE);

  test('are valid, and fit into the address that Apollo loads them by', () => {
    expect(validate(executor.schema, document)).toEqual([]);
    // An address of 8,192 octets is what content delivery networks allow.
    expect(encodeURIComponent(sandboxDocument()).length).toBeLessThan(7800);
    expect(print(parse(sandboxDocument()))).toBe(print(document));
    expect(SOURCE, 'would end the script that holds it').not.toContain('</');
  });

  test.each(operationNames(document))('%s runs as it is', async (name) => {
    const response = await supertest(await serve(true))
      .post('/graphql')
      .send({ query: SOURCE, operationName: name });
    expect(response.body.errors).toBeUndefined();
    expect(Object.values(response.body.data)[0], 'example.com').not.toBeNull();
  });
});

test('HeadersNow tells a header that is gone from one that is there', async () => {
  const response = await supertest(await serve(true))
    .post('/graphql')
    .send({ query: SOURCE, operationName: 'HeadersNow' });
  expect(response.body.data.domain.httpHeaders).toEqual([
    { name: 'server', present: true, value: 'nginx' },
    { name: 'via', present: false, value: '1.1 a' },
  ]);
});

function operationNames(document: DocumentNode): string[] {
  return document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION && node.name !== undefined ? [node.name.value] : [],
  );
}
