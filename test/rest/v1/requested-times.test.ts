import { expect, test } from 'vitest';
import { parseDmsLine } from '../../../src/importers/dms.js';
import { formatInstant, type Instant, parseInstant } from '../../../src/model/instant.js';
import { createRecorder } from '../../../src/recorder/recorder.js';
import { isTime } from '../../../src/rest/v1/parameters.js';
import { ROUTES } from '../../../src/rest/v1/routes.js';
import { nextPageOf } from '../../support/ask.js';
import { bearer, serviceOfFile, startServiceForTest } from '../../support/service.js';

const HOUR = 3_600_000_000n;
const started: Instant = BigInt(Date.now()) * 1_000n;

let headers: Record<string, string>;

/** An address of six domains, of which one comes and goes every two hours. */
const service = serviceOfFile({ role: 'api' }, async ({ database, createToken }) => {
  headers = bearer(await createToken());
  const lines = [1, 2, 3, 4, 5, 6].flatMap((number) =>
    [20n, 18n, 16n, 14n].map((hours, at) => ({
      domain: `a${number}.example`,
      observedAt: formatInstant(started - hours * HOUR),
      dnsRecords: at % 2 === 1 ? [] : [{ host: 'a.example', class: 'IN', type: 'A', ip: '192.0.2.7' }],
      httpHeaders: { server: 'nginx', via: String(at) },
    })),
  );
  const observations = lines.map((line) => parseDmsLine(JSON.stringify(line), started));
  await createRecorder(database.pool).record(observations);
});

/** @param path After `/api/v1`, or with it, as links have it. */
const get = (path: string, fields: Record<string, string> = {}) =>
  service.rest(path.replace(/^\/api\/v1/, ''), { ...headers, ...fields });

const search = (query: string) => `/search/dns-records?ip=192.0.2.7&${query}`;

test('a date is its midnight, UTC, and its response is kept and revalidated as that of any time', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const { status, text } = await get(`/domain/a1.example?at=${today}T00:00:00Z`);
  expect(await get(`/domain/a1.example?at=${today}`)).toMatchObject({ status, text });
  const path = '/domain/a1.example/changes?from=2024-02-29';
  const etag = (await get(path)).fields.get('etag') ?? '';
  expect(etag).toMatch(/^W\//);
  expect((await get(path, { 'if-none-match': etag })).status).toBe(304);
});

const OPERATIONS = ['', '/details', '/headers', '/dns'];

test.each(OPERATIONS)(
  'a duration is an instant so long before now, and nobody keeps the response: /domain/{domain}%s',
  async (operation) => {
    const path = `/domain/a1.example${operation}`;
    // Between two observations, for longer than any test takes.
    const byTime = await get(`${path}?at=${formatInstant(started - 15n * HOUR)}`);
    const byDuration = await get(`${path}?at=15h`, { 'if-none-match': '*' });
    expect([byDuration.status, byDuration.text]).toEqual([200, byTime.text]);
    expect(byTime.fields.get('etag')).not.toBeNull();
    const fields = ['etag', 'last-modified', 'cache-control'].map((name) => byDuration.fields.get(name));
    expect(fields).toEqual([null, null, 'no-store']);
  },
);

test('the times of a difference may be durations, and the body says which instants they were', async () => {
  const { body, fields } = await get('/domain/a1.example/diff?from=17h&to=15h');
  expect(parseInstant(body.to) - parseInstant(body.from)).toBe(2n * HOUR);
  expect(body.dnsRecordsAdded).toHaveLength(1);
  expect(fields.get('cache-control')).toBe('no-store');
});

test('a time that is not one is rejected with what to write instead, and so is one in GraphQL that is not RFC 3339', async () => {
  const detail =
    'seenFrom: "yesterday" is not a time: write it like 2024-03-01T10:20:30Z, a date like 2024-03-01, a duration back from now like 36h, 30d or 2w, or now.';
  expect(await get(search('seenFrom=yesterday'))).toMatchObject({ status: 400, body: { detail } });
  for (const at of ['2024-03-01', '30d']) {
    const { text } = await service.graphql(`{ domain(name: "a1.example", at: "${at}") { name } }`);
    expect(text).toContain('is not an RFC 3339 time');
  }
});

test.each(
  ROUTES.flatMap(({ path, parameters }) =>
    parameters.filter(isTime).map(({ name }) => [path, name, parameters] as const),
  ),
)('a date and a duration are accepted by %s as %s', async (path, name, parameters) => {
  const others = { ip: '192.0.2.7', name: 'via', value: '1', from: '2024-01-01', to: '1h' };
  const isOther = ([each]: [string, string]) =>
    each !== name && parameters.some((parameter) => parameter.name === each);
  const query = new URLSearchParams(Object.entries(others).filter(isOther));
  for (const time of ['2025-01-01', '2w']) {
    query.set(name, time);
    const { status, text } = await get(`${path.replace('{domain}', 'a1.example')}?${query}`);
    expect([200, 404], text).toContain(status);
  }
});

