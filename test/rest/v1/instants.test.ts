import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseDmsLine } from '../../../src/importers/dms.js';
import { formatInstant, parseInstant } from '../../../src/model/instant.js';
import { createRecorder } from '../../../src/recorder/recorder.js';
import { bearer, startTestService, type TestService } from '../../support/service.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

/** Records that go and return, headers that are created, updated, go and return; types by name, and all at once. */
const OBSERVATIONS = [
  { observedAt: '2024-03-01T00:00:00.000001Z', dnsRecords: [a(1), a(2)], httpHeaders: { server: 'one' } },
  { observedAt: '2024-03-02T00:00:00Z', dnsRecords: [a(1)], dnsTypes: ['A', 'MX'] },
  { observedAt: '2024-03-03T00:00:00Z', httpHeaders: { server: 'two', via: 'proxy' } },
  { observedAt: '2024-03-04T00:00:00Z', dnsRecords: [], httpHeaders: { via: 'proxy' } },
  { observedAt: '2024-03-05T00:00:00Z', dnsRecords: [a(1)], httpHeaders: { server: 'two' } },
] as const;

const PATHS = ['', '/dns', '/details', '/headers'] as const;

let service: TestService;
let headers: Record<string, string>;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  headers = bearer(await service.createToken());
  const recorder = createRecorder(service.database.pool);
  const record = (domain: string, count: number) =>
    recorder.record(
      OBSERVATIONS.slice(0, count).map((line) => parseDmsLine(JSON.stringify({ domain, ...line }), NOW)),
    );
  await record('all.example', OBSERVATIONS.length);
  await record('large.example', OBSERVATIONS.length);
  for (let count = 1; count <= OBSERVATIONS.length; count += 1) await record(`first${count}.example`, count);
  // Read page by page, as a history of that size is.
  await service.database.pool.query(
    "UPDATE domain SET record_octets = 100000, header_octets = 100000 WHERE name = 'large.example'",
  );
});
afterAll(() => service.stop());

function a(number: number) {
  return { host: 'a.example', class: 'IN', type: 'A', ip: `192.0.2.${number}` };
}

async function get(path: string) {
  const response = await fetch(`${service.url}/api/v1/domain/${path}`, { headers });
  return { status: response.status, text: await response.text(), fields: response.headers };
}

/** Names differ: all else must not. */
function withoutNames(body: string): string {
  return body.replaceAll(/\b(?:all|large|first\d)\.example/g, 'a.example');
}

describe('?at= gives what the observations up to that time give, byte for byte', () => {
  const instants = OBSERVATIONS.flatMap(({ observedAt }, at) => [
    [observedAt, at + 1] as const,
    // A microsecond before the next, and long after the last.
    [
      formatInstant(parseInstant(OBSERVATIONS[at + 1]?.observedAt ?? '2025-01-01T00:00:00Z') - 1n),
      at + 1,
    ] as const,
  ]);
  test.each(instants.flatMap(([at, count]) => PATHS.map((path) => [path, at, count] as const)))(
    'domain/{domain}%s at %s, after %d observations',
    async (path, at, count) => {
      const [expected, small, large] = await Promise.all([
        get(`first${count}.example${path}`),
        get(`all.example${path}?at=${at}`),
        get(`large.example${path}?at=${at}`),
      ]);
      expect(small.status).toBe(200);
      expect(withoutNames(small.text)).toBe(withoutNames(expected.text));
      expect(withoutNames(large.text)).toBe(withoutNames(expected.text));
    },
  );

  test('and a domain that was first observed later is not found', async () => {
    for (const path of PATHS) {
      const { status, text } = await get(`all.example${path}?at=2024-03-01T00:00:00Z`);
      expect([status, JSON.parse(text)]).toEqual([
        404,
        expect.objectContaining({
          code: 'DOMAIN_NOT_FOUND',
          detail: 'No history is recorded for all.example up to 2024-03-01T00:00:00.000000Z.',
        }),
      ]);
    }
  });
});

