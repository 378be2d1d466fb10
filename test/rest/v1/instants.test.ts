import { expect, test } from 'vitest';
import { parseDmsLine } from '../../../src/importers/dms.js';
import { formatInstant, parseInstant } from '../../../src/model/instant.js';
import { createRecorder } from '../../../src/recorder/recorder.js';

import { bearer, serviceOfFile } from '../../support/service.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

/** Records that go and return, headers that are created, updated, go and return; types by name, and all at once. */
const OBSERVATIONS = [
  { observedAt: '2024-03-01T00:00:00.000001Z', dnsRecords: [a(1), a(2)], httpHeaders: { server: 'one' } },
  { observedAt: '2024-03-02T00:00:00Z', dnsRecords: [a(1)], dnsTypes: ['A', 'MX'] },
  { observedAt: '2024-03-03T00:00:00Z', httpHeaders: { server: 'two', via: 'proxy' } },
  { observedAt: '2024-03-04T00:00:00Z', dnsRecords: [], httpHeaders: { via: 'proxy' } },
  { observedAt: '2024-03-05T00:00:00Z', dnsRecords: [a(1)], httpHeaders: { server: 'two' } },
] as const;

let headers: Record<string, string>;

const service = serviceOfFile({ role: 'api' }, async ({ database, createToken }) => {
  headers = bearer(await createToken());
  const recorder = createRecorder(database.pool);
  const lineOf = (domain: string, line: object) => parseDmsLine(JSON.stringify({ domain, ...line }), NOW);
  const record = (domain: string, count: number) =>
    recorder.record(OBSERVATIONS.slice(0, count).map((line) => lineOf(domain, line)));
  await record('all.example', OBSERVATIONS.length);
  await record('large.example', OBSERVATIONS.length);
  for (let count = 1; count <= OBSERVATIONS.length; count += 1) await record(`first${count}.example`, count);
  // Read page by page, as a history of that size is.
  const sizes = 'record_octets = 100000, header_octets = 100000';
  await database.pool.query(`UPDATE domain SET ${sizes} WHERE name = 'large.example'`);
});

function a(number: number) {
  return { host: 'a.example', class: 'IN', type: 'A', ip: `192.0.2.${number}` };
}

const OPERATIONS = ['', '/dns', '/details', '/headers'];

const get = (path: string) => service.rest(`/domain/${path}`, headers);

/** Names differ: all else must not. */
const withoutNames = (body: string) => body.replaceAll(/\b(?:all|large|first\d)\.example/g, 'a.example');

/** The time of each observation, and a microsecond before the next one, or long after the last. */
const INSTANTS = OBSERVATIONS.flatMap(({ observedAt }, index) => {
  const next = parseInstant(OBSERVATIONS[index + 1]?.observedAt ?? '2025-01-01T00:00:00Z');
  return [observedAt, formatInstant(next - 1n)].map((at) => [at, index + 1] as const);
});

test.each(INSTANTS)(
  'as of %s, each operation is, byte for byte, that of %d observations',
  async (at, count) => {
    for (const path of OPERATIONS) {
      const expected = withoutNames((await get(`first${count}.example${path}`)).text);
      for (const domain of ['all', 'large']) {
        const { status, text } = await get(`${domain}.example${path}?at=${at}`);
        expect([path, domain, status, withoutNames(text)]).toEqual([path, domain, 200, expected]);
      }
    }
  },
);

test.each(OPERATIONS)('a domain that was first observed later than ?at= is not found: %s', async (path) => {
  const detail = 'No history is recorded for all.example up to 2024-03-01T00:00:00.000000Z.';
  const body = { code: 'DOMAIN_NOT_FOUND', detail };
  expect(await get(`all.example${path}?at=2024-03-01T00:00:00Z`)).toMatchObject({ status: 404, body });
});

test.each([
  ['with another offset', '2024-03-03T05:30:00%2B05:30'],
  ['with a + that is not escaped', '2024-03-03T05:30:00+05:30'],
  ['in lower case, with digits after the sixth', '2024-03-03t00:00:00.0000009z'],
])('the time of ?at= may be written %s', async (_form, at) => {
  const { text } = await get('all.example?at=2024-03-03T00:00:00Z');
  expect((await get(`all.example?at=${at}`)).text).toBe(text);
});

test.each([
  ['?at=', 'is not a time: write it like 2024-03-01T10:20:30Z, a date like 2024-03-01, a duration back'],
  ['?at=2024-02-30T00:00:00Z', 'the month has no such day'],
  ['?at=9000-01-01T00:00:00Z', 'is more than five minutes ahead'],
  ['/diff', 'The query must have the parameters from and to.'],
  ['/diff?from=2024-03-01T00:00&to=2024-03-01', 'from: "2024-03-01T00:00" is not an RFC 3339 time: write it'],
  ['/diff?from=2024-03-01&to=9000-01-01', '9000-01-01T00:00:00.000000Z is more than five minutes ahead: req'],
  [
    '/diff?from=2024-03-02&to=2024-03-01',
    'from, 2024-03-02T00:00:00.000000Z, is later than to, 2024-03-01T00:00:00.000000Z: exchange them.',
  ],
  ['/diff?from=2024-03-02&to=2024-03-03&at=2024-03-03', 'Unknown query parameter "at". This operation has'],
  ['/diff?from=2024-03-01&to=2024-03-02&types=B%20C', 'types: "B C" is not'],
])('400 INVALID_PARAMETER says what is wrong with the times of /domain/{domain}%s', async (query, told) => {
  const body = { code: 'INVALID_PARAMETER', detail: expect.stringContaining(told) };
  expect(await get(`all.example${query}`)).toMatchObject({ status: 400, body });
});

