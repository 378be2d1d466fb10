import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { readSettings } from '../../../src/config/env.js';
import { forget } from '../../../src/recorder/forget.js';
import { statementsOf } from '../../support/database.js';
import { repeats } from '../../support/long-form.js';
import { bearer, serviceOfFile, startServiceForTest, type TestService } from '../../support/service.js';

const NAMES = ['a.example', 'b.example'];
const OPERATIONS = ['', '/dns', '/headers', '/details', '?at=2024-01-01T00:00:20Z'];
const CACHED = { megabytes: 1, seconds: 0 };

const { http } = readSettings({});
const keeping = serviceOfFile({ role: 'api', http: { ...http, cache: CACHED } });
const withoutCache = { ...http, cache: { ...CACHED, megabytes: 0 } };
const reading = serviceOfFile(() => ({ database: keeping.database, role: 'api', http: withoutCache }));
let authorization: Record<string, string>;

beforeAll(async () => {
  authorization = bearer(await keeping.createToken());
});
beforeEach(async () => {
  await forget(keeping.database, NAMES);
});

/** Records an observation of a domain, as any process with the same database may. */
const record = (domain: string, at: number, server: string) =>
  keeping.record({ domain, at, types: ['A'], records: [`192.0.2.${server.length}`], headers: { server } });

async function get(asked: TestService, path: string, headers: Record<string, string> = authorization) {
  const { status, fields, text } = await asked.rest(`/domain/${path}`, headers);
  // Last-Modified is not later than the time of the response.
  const names = ['content-type', 'content-length', 'etag', 'cache-control', 'vary', 'ratelimit'];
  const [type, length, etag, caching, vary, limit] = names.map((name) => fields.get(name));
  const left = Number(/r=(\d+)/.exec(limit ?? '')?.[1]);
  return { answer: { status, type, length, etag, caching, vary, text }, left };
}

/** Asks until the response is kept. */
async function askOften(path: string, headers = authorization): Promise<void> {
  for (const _time of [1, 2, 3]) await get(keeping, path, headers);
}

test('a kept response (CACHE_MB) is sent by one statement, which reads no history, with the same octets', async () => {
  await record('a.example', 1, 'größer 😀');
  const { answer } = await get(reading, 'a.example');
  expect(answer.text).toContain('größer 😀');
  expect(answer.length).toBe(String(Buffer.byteLength(answer.text)));
  for (const _time of [1, 2, 3, 4]) expect((await get(keeping, 'a.example')).answer).toEqual(answer);
  const statement = expect.not.stringMatching(/dns_record|header_change/);
  expect(await statementsOf(() => get(keeping, 'a.example'))).toEqual([statement]);
});

test('no response is kept with CACHE_MB=0', async () => {
  await record('a.example', 1, 'one');
  for (const _time of [1, 2, 3]) await get(reading, 'a.example');
  expect((await statementsOf(() => get(reading, 'a.example'))).join()).toMatch(/dns_record/);
});

test('a kept response is what a service without any responds, whatever is recorded, asked and forgotten in between', async () => {
  const name = fc.constantFrom(...NAMES);
  const at = fc.integer({ min: 10, max: 28 });
  const recording = fc.record({ recorded: name, at, server: fc.constantFrom('a', 'bb', 'ccc') });
  const operation = fc.constantFrom(...OPERATIONS);
  const asking = fc.record({ asked: name, operation, conditional: fc.boolean() });
  const steps = fc.oneof(
    { weight: 2, arbitrary: recording },
    { weight: 6, arbitrary: asking },
    { weight: 1, arbitrary: fc.record({ forgotten: name }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 30 }), async (all) => {
      const tags = new Map<string, string>();
      for (const each of all) {
        if ('recorded' in each) await record(each.recorded, each.at, each.server);
        else if ('forgotten' in each) await forget(keeping.database, [each.forgotten]);
        else await compare(each.asked + each.operation, each.conditional, tags);
      }
    }),
    { numRuns: repeats(20, 10) },
  );
});

/** @param tags What a client has seen of each path, to which this request adds. */
async function compare(path: string, conditional: boolean, tags: Map<string, string>): Promise<void> {
  const headers = { ...authorization, ...(conditional && { 'if-none-match': tags.get(path) ?? '"none"' }) };
  const { answer } = await get(keeping, path, headers);
  expect(answer).toEqual((await get(reading, path, headers)).answer);
  if (answer.status === 200) tags.set(path, answer.etag ?? '');
}

test('a kept response is only sent to clients that may have it, and counts as any other against their limit', async () => {
  await record('a.example', 1, 'one');
  await askOften('a.example/dns');
  expect((await get(keeping, 'a.example/dns', {})).answer.status).toBe(401);
  const { left } = await get(keeping, 'a.example/dns');
  expect((await get(keeping, 'a.example/dns')).left).toBe(left - 1);
});

test('a kept response has the caching fields of its client: public without a token, private with one', async () => {
  await record('a.example', 1, 'one');
  await askOften('a.example');
  expect((await get(keeping, 'a.example', {})).answer.caching).toMatch(/^public/);
  expect((await get(keeping, 'a.example')).answer.caching).toMatch(/^private/);
});

test('a response that is kept for some seconds (CACHE_SECONDS) is sent without a statement, also as a 304, and counts against the limit', async () => {
  const service = await startServiceForTest({
    database: keeping.database,
    role: 'api',
    rateLimits: { anonymous: 7, token: 7 },
    http: { ...http, cache: { megabytes: 1, seconds: 2 } },
  });
  const ask = async (headers = {}) => (await get(service, 'a.example', headers)).answer;
  await record('a.example', 1, 'one');
  const bodies = [(await ask()).text, (await ask()).text];
  await record('a.example', 2, 'two');
  expect(await statementsOf(async () => bodies.push((await ask()).text))).toEqual([]);
  expect(new Set(bodies).size).toBe(1);
  const { etag } = await ask();
  expect((await ask({ 'if-none-match': etag })).status).toBe(304);
  // A client with another tag may have a later state, from another process.
  expect((await ask({ 'if-none-match': '"other"' })).text).toContain('"new":"two"');
  await pause(2_000);
  expect((await ask()).text).toContain('"new":"two"');
  expect((await ask()).status).toBe(429);
});