describe('the time of ?at=', () => {
  test.each([
    ['with another offset', '2024-03-03T05:30:00%2B05:30'],
    ['with a + that is not escaped', '2024-03-03T05:30:00+05:30'],
    ['in lower case, with digits after the sixth', '2024-03-03t00:00:00.0000009z'],
  ])('may be written %s', async (_form, at) => {
    expect((await get(`all.example?at=${at}`)).text).toBe(
      (await get('all.example?at=2024-03-03T00:00:00Z')).text,
    );
  });

  test.each([
    ['2024-03-03T00:00', 'is not an RFC 3339 time'],
    ['', 'is not a time: write it like 2024-03-01T10:20:30Z, a date like 2024-03-01, a duration back'],
    ['2024-02-30T00:00:00Z', 'the month has no such day'],
    ['9000-01-01T00:00:00Z', 'is more than five minutes ahead'],
    ['2024-03-03T00:00:00Z&at=2024-03-03T00:00:00Z', 'given more than once'],
  ])('is rejected with 400 INVALID_PARAMETER: %s', async (at, detail) => {
    const { status, text } = await get(`all.example?at=${at}`);
    expect([status, JSON.parse(text)]).toEqual([
      400,
      expect.objectContaining({ code: 'INVALID_PARAMETER', detail: expect.stringContaining(detail) }),
    ]);
  });

  test('may be up to five minutes ahead, since clocks differ', async () => {
    const ahead = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
    expect((await get(`all.example?at=${ahead(240_000)}`)).text).toBe((await get('all.example')).text);
    expect((await get(`all.example?at=${ahead(360_000)}`)).status).toBe(400);
  });
});

test('an answer of a time is revalidated as any other: 304 until something is recorded', async () => {
  const path = 'all.example?at=2024-03-02T00:00:00Z';
  const first = await get(path);
  const etag = first.fields.get('etag') ?? '';
  const again = await fetch(`${service.url}/api/v1/domain/${path}`, {
    headers: { ...headers, 'if-none-match': etag },
  });
  expect(again.status).toBe(304);
});

test('GraphQL gives several times of a domain in one request, with every field as it was then', async () => {
  const fields =
    'name created lastUpdate lastChange dnsRecordCount httpHeaderCount changeCount dnsRecords { ... on DnsRecordEntry { firstSeen removed } } present: dnsRecords(present: true) { ... on ARecord { ip } } httpHeaders { name value present history { date old new } }';
  const times = OBSERVATIONS.map(
    ({ observedAt }, at) => `t${at}: domain(name: "all.example", at: "${observedAt}") { ${fields} }`,
  );
  const firsts = OBSERVATIONS.map((_, at) => `t${at}: domain(name: "first${at + 1}.example") { ${fields} }`);
  const ask = async (query: string) => {
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return JSON.parse(withoutNames(await response.text()));
  };
  const { data, errors } = await ask(`{ ${times.join(' ')} }`);
  expect(errors).toBeUndefined();
  expect(data).toEqual((await ask(`{ ${firsts.join(' ')} }`)).data);
  expect(await ask('{ domain(name: "all.example", at: "9000-01-01T00:00:00Z") { name } }')).toMatchObject({
    data: { domain: null },
    errors: [{ extensions: { code: 'INVALID_PARAMETER' } }],
  });
  expect(await ask('{ domain(name: "all.example", at: "2024-02-30T00:00:00Z") { name } }')).toMatchObject({
    errors: [{ message: expect.stringContaining('the month has no such day') }],
  });
});