test('a time may be up to five minutes ahead, since clocks differ', async () => {
  const ahead = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
  expect((await get(`all.example?at=${ahead(240_000)}`)).text).toBe((await get('all.example')).text);
  expect((await get(`all.example?at=${ahead(360_000)}`)).status).toBe(400);
});

test('GraphQL gives several times of a domain in one request, with every field as it was then', async () => {
  const fields =
    'name created lastUpdate lastChange dnsRecordCount httpHeaderCount changeCount dnsRecords { ... on DnsRecordEntry { firstSeen removed } } present: dnsRecords(present: true) { ... on ARecord { ip } } httpHeaders { name value present history { date old new } }';
  const ask = async (argumentsOf: (observedAt: string, index: number) => string) => {
    const aliases = OBSERVATIONS.map(
      ({ observedAt }, at) => `t${at}: domain(${argumentsOf(observedAt, at)}) { ${fields} }`,
    );
    const { data, errors } = await service.graphql(`{ ${aliases.join(' ')} }`);
    expect(errors).toBeUndefined();
    return withoutNames(JSON.stringify(data));
  };
  const then = await ask((observedAt) => `name: "all.example", at: "${observedAt}"`);
  expect(then).toBe(await ask((_observedAt, index) => `name: "first${index + 1}.example"`));
});

test.each(['all', 'large'])('the diff of %s.example has what only one time has', async (domain) => {
  const { body } = await get(`${domain}.example/diff?from=2024-03-01T12:00:00Z&to=2024-03-04T00:00:00Z`);
  const firstSeen = '2024-03-01T00:00:00.000001Z';
  expect(body).toEqual({
    domain: `${domain}.example`,
    from: '2024-03-01T12:00:00.000000Z',
    to: '2024-03-04T00:00:00.000000Z',
    dnsRecordsAdded: [],
    dnsRecordsRemoved: [
      { data: a(1), firstSeen, removed: '2024-03-04T00:00:00.000000Z' },
      { data: a(2), firstSeen, removed: '2024-03-02T00:00:00.000000Z' },
    ],
    httpHeaders: [
      { name: 'server', difference: 'REMOVED', old: 'one', new: null },
      { name: 'via', difference: 'ADDED', old: null, new: 'proxy' },
    ],
  });
});

const A = { data: { type: 'A', ip: '192.0.2.1' } };
const OTHER_A = { data: { type: 'A', ip: '192.0.2.2' } };
const SERVER = { name: 'server', difference: 'ADDED', old: null, new: 'one' };
const VIA_GONE = { name: 'via', difference: 'REMOVED', old: 'proxy', new: null };

test.each([
  ['of what went and returned', '2024-03-03T00:00:00Z', '2024-03-05T00:00:00Z', [], [VIA_GONE]],
  ['from nothing', '2000-01-01T00:00:00Z', '2024-03-01T00:00:01Z', [A, OTHER_A], [SERVER]],
  ['of two times before the first observation', '2000-01-01T00:00:00Z', '2000-01-01T00:00:00Z', [], []],
])('a diff %s has what is different at its end', async (_what, from, to, dnsRecordsAdded, httpHeaders) => {
  const { body } = await get(`all.example/diff?from=${from}&to=${to}`);
  expect(body).toMatchObject({ dnsRecordsAdded, dnsRecordsRemoved: [], httpHeaders });
});

test.each([
  ['types=a', [A, OTHER_A], []],
  ['types=MX', [], []],
  ['headers=Server', [], [SERVER]],
  ['headers=via&types=A&types=MX', [A, OTHER_A], []],
  ['types=A&headers=server', [A, OTHER_A], [SERVER]],
])('a diff has only what %s names; the same in GraphQL', async (selection, dnsRecordsAdded, httpHeaders) => {
  const times = { from: '2000-01-01T00:00:00Z', to: '2024-03-01T00:00:01Z' };
  const { body } = await get(`all.example/diff?${new URLSearchParams(times)}&${selection}`);
  const expected = { dnsRecordsAdded, dnsRecordsRemoved: [], httpHeaders };
  expect(body).toMatchObject(expected);
  const selected = new URLSearchParams(selection);
  const lists = [...new Set(selected.keys())].map(
    (name) => `${name}: ${JSON.stringify(selected.getAll(name))}`,
  );
  const { data } = await service.graphql(
    `{ domain(name: "all.example") { diff(from: "${times.from}", to: "${times.to}", ${lists.join(', ')}) {
       dnsRecordsAdded { ... on ARecord { type ip } } dnsRecordsRemoved { __typename }
       httpHeaders { name difference old new } } } }`,
  );
  const added = dnsRecordsAdded.map(({ data }) => data);
  expect(data.domain.diff).toEqual({ ...expected, dnsRecordsAdded: added });
});

test('a diff in GraphQL knows nothing later than the time of its domain', async () => {
  const { data } = await service.graphql(
    `{ domain(name: "all.example", at: "2024-03-04T00:00:00Z") {
         diff(from: "2024-03-03T00:00:00Z", to: "2024-03-05T00:00:00Z") { to httpHeaders { name difference } } } }`,
  );
  const httpHeaders = [{ name: 'server', difference: 'REMOVED' }];
  expect(data.domain.diff).toEqual({ to: '2024-03-05T00:00:00.000000Z', httpHeaders });
});
