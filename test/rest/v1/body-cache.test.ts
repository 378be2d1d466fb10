import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { readSettings } from '../../../src/config/env.js';
import { parseDmsLine } from '../../../src/importers/dms.js';
import { LATEST_INSTANT } from '../../../src/model/instant.js';
import { forget } from '../../../src/recorder/forget.js';
import { createRecorder } from '../../../src/recorder/recorder.js';
import { bearer, startTestService, type TestService } from '../../support/service.js';

const NAMES = ['a.example', 'b.example'];
const OPERATIONS = ['', '/dns', '/headers', '/details', '?at=2024-03-01T00:00:00Z'];
const CACHED = { megabytes: 1, seconds: 0 };

let keeping: TestService;
let reading: TestService;
let authorization: Record<string, string>;

beforeAll(async () => {
  const { http } = readSettings({});
  keeping = await startTestService({ role: 'api', http: { ...http, cache: CACHED } });
  const { database } = keeping;
  reading = await startTestService({
    database,
    role: 'api',
    http: { ...http, cache: { ...CACHED, megabytes: 0 } },
  });
  authorization = bearer(await keeping.createToken());
});
afterAll(async () => {
  await reading.stop();
  await keeping.stop();
});
beforeEach(async () => {
  await forget(keeping.database, NAMES);
});

/** Records an observation of a domain, as any process with the same database may. */
async function record(domain: string, observedAt: string, server: string): Promise<void> {
  const line = JSON.stringify({
    domain,
    observedAt,
    httpHeaders: { server },
    dnsTypes: ['A'],
    dnsRecords: [{ host: domain, class: 'IN', type: 'A', ip: `192.0.2.${server.length}` }],
  });
  await createRecorder(keeping.database.pool).record([parseDmsLine(line, LATEST_INSTANT)]);
}

async function get({ url }: TestService, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/api/v1/domain/${path}`, { headers: { ...authorization, ...headers } });
  // Last-Modified is not later than the time of the response.
  const fields = ['content-type', 'content-length', 'etag', 'cache-control', 'vary'];
  return {
    status: response.status,
    fields: fields.map((name) => response.headers.get(name)),
    body: await response.text(),
  };
}

/** The texts of the statements that a request takes. */
async function statementsOf(request: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(pg.Pool.prototype, 'query');
  await request();
  const statements = query.mock.calls.map(([statement]) => JSON.stringify(statement));
  query.mockRestore();
  return statements;
}

describe('a response that is kept (CACHE_MB)', () => {
  test('is sent from the third request on by one statement, which reads no history, with the same octets', async () => {
    await record('a.example', '2024-02-01T00:00:00Z', 'one');
    const first = await get(reading, 'a.example');
    for (const _time of [1, 2, 3, 4]) expect(await get(keeping, 'a.example')).toEqual(first);
    const statements = await statementsOf(() => get(keeping, 'a.example'));
    expect(statements).toHaveLength(1);
    expect(statements[0]).not.toMatch(/dns_record|header_change/);
  });

  test('is not kept with CACHE_MB=0', async () => {
    await record('a.example', '2024-02-01T00:00:00Z', 'one');
    for (const _time of [1, 2, 3]) await get(reading, 'a.example');
    const statements = await statementsOf(() => get(reading, 'a.example'));
    expect(statements.join()).toMatch(/dns_record/);
  });

  test('is what a service without it responds, whatever is recorded, asked and forgotten in between', async () => {
    const name = fc.constantFrom(...NAMES);
    const day = fc.integer({ min: 10, max: 28 });
    const recording = fc.record({ recorded: name, day, server: fc.constantFrom('a', 'bb', 'ccc') });
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
          if ('recorded' in each) await record(each.recorded, `2024-03-${each.day}T00:00:00Z`, each.server);
          else if ('forgotten' in each) await forget(keeping.database, [each.forgotten]);
          else await compare(each.asked + each.operation, each.conditional, tags);
        }
      }),
      { numRuns: 20 },
    );
  });

  /** @param tags What a client has seen of each path, to which this request adds. */
  async function compare(path: string, conditional: boolean, tags: Map<string, string>): Promise<void> {
    const headers = conditional ? { 'if-none-match': tags.get(path) ?? '"none"' } : {};
    const found = await get(keeping, path, headers);
    expect(found).toEqual(await get(reading, path, headers));
    if (found.status === 200) tags.set(path, found.fields[2] ?? '');
  }

  test('is only sent to clients that may have it, and counts as any other against their limit', async () => {
    await record('a.example', '2024-02-01T00:00:00Z', 'one');
    for (const _time of [1, 2, 3]) await get(keeping, 'a.example/dns');
    const response = await fetch(`${keeping.url}/api/v1/domain/a.example/dns`);
    expect(response.status).toBe(401);
    const remaining = async () => {
      const { headers } = await fetch(`${keeping.url}/api/v1/domain/a.example/dns`, {
        headers: authorization,
      });
      return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    };
    const before = await remaining();
    expect(await remaining()).toBe(before - 1);
  });

  test('has the caching fields of its client: public without a token, private with one', async () => {
    await record('a.example', '2024-02-01T00:00:00Z', 'one');
    for (const _time of [1, 2, 3]) await get(keeping, 'a.example');
    const open = await fetch(`${keeping.url}/api/v1/domain/a.example`);
    expect(open.headers.get('cache-control')).toMatch(/^public/);
    expect((await get(keeping, 'a.example')).fields[3]).toMatch(/^private/);
  });
});

describe('a response that is kept for some seconds (CACHE_SECONDS)', () => {
  test('is sent without a statement for so long, also as a 304, and counts against the limit', async () => {
    const { http } = readSettings({});
    const { database } = keeping;
    const service = await startTestService({
      ...{ database, role: 'api', rateLimits: { anonymous: 6, token: 6 } },
      http: { ...http, cache: { megabytes: 1, seconds: 2 } },
    });
    await record('a.example', '2024-02-01T00:00:00Z', 'one');
    const asked = () => fetch(`${service.url}/api/v1/domain/a.example`);
    const bodies = [await (await asked()).text(), await (await asked()).text()];
    await record('a.example', '2024-02-02T00:00:00Z', 'two');
    expect(await statementsOf(async () => bodies.push(await (await asked()).text()))).toEqual([]);
    expect(new Set(bodies).size).toBe(1);
    const etag = (await asked()).headers.get('etag') ?? '';
    const headers = { 'if-none-match': etag };
    expect((await fetch(`${service.url}/api/v1/domain/a.example`, { headers })).status).toBe(304);
    await pause(2_000);
    expect(await (await asked()).text()).toContain('"new":"two"');
    expect((await asked()).status).toBe(429);
    await service.stop();
  });
});

test('a kept response with characters beyond ASCII is the octets of the first one', async () => {
  await record('a.example', '2024-03-01T00:00:00Z', 'größer 😀');
  const responses = [];
  for (let time = 0; time < 4; time += 1) responses.push(await get(keeping, 'a.example'));
  const [first] = responses;
  expect(first?.body).toContain('größer 😀');
  expect(first?.fields).toContain(String(Buffer.byteLength(first?.body ?? '')));
  expect(responses).toEqual(responses.map(() => first));
});
