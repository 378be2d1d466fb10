import { afterAll, beforeAll, expect, test } from 'vitest';
import { exportDms } from '../../src/exporters/dms.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { NOW, type ObservationParts, observation } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

interface Item {
  readonly kind: string;
  readonly date: string;
  readonly routine: string | null;
  readonly name?: string;
  readonly data?: { readonly type: string };
}

const MX = { host: 'example.com', class: 'IN', type: 'MX', pri: 10, target: 'mail.example.com' };
const LINES: readonly ObservationParts[] = [
  { at: 10, records: ['192.0.2.1'] },
  { at: 20, records: ['192.0.2.1', MX], headers: { server: 'a' } },
  { at: 30, records: ['192.0.2.2'], types: ['A'], headers: { server: 'a', via: 'b' } },
];

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

async function changesAt(path: string): Promise<Item[]> {
  const response = await fetch(`${service.url}/api/v1/${path}`);
  const { changes } = JSON.parse(await response.text()) as { readonly changes: Item[] };
  return changes;
}

const told = (items: readonly Item[]) =>
  items.map(({ kind, date, routine, name, data }) => [kind, date.slice(17, 19), name ?? data?.type, routine]);

const EXPECTED = [
  ['DNS_RECORD_ADDED', '10', 'A', 'INITIAL'],
  ['DNS_RECORD_ADDED', '20', 'MX', null],
  ['HEADER_CREATED', '20', 'server', 'INITIAL'],
  ['DNS_RECORD_ADDED', '30', 'A', null],
  ['DNS_RECORD_REMOVED', '30', 'A', null],
  ['HEADER_CREATED', '30', 'via', null],
];

test('what the first observation of each part showed is told from what changed, the same in a domain, the feed and elsewhere', async () => {
  await record('first.example', LINES);
  expect(told(await changesAt('domain/first.example/changes'))).toEqual(EXPECTED);
  expect(told(await changesAt('changes?domains=first.example'))).toEqual(EXPECTED);
  // Later observations change none of it.
  await record('first.example', [{ at: 40, records: ['192.0.2.2'], headers: { server: 'a', via: 'b' } }]);
  expect(told(await changesAt('domain/first.example/changes')).slice(0, EXPECTED.length)).toEqual(EXPECTED);
  const lines: string[] = [];
  for await (const history of readHistories(database.pool, ['first.example']))
    lines.push(...exportDms(history));
  const elsewhere = await openTestDatabase();
  const other = await startTestService({ database: elsewhere });
  try {
    await createRecorder(elsewhere.pool).record(lines.map((line) => parseDmsLine(line, NOW)));
    const response = await fetch(`${other.url}/api/v1/domain/first.example/changes`);
    const { changes } = JSON.parse(await response.text()) as { readonly changes: Item[] };
    expect(changes).toEqual(await changesAt('domain/first.example/changes'));
  } finally {
    await other.stop();
    await elsewhere.close();
  }
});

test('an older observation that is put before makes changes of what seemed to be there at first, and is itself routine', async () => {
  await record('older.example', LINES);
  await record('older.example', [{ at: 5, records: ['192.0.2.9'], headers: {} }], true);
  const [first, ...others] = told(await changesAt('domain/older.example/changes'));
  expect(first).toEqual(['DNS_RECORD_ADDED', '05', 'A', 'INITIAL']);
  expect(new Set(others.map(([, , , reason]) => reason))).toEqual(new Set([null]));
  const extended = await changesAt('changes?domains=older.example&kinds=HISTORY_EXTENDED');
  expect(extended.map((change) => change.routine)).toEqual(['BACKFILL']);
});
