import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startTestService, type TestService, type TestServiceOptions } from '../support/service.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
});
afterAll(() => database.close());

async function withService(options: TestServiceOptions, work: (service: TestService) => Promise<void>) {
  const service = await startTestService({ database, ...options });
  try {
    await work(service);
  } finally {
    await service.stop();
  }
}

const UNKNOWN_TOKEN = `dms_${'A'.repeat(43)}`;
const DOMAIN = '/api/v1/domain/example.com';
const NAME = '{ domain(name: "example.com") { name } }';

/** A request, and what its answer says of limits, with the seconds as `t`. */
async function told({ url }: TestService, path: string, init: RequestInit = {}) {
  const response = await fetch(`${url}${path}`, init);
  const body = await response.text();
  const field = response.headers.get('ratelimit');
  const seconds = /;t=(\d+)$/.exec(field ?? '')?.[1];
  if (response.headers.has('retry-after')) expect(response.headers.get('retry-after')).toBe(seconds);
  expect(Number(seconds ?? 1)).toBeGreaterThanOrEqual(1);
  expect(Number(seconds ?? 1)).toBeLessThanOrEqual(60);
  expect(body).toContain(response.status === 429 ? ` Try again in ${seconds} s.` : '');
  return {
    status: response.status,
    policy: response.headers.get('ratelimit-policy'),
    field: field?.replace(/\d+$/, 't') ?? null,
    body,
  };
}

function query(text: string, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: text }),
  };
}

describe('RateLimit-Policy and RateLimit tell the state after the request', () => {
  test('in REST: of an answer, of one that nothing is recorded of, of a bad name, and of a rejection', async () => {
    await withService({ rateLimits: { anonymous: 4, token: 9 } }, async (service) => {
      const policy = '"anonymous";q=4;w=60';
      expect(await told(service, DOMAIN)).toMatchObject({
        status: 200,
        policy,
        field: '"anonymous";r=3;t=t',
      });
      expect(await told(service, '/api/v1/domain/example.net')).toMatchObject({
        status: 404,
        policy,
        field: '"anonymous";r=2;t=t',
      });
      expect(await told(service, '/api/v1/domain/a..b')).toMatchObject({
        status: 400,
        policy,
        field: '"anonymous";r=1;t=t',
      });
      expect(await told(service, '/api/v1/domain/%zz')).toMatchObject({
        status: 400,
        policy,
        field: '"anonymous";r=0;t=t',
      });
      expect(await told(service, DOMAIN)).toMatchObject({
        status: 429,
        policy,
        field: '"anonymous";r=0;t=t',
      });
      const headers = bearer(await service.createToken());
      expect(await told(service, DOMAIN, { headers })).toMatchObject({
        status: 200,
        policy: '"token";q=9;w=60',
        field: '"token";r=8;t=t',
      });
    });
  });

  test('in REST one request is one, by HEAD and revalidated too; 401, 403, 405 and unknown paths are none', async () => {
    await withService({ rateLimits: { anonymous: 99, token: 99 } }, async (service) => {
      const headers = bearer(await service.createToken({ scopes: [] }));
      const { etag = '' } = Object.fromEntries((await fetch(`${service.url}${DOMAIN}`)).headers);
      const revalidated = { headers: { 'if-none-match': etag } };
      const asked: readonly [path: string, init: RequestInit, status: number][] = [
        [DOMAIN, revalidated, 304],
        [DOMAIN, { headers: { 'if-none-match': 'W/"other"' } }, 200],
        [DOMAIN, { method: 'HEAD' }, 200],
        [`${DOMAIN}/dns`, {}, 401],
        [`${DOMAIN}/dns`, { headers }, 403],
        [DOMAIN, { headers: bearer(UNKNOWN_TOKEN) }, 401],
        [DOMAIN, { method: 'PUT' }, 405],
        ['/api/v1/nothing', {}, 404],
        [DOMAIN, revalidated, 304],
      ];
      const fields = [];
      for (const [path, init, status] of asked) {
        const answer = await told(service, path, init);
        expect(answer.status).toBe(status);
        fields.push(answer.field);
      }
      const left = (count: number) => `"anonymous";r=${count};t=t`;
      expect(fields).toEqual([left(97), left(96), left(95), null, null, null, null, null, left(94)]);
    });
  });

  test('in GraphQL: for documents that come seldom and often', async () => {
    await withService({ rateLimits: { anonymous: 40, token: 9 } }, async (service) => {
      const policy = '"anonymous";q=40;w=60';
      for (let left = 39; left >= 0; left -= 1) {
        const answer = { status: 200, policy, field: `"anonymous";r=${left};t=t` };
        expect(await told(service, '/graphql', query(NAME))).toMatchObject(answer);
      }
      const rejected = await told(service, '/graphql', query(NAME));
      expect(rejected).toMatchObject({ status: 200, policy, field: '"anonymous";r=0;t=t' });
      expect(JSON.parse(rejected.body)).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    });
  });

  test('and are absent where nothing limited was requested', async () => {
    await withService({}, async (service) => {
      for (const path of ['/', '/nothing', '/api/v1/domain/example.com/dns']) {
        expect(await told(service, path)).toMatchObject({ policy: null, field: null });
      }
    });
  });
});