const QUESTION = 'seenFrom=21h&seenTo=1ms&first=2';

test.each(['duration', 'link'])('pages with a duration are all of the first instant, by %s', async (way) => {
  const whole = (await get(search('seenFrom=21h&seenTo=1ms'))).body.matches;
  expect(whole).toHaveLength(12);
  let page = await get(search(QUESTION));
  expect(page.fields.get('cache-control')).toBe('no-store');
  const instants = new Set<string>();
  const matches = [...page.body.matches];
  while (page.body.next !== null) {
    const link = nextPageOf(page.fields) ?? '';
    const linked = new URLSearchParams(link.split('?')[1]);
    expect(linked.get('after')).toBe(page.body.next);
    instants.add(`${linked.get('seenFrom')} ${linked.get('seenTo')}`);
    page = await get(way === 'link' ? link : search(`${QUESTION}&after=${page.body.next}`));
    expect(page.status).toBe(200);
    matches.push(...page.body.matches);
  }
  expect([...instants]).toEqual([expect.stringMatching(/^\d{4}-\S*Z \d{4}-\S*Z$/)]);
  expect(matches).toEqual(whole);
});

test('a cursor of one duration is none of another, nor of the same one as asked at another moment', async () => {
  const { next } = (await get(search(QUESTION))).body;
  const [cursor, moment] = next.split('.');
  for (const query of [
    `${QUESTION.replace('21h', '22h')}&after=${next}`,
    `${QUESTION}&after=${cursor}`,
    `${QUESTION}&after=${cursor}.${BigInt(moment) + 1n}`,
    `${QUESTION}&after=${next}0`,
  ]) {
    const { status, body } = await get(search(query));
    expect([status, body.code]).toEqual([400, 'INVALID_CURSOR']);
  }
});

test('pages of changes of a domain have validators only with instants, not with a duration', async () => {
  const path = '/domain/a1.example/changes?first=3';
  const first = await get(`${path}&from=19h`);
  expect([first.fields.get('etag'), first.fields.get('cache-control')]).toEqual([null, 'no-store']);
  const byDuration = await get(`${path}&from=19h&after=${first.body.next}`);
  const byLink = await get(nextPageOf(first.fields) ?? '');
  expect(byLink.body).toMatchObject({ changes: byDuration.body.changes });
  expect(byLink.body.changes).not.toHaveLength(0);
  expect(byLink.fields.get('etag')).toMatch(/^W\//);
});

test('the link to the next page is a path with the query, its cursor that of the body, and only where a page follows', async () => {
  const path = search('types=A&types=AAAA&first=11');
  const { body, fields } = await get(path);
  expect(nextPageOf(fields)).toBe(`/api/v1${path}&after=${body.next}`);
  const last = await get(nextPageOf(fields) ?? '');
  expect(last.body).toMatchObject({ matches: [expect.anything()], next: null });
  expect(last.fields.get('link')).toBeNull();
});

test('the links of what changed anywhere end where nothing is new, though there is a cursor', async () => {
  const changes = [];
  let pages = 0;
  for (let path: string | undefined = '/changes?first=20'; path !== undefined; pages += 1) {
    const { body, fields } = await get(path);
    changes.push(...body.changes);
    path = nextPageOf(fields);
    expect(body.next).toEqual(expect.any(String));
  }
  expect(changes).toHaveLength((await get('/changes?first=500')).body.changes.length);
  expect(pages).toBeGreaterThan(2);
});

test('the link to the next page is in HEAD, too, and has the base path', async () => {
  const below = await startServiceForTest({ database: service.database, basePath: '/a/dms' });
  const path = '/api/v1/search/domains?match=*.example&first=1';
  const { headers } = await below.fetch(path, { method: 'HEAD' });
  expect(nextPageOf(headers)?.startsWith(`/a/dms${path}&after=`)).toBe(true);
});

test('a link so long that a proxy would not pass it on is left out of JSON, which has the cursor, and kept in CSV', async () => {
  const many = Array.from({ length: 200 }, (_, at) => `domains=a${at}.example`).join('&');
  const path = `/changes?${many}&first=1`;
  const { body, fields } = await get(path);
  expect([body.changes.length, fields.get('link')]).toEqual([1, null]);
  const table = await get(path, { accept: 'text/csv' });
  expect(nextPageOf(table.fields)?.length).toBeGreaterThan(2_000);
});
