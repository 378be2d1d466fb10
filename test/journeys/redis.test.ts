import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { askGraphql } from '../support/ask.js';
import { databaseOfFile } from '../support/database.js';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis-server.js';
import { insertDomain } from '../support/rows.js';
import {
  bearer,
  startServiceForTest,
  type TestService,
  type TestServiceOptions,
} from '../support/service.js';

const UNUSED_PORT = 1;
const AWAY = 'Redis is unavailable: each process counts rate limits by itself';
const BACK = 'Redis is available again: rate limits are shared with other processes';

const database = databaseOfFile(({ pool }) => insertDomain(pool, { name: 'example.com' }));

const start = (options: TestServiceOptions) => startServiceForTest({ database, ...options });

/** What is left of the budget after one more question; '429' where it was used up. */
async function ask({ url }: TestService, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${url}/api/v1/domain/example.com`, { headers });
  await response.arrayBuffer();
  const left = /;r=(\d+);/.exec(response.headers.get('ratelimit') ?? '')?.[1] ?? 'no field';
  return response.status === 200 ? left : String(response.status);
}

function redisLines(...services: TestService[]): unknown[][] {
  return services.map(({ logged }) =>
    logged.map(({ msg }) => msg).filter((msg) => msg === AWAY || msg === BACK),
  );
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
    const [one, other] = [await start(shared(100)), await start(shared(100))];
    const token = bearer(await one.createToken());
    const left = async (...services: TestService[]) => {
      const found: string[] = [];
      for (const service of services) found.push(await ask(service, token));
      return found;
    };
    expect(await left(one, other, one)).toEqual(['99', '98', '97']);
    await redis.kill();
    await expect.poll(() => redisLines(one, other)).toEqual([[AWAY], [AWAY]]);
    expect(await left(one, one, other)).toEqual(['99', '98', '99']);
    await redis.start();
    const linesAfterRequests = async () => {
      await Promise.all([ask(one, token), ask(other, token)]);
      return redisLines(one, other);
    };
    await expect.poll(linesAfterRequests).toEqual([
      [AWAY, BACK],
      [AWAY, BACK],
    ]);
    const [first, second, third] = (await left(one, other, one)).map(Number);
    expect([second, third]).toEqual([Number(first) - 1, Number(first) - 2]);
  });

  test('ninety aliases are ninety of the budget that two processes share, and those beyond it are rejected one by one', async () => {
    const [one, other] = [await start(shared(110)), await start(shared(110))];
    const token = bearer(await one.createToken());
    const names = Array.from({ length: 90 }, (_, at) => `d${at}: domain(name: "example.com") { name }`);
    const query = `{ ${names.join(' ')} }`;
    const post = async (service: TestService) => {
      const { data, errors = [], fields } = await askGraphql(service, query, {}, token);
      const answered = Object.values(data).filter((domain) => domain !== null).length;
      return { answered, rejected: errors.length, field: fields.get('ratelimit') };
    };
    const field = (left: number) => expect.stringMatching(`^"token";r=${left};t=\\d+$`);
    expect(await post(one)).toEqual({ answered: 90, rejected: 0, field: field(20) });
    expect(await post(other)).toEqual({ answered: 20, rejected: 70, field: field(0) });
  });

  test('a Redis that hangs costs one request a moment, and the next ones nothing', async () => {
    const service = await start(shared(100));
    const token = bearer(await service.createToken());
    expect(await ask(service, token)).toBe('99');
    redis.pause();
    onTestFinished(() => void redis.resume());
    const left = await Promise.all(Array.from({ length: 5 }, () => ask(service, token)));
    expect(left.sort()).toEqual(['95', '96', '97', '98', '99']);
    expect(redisLines(service)).toEqual([[AWAY]]);
  });

  test('failed authentications are counted together', async () => {
    const options = { ...shared(3), trustProxy: 1 };
    const [one, other] = [await start(options), await start(options)];
    const wrong = { ...bearer(`dms_${'A'.repeat(43)}`), 'x-forwarded-for': '192.0.2.201' };
    expect([await ask(one, wrong), await ask(one, wrong)]).toEqual(['401', '401']);
    expect([await ask(other, wrong), await ask(other, wrong)]).toEqual(['401', '429']);
    expect(await ask(one, wrong)).toBe('429');
  });
});

test('a Redis that is away at the start stops nothing, is told once, and its password is in no line of the log', async () => {
  const redisUrl = `redis://someone:s3cret-word@127.0.0.1:${UNUSED_PORT}`;
  const service = await start({ redisUrl, rateLimits: { anonymous: 2, token: 2 } });
  expect([await ask(service), await ask(service), await ask(service)]).toEqual(['1', '0', '429']);
  expect(redisLines(service)).toEqual([[AWAY]]);
  expect(JSON.stringify(service.logged)).not.toContain('s3cret-word');
});