describe('failed authentications', () => {
  const limits = { penaltyLimits: { failures: 3, documents: 99 }, trustProxy: 1 };
  const from = (address: string, headers: Record<string, string> = {}) => ({
    headers: { 'x-forwarded-for': address, ...headers },
  });

  test('are rejected with 429 and these words once there are too many from an address, whatever the credential and the path', async () => {
    await withService(limits, async (service) => {
      const guesses = [UNKNOWN_TOKEN, 'x', `dms_${'B'.repeat(43)}`];
      for (const guess of guesses) {
        const rejected = await told(service, DOMAIN, from('192.0.2.1', bearer(guess)));
        expect(rejected).toMatchObject({ status: 401, field: null });
      }
      for (const authorization of [
        `Bearer ${UNKNOWN_TOKEN}`,
        'Basic x',
        `Bearer ${await service.createToken()}`,
      ]) {
        for (const path of [DOMAIN, '/graphql', '/nothing']) {
          const rejected = await told(service, path, from('192.0.2.1', { authorization }));
          expect(rejected).toMatchObject({
            status: 429,
            policy: '"failures";q=3;w=60',
            field: '"failures";r=0;t=t',
            body: expect.stringContaining('"code":"RATE_LIMITED"'),
          });
          expect(rejected.body).toContain('"Too many invalid tokens came from this address. Try again in ');
        }
      }
    });
  });

  test('do not touch who shares the address: clients without a token, and tokens that were valid before', async () => {
    await withService(limits, async (service) => {
      const valid = bearer(await service.createToken());
      expect((await told(service, DOMAIN, from('192.0.2.1', valid))).status).toBe(200);
      for (let time = 0; time < 9; time += 1)
        await told(service, DOMAIN, from('192.0.2.1', bearer(UNKNOWN_TOKEN)));
      expect((await told(service, DOMAIN, from('192.0.2.1', bearer(UNKNOWN_TOKEN)))).status).toBe(429);
      expect((await told(service, DOMAIN, from('192.0.2.1', valid))).status).toBe(200);
      expect((await told(service, DOMAIN, from('192.0.2.1'))).status).toBe(200);
      expect((await told(service, DOMAIN, from('192.0.2.2', bearer(UNKNOWN_TOKEN)))).status).toBe(401);
    });
  });

  test('of one IPv6 network of 64 bits are those of one client, and IPv4-mapped addresses are IPv4', async () => {
    await withService(limits, async (service) => {
      const statuses = async (...addresses: string[]) => {
        const found = [];
        for (const address of addresses) {
          found.push((await told(service, DOMAIN, from(address, bearer(UNKNOWN_TOKEN)))).status);
        }
        return found;
      };
      expect(
        await statuses(
          '2001:db8::1',
          '2001:DB8:0:0:ffff::2',
          '2001:db8::3',
          '2001:db8:0:0:1::',
          '2001:db8:0:1::1',
        ),
      ).toEqual([401, 401, 401, 429, 401]);
      expect(
        await statuses(
          '198.51.100.7',
          '::ffff:198.51.100.7',
          '::ffff:c633:6407',
          '198.51.100.7:4321',
          '198.51.100.8',
        ),
      ).toEqual([401, 401, 401, 429, 401]);
    });
  });

  test('are counted by the address of the connection where a proxy names what is no address', async () => {
    await withService(limits, async (service) => {
      const statuses = [];
      for (const named of ['g1', 'unknown', '', 'g2', '192.0.2.1']) {
        statuses.push((await told(service, DOMAIN, from(named, bearer(UNKNOWN_TOKEN)))).status);
      }
      expect(statuses).toEqual([401, 401, 401, 429, 401]);
    });
  });

  test('are counted by the address of the connection where no proxy is trusted, and no other', async () => {
    await withService({ ...limits, trustProxy: 0 }, async (service) => {
      const statuses = [];
      for (const last of [1, 2, 3, 4]) {
        statuses.push((await told(service, DOMAIN, from(`192.0.2.${last}`, bearer(UNKNOWN_TOKEN)))).status);
      }
      expect(statuses).toEqual([401, 401, 401, 429]);
    });
  });
});

