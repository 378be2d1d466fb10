import { afterAll, beforeAll, expect, test } from 'vitest';
import { exportDms } from '../../src/exporters/dms.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { NOW, type ObservationParts, observation, timeText } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;

beforeAll(async () => {
  database = await openTestDatabase();
  service = await startTestService({ database });
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

const record = (domain: string, lines: readonly ObservationParts[], older = false) =>
  createRecorder(database.pool).record(
    lines.map((line) => observation({ ...line, domain })),
    older,
  );

async function rest(path: string, url = service.url): Promise<Record<string, unknown>> {
  return (await fetch(`${url}/api/v1/${path}`)).json() as Promise<Record<string, unknown>>;
}

async function ask(query: string): Promise<unknown> {
  const body = JSON.stringify({ query });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${service.url}/graphql`, { method: 'POST', headers, body });
  return ((await response.json()) as { readonly data: unknown }).data;
}

const HEADERS = { server: 'nginx' };
const LOOKS: readonly ObservationParts[] = [
  { at: 1, headers: HEADERS, status: 200, source: 'probe' },
  { at: 2, headers: HEADERS, status: 200 },
  { at: 3, headers: HEADERS, status: 503, source: 'probe' },
  { at: 4, headers: HEADERS, status: 200 },
  { at: 5, headers: HEADERS, status: 200 },
];
const micros = (at: number) => `${timeText(at).slice(0, 19)}.000000Z`;
const STATUSES = [
  { date: micros(3), oldStatus: 200, newStatus: 503, routine: null, source: 'probe' },
  { date: micros(4), oldStatus: 503, newStatus: 200, routine: null, source: null },
];

async function statusesOf(path: string, url?: string) {
  const { changes } = (await rest(path, url)) as { readonly changes: Record<string, unknown>[] };
  return changes
    .filter(({ kind }) => kind === 'SITE_STATUS_CHANGED')
    .map(({ date, oldStatus, newStatus, routine, source }) => ({
      date,
      oldStatus,
      newStatus,
      routine,
      source,
    }));
}

test('another status with the same headers is a change: in a domain, the feed, and as the site now and at a time; no count has it', async () => {
  const { outcomes } = await record('site.example', LOOKS);
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    'changed',
    'unchanged',
    'changed',
    'changed',
    'unchanged',
  ]);
  expect(await statusesOf('domain/site.example/changes')).toEqual(STATUSES);
  expect(await statusesOf('domain/site.example/changes?order=NEWEST_FIRST&first=2')).toEqual(
    STATUSES.toReversed(),
  );
  expect(await statusesOf('changes?domains=site.example&kinds=SITE_STATUS_CHANGED')).toEqual(STATUSES);
  expect(await statusesOf('changes?domains=site.example&notable=true')).toEqual(STATUSES);
  expect(await statusesOf('domain/site.example/changes?headers=server')).toEqual([]);
  const site = 'site { scheme status firstSeen lastSeen }';
  expect(
    await ask(`{ now: domain(name: "site.example") { changeCount lastChange ${site} }
      earlier: domain(name: "site.example", at: "${timeText(3)}") { ${site} }
      before: domain(name: "site.example", at: "${timeText(2)}") { ${site} } }`),
  ).toEqual({
    now: {
      ...{ changeCount: 1, lastChange: micros(1) },
      site: { scheme: 'http', status: 200, firstSeen: micros(4), lastSeen: micros(5) },
    },
    earlier: { site: { scheme: 'http', status: 503, firstSeen: micros(3), lastSeen: micros(3) } },
    before: { site: { scheme: 'http', status: 200, firstSeen: micros(1), lastSeen: micros(1) } },
  });
  const csv = await fetch(`${service.url}/api/v1/domain/site.example/changes`, {
    headers: { accept: 'text/csv' },
  });
  expect((await csv.text()).split('\r\n').filter((line) => line.includes('SITE_STATUS_CHANGED'))).toEqual([
    expect.stringContaining(`${micros(3)},site.example,SITE_STATUS_CHANGED,,,200,503,,probe,`),
    expect.stringContaining(`${micros(4)},site.example,SITE_STATUS_CHANGED,,,503,200,,,`),
  ]);
  const { changes } = (await rest('domain/site.example/changes')) as { readonly changes: { id: string }[] };
  for (const { id } of changes) {
    expect(await ask(`{ node(id: "${id}") { id } }`)).toEqual({ node: { id } });
  }
});

test('it is the same after export and import, and where older observations are put before', async () => {
  const lines: string[] = [];
  for await (const history of readHistories(database.pool, ['site.example']))
    lines.push(...exportDms(history));
  const elsewhere = await openTestDatabase();
  const other = await startTestService({ database: elsewhere });
  try {
    await createRecorder(elsewhere.pool).record(lines.map((line) => parseDmsLine(line, NOW)));
    expect(await rest('domain/site.example/changes', other.url)).toEqual(
      await rest('domain/site.example/changes'),
    );
  } finally {
    await other.stop();
    await elsewhere.close();
  }
  await record('older.example', LOOKS.slice(2));
  await record('older.example', LOOKS.slice(0, 2), true);
  expect(await statusesOf('domain/older.example/changes')).toEqual(STATUSES);
  const extended = await rest('changes?domains=older.example&kinds=HISTORY_EXTENDED');
  expect(extended['changes']).toMatchObject([{ earliest: micros(1) }]);
});

test('the first status that is known, another scheme, and responses whose status is unknown are no changes', async () => {
  await record('first.example', [{ at: 1, headers: HEADERS }]);
  const { outcomes } = await record('first.example', [
    { at: 2, headers: HEADERS, status: 404 },
    { at: 3, headers: HEADERS },
    { at: 4, headers: HEADERS, status: 404 },
  ]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  expect(await statusesOf('domain/first.example/changes')).toEqual([]);
  expect(await statusesOf('changes?domains=first.example')).toEqual([]);
  expect(await ask('{ domain(name: "first.example") { site { status firstSeen lastSeen } } }')).toEqual({
    domain: { site: { status: 404, firstSeen: micros(2), lastSeen: micros(4) } },
  });
});

test('a status that changes again and again is routine, but never as that of an error page', async () => {
  const flapping = Array.from({ length: 8 }, (_, at) => ({
    at,
    headers: HEADERS,
    status: at % 2 ? 503 : 200,
  }));
  await record('flapping.example', flapping);
  const reasons = (await statusesOf('domain/flapping.example/changes')).map(({ routine }) => routine);
  expect(reasons).toEqual([null, null, null, ...Array(4).fill('ROTATING')]);
});
