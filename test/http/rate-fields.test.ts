import { expect, test } from 'vitest';
import { graphqlRequest } from '../support/ask.js';
import { databaseOfFile } from '../support/database.js';
import { aliases } from '../support/every-field.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startServiceForTest, type TestService } from '../support/service.js';

const database = databaseOfFile(({ pool }) => insertDomain(pool, { name: 'example.com' }));

const UNKNOWN_TOKEN = `dms_${'A'.repeat(43)}`;
const DOMAIN = '/api/v1/domain/example.com';
const NAME = '{ domain(name: "example.com") { name } }';

/** A service in which clients without a token may spend so many units. */
const start = (anonymous: number, trustProxy = 0) =>
  startServiceForTest({ database, rateLimits: { anonymous, token: 99 }, trustProxy });

/** A request, and what its answer says of limits, with the seconds as `t`. */
async function told(service: TestService, path: string, init: RequestInit = {}) {
  const response = await service.fetch(path, init);
  const { status, headers } = response;
  const body = await response.text();
  const limit = headers.get('ratelimit');
  const seconds = /;t=(\d+)$/.exec(limit ?? '')?.[1];
  expect(status === 429 ? [seconds] : [null, seconds]).toContain(headers.get('retry-after'));
  expect(Number(seconds ?? 1)).toBeGreaterThanOrEqual(1);
  expect(Number(seconds ?? 1)).toBeLessThanOrEqual(60);
  expect(body).toContain(status === 429 ? ` Try again in ${seconds} s.` : '');
  const policy = headers.get('ratelimit-policy');
  return { status, policy, limit: limit?.replace(/\d+$/, 't') ?? null, body };
}

const left = (count: number, budget = 'anonymous') => `"${budget}";r=${count};t=t`;

test('RateLimit tells REST what is left: of an answer, of nothing recorded, of a bad name, and of a rejection', async () => {
  const service = await start(4);
  const policy = '"anonymous";q=4;w=60';
  for (const [name, status, limit] of [
    ['example.com', 200, left(3)],
    ['example.net', 404, left(2)],
    ['a..b', 400, left(1)],
    ['%zz', 400, left(0)],
    ['example.com', 429, left(0)],
  ] as const)
    expect(await told(service, `/api/v1/domain/${name}`)).toMatchObject({ status, policy, limit });
  const byToken = { status: 200, policy: '"token";q=99;w=60', limit: left(98, 'token') };
  const headers = bearer(await service.createToken());
  expect(await told(service, DOMAIN, { headers })).toMatchObject(byToken);
});

test('a request of REST costs what its operation does, by HEAD, revalidated, rejected and as a feed too; 405 and unknown paths cost nothing', async () => {
  const service = await start(99);
  const headers = bearer(await service.createToken({ scopes: [] }));
  const { etag = '' } = Object.fromEntries((await service.fetch(DOMAIN)).headers);
  const revalidated = { headers: { 'if-none-match': etag } };
  for (const [path, init, status, limit] of [
    [DOMAIN, revalidated, 304, left(97)],
    [DOMAIN, { headers: { 'if-none-match': 'W/"other"' } }, 200, left(96)],
    [DOMAIN, { method: 'HEAD' }, 200, left(95)],
    [`${DOMAIN}/dns`, {}, 401, left(94)],
    [`${DOMAIN}/dns`, { headers }, 403, left(98, 'token')],
    // It takes 1, and is not told.
    [DOMAIN, { headers: bearer(UNKNOWN_TOKEN) }, 401, null],
    [DOMAIN, { method: 'PUT' }, 405, null],
    ['/api/v1/nothing', {}, 404, null],
    [DOMAIN, revalidated, 304, left(92)],
    [`${DOMAIN}?at=${'1'.repeat(15_000)}`, {}, 400, left(91)],
    ['/api/v1/changes', {}, 200, left(89)],
    ['/api/v1/changes.atom', {}, 200, left(87)],
    [`${DOMAIN}/changes`, {}, 200, left(84)],
    [`${DOMAIN}/changes.json`, {}, 200, left(81)],
  ] as const)
    expect(await told(service, path, init)).toMatchObject({ status, limit });
});

test('RateLimit tells GraphQL what is left, of documents that come seldom and often', async () => {
  const service = await start(9);
  for (const count of [8, 7, 6, 5, 4, 3, 2, 1, 0]) {
    const answer = await told(service, '/graphql', graphqlRequest(NAME));
    expect(answer).toMatchObject({ status: 200, policy: '"anonymous";q=9;w=60', limit: left(count) });
  }
  const { status, limit, body } = await told(service, '/graphql', graphqlRequest(NAME));
  expect([status, limit]).toEqual([200, left(0)]);
  expect(JSON.parse(body)).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
});

