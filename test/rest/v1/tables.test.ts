import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recordSamples } from '../../../src/importers/samples.js';
import { CHANGE_COLUMNS, csvHead, csvLine, DOMAIN_COLUMNS, STAY_COLUMNS } from '../../../src/model/csv.js';
import { createRecorder } from '../../../src/recorder/recorder.js';
import { preferredType } from '../../../src/rest/v1/presenters/body.js';
import { runDms } from '../../journeys/dms-command.js';
import { nextPageOf } from '../../support/ask.js';
import { standInForCitus } from '../../support/citus.js';
import { parseCsv } from '../../support/csv.js';
import { databaseOfFile, onShards } from '../../support/database.js';
import { NOW, observation } from '../../support/observations.js';
import { serviceOfFile } from '../../support/service.js';

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';

/** Lists of all kinds, with more entries than a page of three. */
const LISTS = [
  '/search/dns-records?host=*example*',
  '/search/dns-records?host=*example*&at=2023-10-01',
  '/search/http-headers?name=server&contains=ngi',
  '/search/domains?match=*example*',
  '/domain/example.com/changes?types=A&types=MX&headers=server',
  '/changes?kinds=DNS_RECORD_ADDED&kinds=HEADER_UPDATED',
];

const database = databaseOfFile(async ({ pool }) => {
  const recorder = createRecorder(pool);
  await recordSamples(recorder, NOW);
  const domain = 'table.example';
  await recorder.record([
    observation({ domain, at: 0, records: ['192.0.2.1'], headers: { server: 'nginx' }, source: 'one' }),
    observation({ domain, at: 10, records: ['192.0.2.1'], headers: { server: 'nginx', via: '"a", b' } }),
    observation({ domain, at: 20, records: [], headers: { via: '=1+1' }, source: 'two' }),
    observation({ domain, at: 30, records: ['192.0.2.1'], headers: { server: 'nginx' } }),
    observation({ domain, at: 40, headers: { server: 'nginx/2' }, source: 'a, "b"' }),
    observation({ domain, at: 50, records: ['192.0.2.1'] }),
  ]);
  await standInForCitus(pool);
});
const service = serviceOfFile(() => ({ database }));
/** On the same database, with the statements for tables that are distributed over a Citus cluster. */
const onCluster = serviceOfFile(() => ({ database: onShards(database), role: 'api' }));

/** @param path After `/api/v1`, or with it, as links have it. */
const get = (path: string, accept?: string, fields: Record<string, string> = {}) =>
  service.rest(path.replace(/^\/api\/v1/, ''), { ...fields, ...(accept !== undefined && { accept }) });

async function pagesOf(path: string, accept: string): Promise<string[]> {
  const pages: string[] = [];
  for (let next: string | undefined = `${path}&first=3`; next !== undefined; ) {
    const { status, text, fields } = await get(next, accept);
    expect([status, fields.get('content-type')]).toEqual([200, `${accept}; charset=utf-8`]);
    pages.push(text);
    next = nextPageOf(fields);
  }
  return pages;
}

async function itemsOf(path: string): Promise<Record<string, unknown>[]> {
  const { body } = await get(`${path}&first=500`);
  return body.matches ?? body.changes;
}

test.each(LISTS)('%s as NDJSON has a line for each entry, as the body in JSON has it', async (path) => {
  const pages = await pagesOf(path, NDJSON);
  const lines = pages.join('').split('\n');
  expect(lines.pop()).toBe('');
  expect(lines.map((line) => JSON.parse(line))).toEqual(await itemsOf(path));
  expect(pages.length).toBeGreaterThan(1);
});

test.each(LISTS)('%s as CSV has a line of names on every page, and a line for each entry', async (path) => {
  const pages = await pagesOf(path, CSV);
  const [head = ''] = pages[0]?.split(/(?<=\r\n)/) ?? [];
  for (const page of pages) expect(page.startsWith(head)).toBe(true);
  expect(pages.flatMap(parseCsv)).toHaveLength((await itemsOf(path)).length);
});

