import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { readSettings } from '../../../src/config/env.js';
import { LATEST_INSTANT } from '../../../src/model/instant.js';
import { forget } from '../../../src/recorder/forget.js';
import { createRecorder } from '../../../src/recorder/recorder.js';
import { graphqlRequest } from '../../support/ask.js';

import { statementsOf } from '../../support/database.js';
import { observation } from '../../support/observations.js';
import { bearer, serviceOfFile } from '../../support/service.js';

/** Tue, 14 Nov 2023 22:13:20 GMT, in microseconds. */
const RECORDED = 1_700_000_000_000_000n;
const NAME = 'example.com';
const LOOK = observation({ domain: NAME, at: 1, headers: { server: 'a' } });

let authorization: Record<string, string>;

const http = { ...readSettings({}).http, maxAge: 60 };
const service = serviceOfFile({ role: 'api', http }, async ({ record, createToken }) => {
  await record({ domain: NAME, at: 0, headers: { server: 'nginx '.repeat(1000) } });
  authorization = bearer(await createToken());
});

async function setState(recordedAt: bigint, version: bigint = recordedAt): Promise<void> {
  const update = 'UPDATE domain SET recorded_at = $1, version = $2 WHERE name = $3';
  await service.database.pool.query(update, [recordedAt, version, NAME]);
}

const get = (headers: Record<string, string> = {}, operation = '') =>
  service.fetch(`/api/v1/domain/${NAME}${operation}`, { headers });

const tagOf = async (operation = '') => (await get(authorization, operation)).headers.get('etag') ?? '';

const OPERATIONS = ['', '/dns', '/details', '/headers'];

test.each([
  '/changes?after=zz',
  '/changes?types=%21',
  '/diff?from=2024-01-02&to=2100-01-01',
  '/diff?from=2024-01-02&to=2024-01-01',
])('what is not valid is no state that a client may have: 400 and not 304 for %s', async (operation) => {
  await setState(RECORDED);
  const query = operation.startsWith('/diff') ? '?from=2024-01-01&to=2024-01-02' : '';
  const etag = await tagOf(operation.replace(/\?.*/, query));
  for (const condition of [{ 'if-none-match': '*' }, { 'if-none-match': etag }]) {
    expect((await get({ ...authorization, ...condition }, operation)).status).toBe(400);
  }
});

test('If-None-Match with the tag of the state that is recorded is answered 304, without a body (RFC 9110, section 13.1.2)', async () => {
  await setState(RECORDED);
  const first = await get();
  const etag = first.headers.get('etag') ?? '';
  expect(etag).toMatch(/^W\/"1700000000000000-[\w-]{8}"$/);
  const second = await get({ 'if-none-match': etag });
  expect([second.status, await second.text()]).toEqual([304, '']);
  for (const field of ['etag', 'cache-control', 'vary', 'x-content-type-options']) {
    expect(second.headers.get(field), field).toBe(first.headers.get(field));
  }
  for (const field of ['content-type', 'content-length', 'last-modified']) {
    expect(second.headers.get(field), field).toBeNull();
  }
});

test.each([
  [304, 'the strong tag of the same text', (tag: string) => tag.replace('W/', '')],
  [304, '*', () => '*'],
  [200, 'the tag of an earlier state', (tag: string) => tag.replace('17', '16')],
  [200, 'no tag', () => 'nonsense'],
  [200, 'the tag without its quotation marks', (tag: string) => tag.replaceAll('"', '')],
])('%i for If-None-Match with %s, whatever If-Modified-Since is', async (status, _what, write) => {
  await setState(RECORDED);
  const later = { 'if-modified-since': 'Sat, 01 Jan 2050 00:00:00 GMT' };
  expect((await get({ 'if-none-match': write(await tagOf()), ...later })).status).toBe(status);
});

test.each(OPERATIONS)('/domain/{domain}%s is revalidated by a tag of its own', async (operation) => {
  await setState(RECORDED);
  const headers = { ...authorization, 'if-none-match': await tagOf(operation) };
  for (const each of OPERATIONS)
    expect((await get(headers, each)).status).toBe(each === operation ? 304 : 200);
});

test('a 304 takes one statement, which reads no history', async () => {
  await setState(RECORDED);
  const headers = { 'if-none-match': await tagOf() };
  const statements = await statementsOf(async () => expect((await get(headers)).status).toBe(304));
  expect(statements).toEqual([expect.not.stringMatching(/dns_record|header_change/)]);
});

test('a condition does not get past what the client may not read, or does not exist', async () => {
  expect((await get({ 'if-none-match': '*' }, '/dns')).status).toBe(401);
  const { status, fields } = await service.rest('/domain/unknown.example', { 'if-none-match': '*' });
  expect([status, fields.get('etag')]).toEqual([404, null]);
});

