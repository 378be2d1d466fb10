import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { askGraphql } from '../support/ask.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis-server.js';
import { insertDomain } from '../support/rows.js';
import { bearer, startTestService, type TestService, type TestServiceOptions } from '../support/service.js';

const UNUSED_PORT = 1;
const AWAY = 'Redis is unavailable: each process counts rate limits by itself';
const BACK = 'Redis is available again: rate limits are shared with other processes';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
});
afterAll(() => database.close());

async function withServices(
  options: TestServiceOptions,
  count: number,
  work: (...services: TestService[]) => Promise<void>,
): Promise<void> {
  const services: TestService[] = [];
  try {
    while (services.length < count) services.push(await startTestService({ database, ...options }));
    await work(...services);
  } finally {
    for (const service of services) await service.stop();
  }
}

/** What is left of the budget after one more question; '429' where it was used up. */
async function ask({ url }: TestService, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${url}/api/v1/domain/example.com`, { headers });
  await response.arrayBuffer();
  const left = /;r=(\d+);/.exec(response.headers.get('ratelimit') ?? '')?.[1] ?? 'no field';
  return response.status === 200 ? left : String(response.status);
}

function redisLines({ logged }: TestService): unknown[] {
  return logged.map(({ msg }) => msg).filter((msg) => msg === AWAY || msg === BACK);
}

describe.skipIf(!HAS_REDIS)('with REDIS_URL', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  const shared = (limit: number) => ({
    redisUrl: `redis://127.0.0.1:${redis.port}`,
    rateLimits: { anonymous: limit, token: limit },
  });

  test("two processes share each client's budget; Redis killed, each counts alone and says so once; Redis back, they share again", async () => {
    await withServices(shared(100), 2, async (one, other) => {
      const token = bearer(await one.createToken());
      expect([await ask(one, token), await ask(other, token), await ask(one, token)]).toEqual([
        '99',
        '98',
        '97',
      ]);
      await redis.kill();
      await vi.waitFor(() => expect([redisLines(one), redisLines(other)]).toEqual([[AWAY], [AWAY]]), {
        timeout: 60_000,
      });
      expect([await ask(one, token), await ask(one, token), await ask(other, token)]).toEqual([
        '99',
        '98',
        '99',
      ]);
      await redis.start();
      await vi.waitFor(
        async () => {
          await Promise.all([ask(one, token), ask(other, token)]);
          expect([redisLines(one), redisLines(other)]).toEqual([
            [AWAY, BACK],
            [AWAY, BACK],
          ]);
        },
        { timeout: 60_000, interval: 100 },
      );
      const left = Number(await ask(one, token));
      expect(Number(await ask(other, token))).toBe(left - 1);
      expect(Number(await ask(one, token))).toBe(left - 2);
    });
  });

  test('ninety aliases are ninety of the budget that two processes share, and those beyond it are rejected one by one', async () => {
    await withServices(shared(110), 2, async (one, other) => {
      const token = bearer(await one.createToken());
      const aliases = Array.from(
        { length: 90 },
        (_, index) => `d${index}: domain(name: "example.com") { name }`,
      );
      const post = async (service: TestService) => {
        const query = `{ ${aliases.join(' ')} }`;
        const { data, errors = [], fields } = await askGraphql(service, query, {}, token);
        const answered = Object.values(data).filter((domain) => domain !== null).length;
        return { answered, rejected: errors.length, field: fields.get('ratelimit') };
      };
      expect(await post(one)).toEqual({
        answered: 90,
        rejected: 0,
        field: expect.stringMatching(/^"token";r=20;t=\d+$/),
      });
      expect(await post(other)).toEqual({
        answered: 20,
        rejected: 70,
        field: expect.stringMatching(/^"token";r=0;t=\d+$/),
      });
    });
  });

  test('a Redis that hangs costs one request a moment, and the next ones nothing', async () => {
    await withServices(shared(100), 1, async (service) => {
      const token = bearer(await service.createToken());
      expect(await ask(service, token)).toBe('99');
      redis.pause();
      try {
        const left = await Promise.all(Array.from({ length: 5 }, () => ask(service, token)));
        expect(left.sort()).toEqual(['95', '96', '97', '98', '99']);
        expect(redisLines(service)).toEqual([AWAY]);
      } finally {
        redis.resume();
      }
    });
  });

  test('failed authentications are counted together', async () => {
    const options = { ...shared(3), trustProxy: 1 };
    await withServices(options, 2, async (one, other) => {
      const wrong = { ...bearer(`dms_${'A'.repeat(43)}`), 'x-forwarded-for': '192.0.2.201' };
      expect([await ask(one, wrong), await ask(one, wrong)]).toEqual(['401', '401']);
      expect([await ask(other, wrong), await ask(other, wrong)]).toEqual(['401', '429']);
      expect(await ask(one, wrong)).toBe('429');
    });
  });
});

test('a Redis that is away at the start stops nothing, is told once, and its password is in no line of the log', async () => {
  const options = {
    redisUrl: `redis://someone:s3cret-word@127.0.0.1:${UNUSED_PORT}`,
    rateLimits: { anonymous: 2, token: 2 },
  };
  await withServices(options, 1, async (service) => {
    expect([await ask(service), await ask(service), await ask(service)]).toEqual(['1', '0', '429']);
    expect(redisLines(service)).toEqual([AWAY]);
    expect(JSON.stringify(service.logged)).not.toContain('s3cret-word');
  });
});