const EXPORTED = [
  ['/search/dns-records?host=*example*', /^[^,]*,DNS,[^,]*example/],
  ['/search/http-headers?name=server&contains=nginx', /^[^,]*,HTTP,server,,,"?[^,]*nginx/],
] as const;

const AT = ['2023-01-10T08:00:00Z', '2023-09-10', '2024-01-01T00:00:15Z', '2024-01-01T00:00:35Z', undefined];

test.each(AT)('a search at %s has the rows of dms export --format csv, also on a cluster', async (at) => {
  const options = at === undefined ? [] : ['--at', at];
  const { stdout } = await runDms(['export', '--format', 'csv', ...options], database.environment);
  const [head, ...rows] = stdout.split(/(?<=\r\n)/);
  for (const [path, isOf] of EXPORTED) {
    const expected = [head, ...rows.filter((row) => isOf.test(row))];
    expect(expected.length).toBeGreaterThan(1);
    const query = `${path}&first=500${at === undefined ? '' : `&present=true&at=${at}`}`;
    for (const asked of [service, onCluster])
      expect((await asked.rest(query, { accept: CSV })).text).toBe(expected.join(''));
  }
});

test('a table of domains has their names and times', async () => {
  const path = '/search/domains?match=*example*';
  const expected = (await itemsOf(path)).map(({ domain, created, lastUpdate, lastChange }) => {
    return { domain, created, last_update: lastUpdate, last_change: lastChange };
  });
  expect(parseCsv((await get(path, CSV)).text)).toEqual(expected);
});

test('in a table of changes, a record added stands in `new`, one removed in `old`, and the name is that of the owner or of the header', async () => {
  const path = '/domain/table.example/changes';
  const rows = parseCsv((await get(path, CSV)).text);
  const items = await itemsOf(`${path}?order=OLDEST_FIRST`);
  expect(rows.map(({ id }) => id)).toEqual(items.map(({ id }) => id));
  const columns = ['kind', 'name', 'type', 'old', 'new', 'last_seen'];
  const shown = rows.map((row) => columns.map((column) => row[column]));
  const gone = '2024-01-01T00:00:10.000000Z';
  for (const row of [
    ['DNS_RECORD_ADDED', 'table.example', 'A', '', '192.0.2.1', ''],
    ['DNS_RECORD_REMOVED', 'table.example', 'A', '192.0.2.1', '', gone],
    ['HEADER_UPDATED', 'via', '', '"a", b', '=1+1', gone],
    ['HEADER_GONE', 'server', '', 'nginx', '', gone],
  ])
    expect(shown).toContainEqual(row);
  expect(new Set(rows.map(({ domain }) => domain))).toEqual(new Set(['table.example']));
  expect(new Set(rows.map(({ routine }) => routine))).toEqual(new Set(['INITIAL', '']));
  const feed = parseCsv((await get('/changes?domains=table.example', CSV)).text);
  const texts = (found: object[]) => new Set(found.map((row) => JSON.stringify(row)));
  expect(texts(feed)).toEqual(texts(rows));
});

test('any row is read again as it was by a reader of RFC 4180', () => {
  const value = fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', ' ', '=', 'a', 'é', ';') });
  for (const columns of [STAY_COLUMNS, DOMAIN_COLUMNS, CHANGE_COLUMNS]) {
    const row = fc.record(Object.fromEntries(columns.map((column) => [column, value])));
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const text = csvHead(columns) + rows.map((each) => csvLine(columns, each)).join('');
        expect(parseCsv(text)).toEqual(rows);
      }),
      { numRuns: 50 },
    );
  }
});

const OFFERED = ['application/json', CSV, NDJSON, 'text/event-stream'] as const;
test.each([
  [undefined, 'application/json'],
  ['*/*', 'application/json'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
  ['text/csv', CSV],
  ['TEXT/CSV; charset=utf-8; header=present', CSV],
  ['text/csv, */*', CSV],
  ['text/csv;q=0.5, */*', 'application/json'],
  ['application/json, text/csv', 'application/json'],
  ['text/csv;q=0', 'application/json'],
  ['text/*', CSV],
  ['application/json;q=0, */*', CSV],
  ['application/x-ndjson, text/csv;q=0.9', NDJSON],
  ['text/event-stream', 'text/event-stream'],
  ['application/json, text/event-stream', 'application/json'],
  ['application/problem+json', 'application/json'],
])('a client that accepts %s gets a list as %s', (accept, expected) => {
  expect(preferredType(accept, OFFERED)).toBe(expected);
});

test('caches know that the media type of a list depends on Accept', async () => {
  for (const accept of ['application/json', CSV, NDJSON]) {
    expect((await get('/search/domains?match=*example*', accept)).fields.get('vary')).toMatch(/^Accept, /);
  }
});

test('what is no list, and every error, is JSON also to a client that prefers CSV', async () => {
  const domain = await get('/domain/example.com', CSV);
  expect(domain.body).toMatchObject({ domain: 'example.com' });
  const error = await get('/search/dns-records?ip=a', CSV);
  expect(error).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER' } });
  for (const { fields } of [domain, error])
    expect(fields.get('content-type')).toBe('application/json; charset=utf-8');
});

test('changes of a domain are revalidated in each media type by a tag of its own', async () => {
  const path = '/domain/example.com/changes';
  const types = ['application/json', CSV, NDJSON];
  const tags = await Promise.all(types.map(async (type) => (await get(path, type)).fields.get('etag') ?? ''));
  expect(new Set(tags).size).toBe(3);
  for (const [at, type] of types.entries()) {
    const ask = async (tag: string) => (await get(path, type, { 'if-none-match': tag })).status;
    const statuses = await Promise.all(tags.map(ask));
    expect(statuses).toEqual(types.map((_, other) => (other === at ? 304 : 200)));
  }
});

test('HEAD has the header fields of GET, and bodies are compressed in every media type', async () => {
  for (const accept of [CSV, NDJSON]) {
    const headers = { accept, 'accept-encoding': 'gzip' };
    const ask = async (method: string) => {
      const response = await service.fetch('/api/v1/changes?first=500', { headers, method });
      await response.text();
      return ['content-encoding', 'content-type', 'vary'].map((name) => response.headers.get(name));
    };
    const [coding, ...fields] = await ask('GET');
    expect([coding, await ask('HEAD')]).toEqual(['gzip', [null, ...fields]]);
  }
});

test('without any entry, CSV is the line of names, and NDJSON is empty', async () => {
  const path = '/search/dns-records?ip=192.0.2.222';
  expect((await get(path, CSV)).text).toBe(`${STAY_COLUMNS.join(',')}\r\n`);
  expect((await get(path, NDJSON)).text).toBe('');
});