test.each([
  ['Tue, 14 Nov 2023 22:13:20 GMT', 304],
  ['Tue, 14 Nov 2023 22:13:21 GMT', 304],
  ['Tuesday, 14-Nov-23 22:13:20 GMT', 304],
  ['Tue Nov 14 22:13:20 2023', 304],
  ['Tue, 14 Nov 2023 22:13:19 GMT', 200],
  ['2023-11-15', 200],
  ['Wed, 31 Feb 2024 00:00:00 GMT', 200],
  ['', 200],
])('If-Modified-Since: %s, of a state of 22:13:20: %i (RFC 9110, section 13.1.3)', async (date, status) => {
  await setState(RECORDED);
  expect((await get()).headers.get('last-modified')).toBe('Tue, 14 Nov 2023 22:13:20 GMT');
  expect((await get({ 'if-modified-since': date })).status).toBe(status);
});

test('a recording is never hidden by a date given before it, and recordedAt never goes back, whatever the clocks say', async () => {
  const { pool } = service.database;
  const skew = fc.oneof(...[0, 2_000, 4e6].map((most) => fc.integer({ min: -most, max: most })));
  const steps = fc.array(fc.tuple(skew, skew), { minLength: 1, maxLength: 4 });
  let observedAt = LATEST_INSTANT - 1_000_000n;
  const recordedAt = async () => {
    const query = 'SELECT recorded_at AS at FROM domain WHERE name = $1';
    return (await pool.query<{ at: bigint }>(query, [NAME])).rows[0]?.at;
  };
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    await fc.assert(
      fc.asyncProperty(skew, steps, async (first, all) => {
        const began = performance.timeOrigin + performance.now();
        const clock = (milliseconds: number) => vi.setSystemTime(began + milliseconds);
        clock(0);
        await setState(BigInt(Math.round(began + first)) * 1000n);
        for (const [responding, recording] of all) {
          clock(responding);
          const lastModified = (await get()).headers.get('last-modified') ?? '';
          const before = await recordedAt();
          clock(recording);
          observedAt += 1n;
          await createRecorder(pool).record([{ ...LOOK, observedAt }]);
          expect(await recordedAt()).toBeGreaterThanOrEqual(before ?? LATEST_INSTANT);
          clock(responding);
          expect((await get({ 'if-modified-since': lastModified })).status).toBe(200);
        }
      }),
      { numRuns: 10 },
    );
  } finally {
    vi.useRealTimers();
  }
});

test('Last-Modified is never later than the answer (RFC 9110, section 8.8.2.1)', async () => {
  await setState(BigInt(Date.now() + 3_600_000) * 1000n);
  const { headers } = await get();
  const lastModified = Date.parse(headers.get('last-modified') ?? '');
  expect(lastModified).toBeLessThanOrEqual(Date.now());
  expect((await get({ 'if-modified-since': headers.get('last-modified') ?? '' })).status).toBe(200);
});

const CONDITIONS = [{ 'accept-encoding': 'identity' }, { 'accept-encoding': 'br' }, { 'if-none-match': '*' }];
/** A coding is chosen when there is a body. */
const NOT_OF_HEAD = 'date connection keep-alive ratelimit transfer-encoding content-encoding'.split(' ');

test.each(CONDITIONS)('HEAD has the fields of GET, and no body (RFC 9110, 9.3.2): %j', async (sent) => {
  await setState(RECORDED);
  const headers = { ...authorization, ...sent, 'x-request-id': 'same' };
  for (const path of ['unknown.example', ...OPERATIONS.map((operation) => NAME + operation)]) {
    const ask = async (method: string) => {
      const response = await service.fetch(`/api/v1/domain/${path}`, { method, headers });
      const fields = [...response.headers].filter(([name]) => !NOT_OF_HEAD.includes(name));
      return { status: response.status, fields, body: await response.text() };
    };
    expect(await ask('HEAD')).toEqual({ ...(await ask('GET')), body: '' });
  }
});

test('a response to a token may be stored by its client only (RFC 9111, section 5.2.2), that of an open operation to none by any cache', async () => {
  for (const operation of OPERATIONS) {
    const { headers } = await get(authorization, operation);
    expect(headers.get('cache-control')).toBe('private, max-age=60, must-revalidate');
    expect(headers.get('vary')).toContain('Authorization');
  }
  expect((await get()).headers.get('cache-control')).toBe('public, max-age=60, must-revalidate');
});

test('errors and responses of GraphQL must not be stored, and have no validator that nothing checks', async () => {
  const answers = await Promise.all([
    service.fetch('/api/v1/domain/unknown.example'),
    service.fetch('/nothing'),
    get({}, '/dns'),
    get(bearer('x')),
    service.fetch('/graphql', graphqlRequest('{ __typename }')),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 401, 401, 200]);
  for (const { headers } of answers)
    expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null]);
});

test('a domain that is forgotten and recorded again has a tag that it never had', async () => {
  const tags = new Set<string>();
  for (let time = 0; time < 3; time += 1) {
    await forget(service.database, [NAME]);
    await createRecorder(service.database.pool).record([LOOK]);
    tags.add(await tagOf());
  }
  expect(tags.size).toBe(3);
});