test('RateLimit is absent where nothing limited was requested', async () => {
  const service = await start(9);
  for (const path of ['/', '/nothing', '/api/v1/nothing'])
    expect(await told(service, path)).toMatchObject({ policy: null, limit: null });
});

const from = (address: string, headers = {}) => ({ headers: { 'x-forwarded-for': address, ...headers } });

test('failed authentications take 1 each from what their address may spend, and are then rejected with 429, whatever the credential and the path', async () => {
  const service = await start(3, 1);
  for (const guess of [UNKNOWN_TOKEN, 'x', `dms_${'B'.repeat(43)}`])
    expect((await told(service, DOMAIN, from('192.0.2.1', bearer(guess)))).status).toBe(401);
  for (const authorization of [`Bearer ${UNKNOWN_TOKEN}`, 'Basic x']) {
    for (const path of [DOMAIN, '/graphql', '/nothing']) {
      const { status, body } = await told(service, path, from('192.0.2.1', { authorization }));
      expect([status, body]).toEqual([429, expect.stringContaining('"code":"RATE_LIMITED"')]);
    }
  }
  expect((await told(service, DOMAIN, from('192.0.2.1'))).status).toBe(429);
  expect((await told(service, DOMAIN, from('192.0.2.2'))).status).toBe(200);
  // Who shares the address has a budget by a token, also one that comes for the first time.
  const valid = bearer(await service.createToken());
  const limit = left(98, 'token');
  expect(await told(service, DOMAIN, from('192.0.2.1', valid))).toMatchObject({ status: 200, limit });
});

const OTHERS = Array.from({ length: 300 }, (_, at) => `198.51.100.${at % 250}`).join(', ');

const IPV6 = ['2001:db8::1', '2001:DB8:0:0:ffff::2', '2001:db8:0:0:1::'];
const IN_LISTS = [`${OTHERS}, 192.0.2.3`, '192.0.2.3', `${OTHERS},192.0.2.3`];

test.each([
  ['a network of IPv6', 1, IPV6, '2001:db8:0:1::1'],
  ['what the nearest proxy names, however long the list is', 1, IN_LISTS, '192.0.2.4'],
  ['its address, where no proxy is trusted', 0, ['192.0.2.1', '192.0.2.2', '192.0.2.3'], undefined],
])('a client is %s', async (_what, trustProxy, addresses, other) => {
  const service = await start(2, trustProxy);
  const statuses = [];
  for (const address of addresses) statuses.push((await told(service, DOMAIN, from(address))).status);
  expect(statuses).toEqual([200, 200, 429]);
  if (other !== undefined) expect((await told(service, DOMAIN, from(other))).status).toBe(200);
});

test.each([
  ['a question about the schema', '{ __schema { types { name } } }', 200],
  ['a document that is not valid', '{ nothing }', 400],
  ['what is no document', '{', 400],
  ['one in which all is left out', '{ domain(name: "example.com") @skip(if: true) { name } }', 200],
  ['a variable that is missing', 'query ($name: String!) { domain(name: $name) { name } }', 400],
])('a GraphQL request in which nothing costs takes 1, or gets 429: %s', async (_what, text, status) => {
  const service = await start(2);
  const ask = (headers = {}) => told(service, '/graphql', graphqlRequest(text, {}, headers));
  for (const limit of [left(1), left(0)]) expect(await ask()).toMatchObject({ status, limit });
  const rejected = await ask();
  expect(rejected).toMatchObject({ status: 429, limit: left(0) });
  expect(JSON.parse(rejected.body)).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
  expect((await ask(bearer(await service.createToken()))).status).toBe(status);
});

test('what a client cannot pay for has the error RATE_LIMITED in its place, beside the data of what was paid for', async () => {
  const service = await start(2);
  const fields = aliases(3, 'domain(name: "example.com") { name }');
  const { status, body } = await told(service, '/graphql', graphqlRequest(`{ ${fields} }`));
  expect(status).toBe(200);
  const extensions = { code: 'RATE_LIMITED', retryAfter: expect.any(Number) };
  expect(JSON.parse(body)).toEqual({
    data: { a0: { name: 'example.com' }, a1: { name: 'example.com' }, a2: null },
    errors: [{ message: expect.stringMatching(/ Try again in \d+ s\./), path: ['a2'], extensions }],
    extensions: { cost: 2 },
  });
});

test('a request whose document alone is too dear is not begun', async () => {
  const service = await start(1);
  const long = graphqlRequest(`{ domain(name: "example.com") { ${aliases(400, 'name')} } }`);
  expect(await told(service, '/graphql', long)).toMatchObject({ status: 200 });
  expect(await told(service, '/graphql', long)).toMatchObject({ status: 429, limit: left(0) });
});