describe('Domain diff', () => {
  test('has what is present at one of two times and not at the other', async () => {
    for (const domain of ['all', 'large']) {
      const { status, text } = await get(
        `${domain}.example/diff?from=2024-03-01T12:00:00Z&to=2024-03-04T00:00:00%2B00:00`,
      );
      expect(status).toBe(200);
      const removed = ['2024-03-04T00:00:00.000000Z', '2024-03-02T00:00:00.000000Z'].map((time, at) => ({
        data: { ...a(at + 1), ip: `192.0.2.${at + 1}` },
        firstSeen: '2024-03-01T00:00:00.000001Z',
        removed: time,
      }));
      expect(withoutNames(text)).toBe(
        JSON.stringify({
          domain: 'a.example',
          from: '2024-03-01T12:00:00.000000Z',
          to: '2024-03-04T00:00:00.000000Z',
          dnsRecordsAdded: [],
          dnsRecordsRemoved: removed,
          httpHeaders: [
            { name: 'server', difference: 'REMOVED', old: 'one', new: null },
            { name: 'via', difference: 'ADDED', old: null, new: 'proxy' },
          ],
        }),
      );
    }
  });

  test('has nothing of what went and returned, or came and went, between the times', async () => {
    const { text } = await get('all.example/diff?from=2024-03-03T00:00:00Z&to=2024-03-05T00:00:00Z');
    expect(JSON.parse(text)).toMatchObject({
      dnsRecordsAdded: [],
      dnsRecordsRemoved: [],
      httpHeaders: [{ name: 'via', difference: 'REMOVED', old: 'proxy', new: null }],
    });
  });

  test('is from nothing where the earlier time is before the first observation, and nothing where both are', async () => {
    const { text } = await get('all.example/diff?from=2000-01-01T00:00:00Z&to=2024-03-01T00:00:01Z');
    expect(JSON.parse(text)).toMatchObject({
      dnsRecordsAdded: [{ data: { ip: '192.0.2.1' } }, { data: { ip: '192.0.2.2' } }],
      dnsRecordsRemoved: [],
      httpHeaders: [{ name: 'server', difference: 'ADDED', old: null, new: 'one' }],
    });
    const none = await get('all.example/diff?from=2000-01-01T00:00:00Z&to=2000-01-01T00:00:00Z');
    expect(JSON.parse(none.text)).toMatchObject({
      dnsRecordsAdded: [],
      dnsRecordsRemoved: [],
      httpHeaders: [],
    });
  });

  test.each([
    ['', 'The query must have the parameters from and to.'],
    ['?from=2024-03-01T00:00:00Z', 'The query must have the parameter to.'],
    [
      '?from=2024-03-01T00:00&to=2024-03-01T00:00:00Z',
      'from: "2024-03-01T00:00" is not an RFC 3339 time: write it like 2024-03-01T10:20:30.123456Z.',
    ],
    [
      '?from=2024-03-01T00:00:00Z&to=9000-01-01T00:00:00Z',
      '9000-01-01T00:00:00.000000Z is more than five minutes ahead: request an earlier time.',
    ],
    [
      '?from=2024-03-02T00:00:00Z&to=2024-03-01T00:00:00Z',
      'from, 2024-03-02T00:00:00.000000Z, is later than to, 2024-03-01T00:00:00.000000Z: exchange them.',
    ],
    [
      '?from=2024-03-02T00:00:00Z&to=2024-03-03T00:00:00Z&at=2024-03-03T00:00:00Z',
      'Unknown query parameter "at". This operation has: from, to, types, headers.',
    ],
    [
      '?from=2024-03-01T00:00:00Z&to=2024-03-02T00:00:00Z&types=B%20C',
      expect.stringContaining('types: "B C" is not'),
    ],
  ])('rejects %j with 400 INVALID_PARAMETER', async (query, detail) => {
    const { status, text } = await get(`all.example/diff${query}`);
    expect([status, JSON.parse(text)]).toEqual([
      400,
      expect.objectContaining({ code: 'INVALID_PARAMETER', detail }),
    ]);
  });

  const A = { data: { type: 'A', ip: '192.0.2.1' } };
  const OTHER_A = { data: { type: 'A', ip: '192.0.2.2' } };
  const SERVER = { name: 'server', difference: 'ADDED' };
  test.each([
    ['types=a', [A, OTHER_A], []],
    ['types=A&types=MX', [A, OTHER_A], []],
    ['types=MX', [], []],
    ['headers=Server', [], [SERVER]],
    ['headers=via&types=A', [A, OTHER_A], []],
    ['types=A&headers=server', [A, OTHER_A], [SERVER]],
  ])('has only what %s names; the same in GraphQL', async (selection, dnsRecordsAdded, httpHeaders) => {
    const times = { from: '2000-01-01T00:00:00Z', to: '2024-03-01T00:00:01Z' };
    const { text } = await get(`all.example/diff?${new URLSearchParams(times)}&${selection}`);
    const expected = { dnsRecordsAdded, dnsRecordsRemoved: [], httpHeaders };
    expect(JSON.parse(text)).toMatchObject(expected);
    const selected = new URLSearchParams(selection);
    const lists = [...new Set(selected.keys())].map(
      (name) => `${name}: ${JSON.stringify(selected.getAll(name))}`,
    );
    const query = `{ domain(name: "all.example") { diff(from: "${times.from}", to: "${times.to}", ${lists.join(', ')}) {
      dnsRecordsAdded { ... on ARecord { type ip } } dnsRecordsRemoved { __typename } httpHeaders { name difference } } } }`;
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const added = dnsRecordsAdded.map(({ data }) => data);
    expect(await response.json()).toMatchObject({
      data: { domain: { diff: { ...expected, dnsRecordsAdded: added } } },
    });
  });

  test('of a domain of which nothing is recorded is a 404', async () => {
    const { status } = await get('none.example/diff?from=2024-03-01T00:00:00Z&to=2024-03-02T00:00:00Z');
    expect(status).toBe(404);
  });

  test('in GraphQL knows nothing later than the time of its domain, and costs four beside it', async () => {
    const diff =
      'diff(from: "2024-03-03T00:00:00Z", to: "2024-03-05T00:00:00Z") { to httpHeaders { name difference } }';
    const ask = async (query: string) => {
      const response = await fetch(`${service.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      return JSON.parse(await response.text());
    };
    expect(
      await ask(`{ domain(name: "all.example", at: "2024-03-04T00:00:00Z") { ${diff} } }`),
    ).toMatchObject({
      data: {
        domain: {
          diff: {
            to: '2024-03-05T00:00:00.000000Z',
            httpHeaders: [{ name: 'server', difference: 'REMOVED' }],
          },
        },
      },
      extensions: { cost: 5 },
    });
  });
});
