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

  test('in REST one request is one, by HEAD and revalidated too, and an invalid token; what needs a token, 403, 405 and unknown paths are none', async () => {
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
      // What a token or a scope is needed for costs 1, too. An unknown token takes 1, and is not told.
      const refused = [left(94), '"token";r=98;t=t'];
      expect(fields).toEqual([left(97), left(96), left(95), ...refused, null, null, null, left(92)]);
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
      for (const path of ['/', '/nothing', '/api/v1/nothing']) {
        expect(await told(service, path)).toMatchObject({ policy: null, field: null });
      }
    });
  });
});

describe('failed authentications', () => {
  const limits = { rateLimits: { anonymous: 3, token: 99 }, trustProxy: 1 };
  const from = (address: string, headers: Record<string, string> = {}) => ({
    headers: { 'x-forwarded-for': address, ...headers },
  });

  test('take 1 each from what their address may spend, and are rejected with 429 once nothing is left, whatever the credential and the path', async () => {
    await withService(limits, async (service) => {
      for (const guess of [UNKNOWN_TOKEN, 'x', `dms_${'B'.repeat(43)}`]) {
        const rejected = await fetch(`${service.url}${DOMAIN}`, from('192.0.2.1', bearer(guess)));
        expect(rejected.status).toBe(401);
      }
      for (const authorization of [`Bearer ${UNKNOWN_TOKEN}`, 'Basic x']) {
        for (const path of [DOMAIN, '/graphql', '/nothing']) {
          const rejected = await fetch(`${service.url}${path}`, from('192.0.2.1', { authorization }));
          expect(rejected.status).toBe(429);
          expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
          expect(await rejected.text()).toContain('"code":"RATE_LIMITED"');
        }
      }
      expect((await told(service, DOMAIN, from('192.0.2.1'))).status).toBe(429);
      expect((await told(service, DOMAIN, from('192.0.2.2'))).status).toBe(200);
    });
  });

  test('do not touch who shares the address and has a token, also one that comes for the first time', async () => {
    await withService(limits, async (service) => {
      for (let time = 0; time < 9; time += 1)
        await fetch(`${service.url}${DOMAIN}`, from('192.0.2.1', bearer(UNKNOWN_TOKEN)));
      const valid = bearer(await service.createToken());
      const field = '"token";r=98;t=t';
      expect(await told(service, DOMAIN, from('192.0.2.1', valid))).toMatchObject({ status: 200, field });
    });
  });

  const statuses = async (service: TestService, ...addresses: string[]) => {
    const found = [];
    for (const address of addresses) {
      const response = await fetch(`${service.url}${DOMAIN}`, from(address, bearer(UNKNOWN_TOKEN)));
      found.push(response.status);
    }
    return found;
  };

  test('of one IPv6 network of 64 bits are those of one client, and IPv4-mapped addresses are IPv4', async () => {
    await withService(limits, async (service) => {
      const network = ['2001:db8::1', '2001:DB8:0:0:ffff::2', '2001:db8::3', '2001:db8:0:0:1::'];
      expect(await statuses(service, ...network, '2001:db8:0:1::1')).toEqual([401, 401, 401, 429, 401]);
      const mapped = ['198.51.100.7', '::ffff:198.51.100.7', '::ffff:c633:6407', '198.51.100.7:4321'];
      expect(await statuses(service, ...mapped, '198.51.100.8')).toEqual([401, 401, 401, 429, 401]);
    });
  });

  test('are counted by the address of the connection where a proxy names what is no address', async () => {
    await withService(limits, async (service) => {
      expect(await statuses(service, 'g1', 'unknown', '', 'g2', '192.0.2.1')).toEqual([
        401, 401, 401, 429, 401,
      ]);
    });
  });

  test('are counted by the address of the connection where no proxy is trusted, and no other', async () => {
    await withService({ ...limits, trustProxy: 0 }, async (service) => {
      const addresses = [1, 2, 3, 4].map((last) => `192.0.2.${last}`);
      expect(await statuses(service, ...addresses)).toEqual([401, 401, 401, 429]);
    });
  });
});

describe('GraphQL requests in which nothing costs', () => {
  const limits = { rateLimits: { anonymous: 3, token: 99 } };
  const policy = '"anonymous";q=3;w=60';

  test.each([
    ['a question about the schema', '{ __schema { types { name } } }', 200],
    ['a document that is not valid', '{ nothing }', 400],
    ['what is no document', '{', 400],
    ['one in which all is left out', '{ domain(name: "example.com") @skip(if: true) { name } }', 200],
    ['a variable that is missing', 'query ($name: String!) { domain(name: $name) { name } }', 400],
  ])('cost 1, and are rejected with 429 once nothing is left: %s', async (_what, text, status) => {
    await withService(limits, async (service) => {
      for (const left of [2, 1, 0]) {
        const field = `"anonymous";r=${left};t=t`;
        expect(await told(service, '/graphql', query(text))).toMatchObject({ status, policy, field });
      }
      const rejected = await told(service, '/graphql', query(text));
      expect(rejected).toMatchObject({ status: 429, policy, field: '"anonymous";r=0;t=t' });
      expect(JSON.parse(rejected.body)).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
      const headers = bearer(await service.createToken());
      expect((await told(service, '/graphql', query(text, headers))).status).toBe(status);
    });
  });
});

describe('what a client cannot pay for', () => {
  test('has the error RATE_LIMITED in its place, beside the data of what was paid for, and is executed when it comes again', async () => {
    await withService({ rateLimits: { anonymous: 2, token: 99 } }, async (service) => {
      const names = ['a', 'b', 'c'].map((alias) => `${alias}: domain(name: "example.com") { name }`);
      const { status, body } = await told(service, '/graphql', query(`{ ${names.join(' ')} }`));
      expect(status).toBe(200);
      expect(JSON.parse(body)).toEqual({
        data: { a: { name: 'example.com' }, b: { name: 'example.com' }, c: null },
        errors: [
          {
            message: expect.stringMatching(/ Try again in \d+ s\./),
            path: ['c'],
            extensions: { code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
          },
        ],
        extensions: { cost: 2 },
      });
    });
  });

  test('is not begun where its document alone is too dear', async () => {
    await withService({ rateLimits: { anonymous: 1, token: 99 } }, async (service) => {
      const long = `{ domain(name: "example.com") { ${Array.from({ length: 400 }, (_, at) => `a${at}: name`).join(' ')} } }`;
      expect(await told(service, '/graphql', query(long))).toMatchObject({ status: 200 });
      expect(await told(service, '/graphql', query(long))).toMatchObject({
        status: 429,
        field: '"anonymous";r=0;t=t',
      });
    });
  });
});
