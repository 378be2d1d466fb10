import { readFileSync } from 'node:fs';
import { Kind, parse, print, validate } from 'graphql';
import { expect, test } from 'vitest';
import { sandboxDocument } from '../../src/graphql/sandbox.js';
import { createSchema } from '../../src/graphql/schema.js';
import { graphqlRequest } from '../support/ask.js';
import { serviceOfFile, withSamples } from '../support/service.js';

const SOURCE = readFileSync(new URL('../../samples/queries.graphql', import.meta.url), 'utf8');
const DOCUMENT = parse(SOURCE);
const QUERIES = DOCUMENT.definitions.flatMap((node) =>
  node.kind === Kind.OPERATION_DEFINITION && node.operation === 'query' ? [node.name?.value ?? ''] : [],
);

const service = serviceOfFile({}, withSamples);

async function open() {
  const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const response = await service.fetch('/graphql', { headers });
  const policy = response.headers.get('content-security-policy') ?? '';
  return {
    type: response.headers.get('content-type'),
    caching: response.headers.get('cache-control'),
    text: await response.text(),
    policy: new Map(policy.split('; ').map((each) => [each.replace(/ .*/, ''), each.split(' ').slice(1)])),
  };
}

async function run(operationName: string) {
  const body = JSON.stringify({ query: SOURCE, operationName });
  return JSON.parse(await (await service.fetch('/graphql', { ...graphqlRequest(SOURCE), body })).text());
}

test('GET /graphql opens Apollo Sandbox with the ready queries in a browser', async () => {
  const { type, text } = await open();
  expect(type).toBe('text/html; charset=utf-8');
  expect(text).toContain('new window.EmbeddedSandbox(');
  for (const name of ['WholeHistory', 'PresentRecords', 'AddressesOverTime', 'BeforeAndAfter', 'HeadersNow'])
    expect(text).toContain(`query ${name}(`);
  expect(text).toContain('"variables":{"domain":"example.com"}');
});

test('the policy of Sandbox permits what the page loads, and nothing else', async () => {
  const { text, policy, caching } = await open();
  const [nonce = ''] = policy.get('script-src') ?? [];
  expect(nonce).toMatch(/^'nonce-[0-9a-f]{64}'$/);
  expect(text, 'the nonce of its scripts').toContain(`<script nonce="${nonce.slice(7, -1)}">`);
  expect([policy.get('default-src'), policy.get('connect-src')]).toEqual([["'none'"], ["'self'"]]);
  const opened = 'https://sandbox.embed.apollographql.com';
  expect(policy.get('frame-src'), 'what the script opens').toEqual([opened]);
  const sources = [...policy.values()].flat();
  expect(sources).not.toContain("'unsafe-inline'");
  const body = text.slice(text.indexOf('<link'));
  for (const [, url = ''] of body.matchAll(/<(?:script|link)[^>]* (?:src|href)="(https:[^"]*)"/g))
    expect(sources).toContain(new URL(url).origin);
  expect((await open()).policy.get('script-src')).not.toContain(nonce);
  expect(caching, 'its nonce is for one page').toBe('no-store');
});

test('the ready queries are valid, and fit into the address that Apollo loads them by', () => {
  expect(validate(createSchema(), DOCUMENT)).toEqual([]);
  // An address of 8,192 octets is what content delivery networks allow.
  expect(encodeURIComponent(sandboxDocument()).length).toBeLessThan(7800);
  expect(print(parse(sandboxDocument()))).toBe(print(DOCUMENT));
  expect(SOURCE, 'would end the script that holds it').not.toContain('</');
});

test.each(QUERIES)('the ready query %s runs as it is, and finds something in the samples', async (name) => {
  const { data, errors } = await run(name);
  expect(errors).toBeUndefined();
  expect(Object.values(data)[0]).not.toBeNull();
});

test('the ready query HeadersNow tells a header that is gone from one that is there', async () => {
  const { data } = await run('HeadersNow');
  const present = data.domain.httpHeaders.map((header: { present: boolean }) => header.present);
  expect(new Set(present)).toEqual(new Set([true, false]));
});