describe('GraphQL requests for nothing that is limited by itself', () => {
  const limits = { penaltyLimits: { failures: 99, documents: 3 } };
  const policy = '"documents";q=3;w=60';

  test('such as rejected documents and questions about the schema, are rejected with 429 once there are too many', async () => {
    await withService(limits, async (service) => {
      const asked = ['{ nothing }', '{', '{ __schema { types { name } } }'];
      for (const [index, text] of asked.entries()) {
        const field = `"documents";r=${2 - index};t=t`;
        expect(await told(service, '/graphql', query(text))).toMatchObject({ policy, field });
      }
      const rejected = await told(service, '/graphql', query('{ nothing }'));
      expect(rejected).toMatchObject({ status: 429, policy, field: '"documents";r=0;t=t' });
      const message = expect.stringMatching(
        /^Too many GraphQL requests were rejected or got no domain\. Try /,
      );
      expect(JSON.parse(rejected.body)).toMatchObject({
        errors: [{ message, extensions: { code: 'RATE_LIMITED' } }],
      });
      const headers = bearer(await service.createToken());
      expect((await told(service, '/graphql', query('{ nothing }', headers))).status).toBe(400);
      expect((await told(service, DOMAIN)).status).toBe(200);
      expect((await told(service, '/graphql', { headers: { accept: 'text/html' } })).status).toBe(200);
    });
  });

  test('are counted when a domain is requested besides, and rejected', async () => {
    const rateLimits = { anonymous: 2, token: 9 };
    await withService({ ...limits, rateLimits }, async (service) => {
      const statuses = [];
      for (let time = 0; time < 6; time += 1) {
        const text = `{ a${time}: domain(name: "example.com") { name } __schema { types { name } } }`;
        statuses.push((await told(service, '/graphql', query(text))).status);
      }
      expect(statuses, 'two domains, three rejections').toEqual([200, 200, 200, 200, 200, 429]);
    });
  });

  test('are not those with one domain that is granted, whatever else is rejected', async () => {
    await withService({ rateLimits: { anonymous: 1, token: 9 }, ...limits }, async (service) => {
      const two = '{ a: domain(name: "example.com") { name } b: domain(name: "example.net") { name } }';
      expect(await told(service, '/graphql', query(two))).toMatchObject({ field: '"anonymous";r=0;t=t' });
      expect(await told(service, '/graphql', query('{ nothing }'))).toMatchObject({
        field: '"documents";r=2;t=t',
      });
    });
  });

  test('are not those that are rejected unread', async () => {
    await withService(limits, async (service) => {
      const json = { 'content-type': 'application/json' };
      const unread: readonly RequestInit[] = [
        { method: 'PUT' },
        { method: 'POST', headers: json, body: '{' },
        { method: 'POST', headers: json, body: '{}' },
        { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{ nothing }' },
        { method: 'POST', headers: json, body: JSON.stringify({ query: ' '.repeat(600_000) }) },
      ];
      for (const init of unread) {
        expect(await told(service, '/graphql', init)).toMatchObject({ policy: null, field: null });
      }
      expect(await told(service, '/graphql', query('{ nothing }'))).toMatchObject({
        field: '"documents";r=2;t=t',
      });
    });
  });

  test.each([
    ['a variable of a wrong type', `["${'x'.repeat(10 * 16_384)}"]`],
    ['a variable that is nested too deep', `${'['.repeat(5 * 16_384)}${']'.repeat(5 * 16_384)}`],
  ])('count 1 for each 16 kB of their body: %s', async (_what, name) => {
    await withService({ penaltyLimits: { failures: 99, documents: 40 } }, async (service) => {
      const headers = { 'content-type': 'application/json' };
      const body = `{"query":"query($name:String!){domain(name:$name){name}}","variables":{"name":${name}}}`;
      const asked = await told(service, '/graphql', { method: 'POST', headers, body });
      expect(asked.field).toBe('"documents";r=30;t=t');
    });
  });

  test.each([
    'application/json; charset=utf-8, text/html;q=0.5',
    'multipart/mixed, text/html;q=0.9, application/json;q=0.1',
  ])('are counted by GET, too, from a client that takes pages as well: %s', async (accept) => {
    await withService(limits, async (service) => {
      const headers = { accept };
      const statuses = [];
      for (let time = 0; time < 5; time += 1) {
        const asked = await told(service, '/graphql?query={__schema{types{name}}}', { headers });
        statuses.push(asked.status);
      }
      expect(statuses.slice(3)).toEqual([429, 429]);
    });
  });

  test('do not touch a document that got the same client a domain when it came last, unless it gets none now', async () => {
    await withService({ rateLimits: { anonymous: 3, token: 9 }, ...limits }, async (service) => {
      const status = async (text: string, headers: Record<string, string> = {}) =>
        (await told(service, '/graphql', query(text, headers))).status;
      const withSchema = '{ domain(name: "example.com") { name } __schema { types { name } } }';
      expect([await status(NAME), await status(withSchema)]).toEqual([200, 200]);
      for (let time = 0; time < 4; time += 1) await status('{ nothing }');
      expect([await status('{ nothing }'), await status('{ domain(name: "a.example") { name } }')]).toEqual([
        429, 429,
      ]);
      expect(await told(service, '/graphql', query(NAME))).toMatchObject({
        status: 200,
        field: '"anonymous";r=0;t=t',
      });
      expect([await status(withSchema), await status(withSchema)], 'no domain is left').toEqual([200, 429]);
      const headers = bearer(await service.createToken());
      for (let time = 0; time < 4; time += 1) await status('{ nothing }', headers);
      expect(await status(NAME, headers), 'what another client was granted').toBe(429);
    });
  });

  test('let no more by at once for what a document got its client before', async () => {
    await withService({ rateLimits: { anonymous: 1, token: 9 }, ...limits }, async (service) => {
      const status = async (text: string) => (await told(service, '/graphql', query(text))).status;
      expect(await status(NAME)).toBe(200);
      for (let time = 0; time < 3; time += 1) await status('{ nothing }');
      const statuses = await Promise.all(Array.from({ length: 10 }, () => status(NAME)));
      expect(statuses.sort(), 'no domain is left').toEqual([200, ...Array(9).fill(429)]);
    });
  });

  test('are not passed by sending a rejected document as often as one that comes often', async () => {
    await withService(limits, async (service) => {
      const statuses = [];
      for (let time = 0; time < 40; time += 1) {
        statuses.push((await told(service, '/graphql', query('{ __typename }'))).status);
      }
      expect(statuses).toEqual([...Array(3).fill(200), ...Array(37).fill(429)]);
    });
  });

  test('do not touch a document that comes often', async () => {
    await withService(limits, async (service) => {
      for (let time = 0; time < 40; time += 1) await told(service, '/graphql', query(NAME));
      for (let time = 0; time < 4; time += 1) await told(service, '/graphql', query('{ nothing }'));
      expect((await told(service, '/graphql', query('{ nothing }'))).status).toBe(429);
      expect((await told(service, '/graphql', query(NAME))).status).toBe(200);
    });
  });
});
