import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { runDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { HTTPX_1_7, HTTPX_FAILED, type HttpxKeys, httpxLine } from '../support/httpx-lines.js';
import { observationLine, timeText } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  service = await startTestService({ database });
  folder = await mkdtemp(join(tmpdir(), 'dms-test-httpx-'));
});

beforeEach(async () => {
  await emptyTestDatabase(database);
});

afterAll(async () => {
  await service.stop();
  await database.close();
  await rm(folder, { recursive: true });
});

function importText(input: string, args: readonly string[] = [], settings: Record<string, string> = {}) {
  return runDms(['import', ...args, '-'], { ...database.environment, ...settings }, Readable.from([input]));
}

/** A line of httpx at a time, with these fields in the head of the response. */
function lineAt(at: number, fields: readonly string[], keys: HttpxKeys = {}): string {
  const raw_header = ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
  return httpxLine({ timestamp: timeText(at), raw_header, ...keys });
}

async function stored(): Promise<StoredHistory[]> {
  const histories: StoredHistory[] = [];
  for await (const history of readHistories(database.pool)) histories.push(history);
  return histories;
}

/** What Get domain says of the headers of example.com: names to values, oldest first. */
async function answered(): Promise<Record<string, string[]>> {
  const response = await fetch(`${service.url}/api/v1/domain/example.com`);
  const { httpHeaders } = JSON.parse(await response.text());
  return Object.fromEntries(
    httpHeaders.map(({ name, history }: { name: string; history: { new: string }[] }) => [
      name,
      history.map((change) => change.new),
    ]),
  );
}

const FIRST = lineAt(1, ['Date: one', 'Server: a', 'Content-Length: 5', 'X-Gone: 1']);
const SECOND = lineAt(2, ['Date: two', 'Server: b']);

describe('dms import of the lines of httpx', () => {
  test.each([['auto'], ['httpx']])('records the headers and no DNS, with --format %s', async (format) => {
    const result = await importText(`${FIRST}\n${SECOND}\n`, ['--format', format]);
    expect([result.code, result.stderr]).toEqual([0, '']);
    expect(result.stdout).toMatch(/^recorded +2 \(2 with a change\)$/m);
    expect(result.stdout).toMatch(/^DNS records +0 added, 0 removed$/m);
    expect(await answered()).toEqual({ server: ['a', 'b'], 'content-length': ['5'], 'x-gone': ['1'] });
    expect((await stored()).flatMap(findViolations)).toEqual([]);
  });

  test('the summary says which format the lines have told, where it is not that of the program', async () => {
    const httpx = join(folder, 'httpx.json');
    const dms = join(folder, 'dms.ndjson');
    await writeFile(httpx, FIRST);
    await writeFile(dms, observationLine({ at: 3, headers: { server: 'c' } }));
    const run = async (...files: string[]) =>
      (await runDms(['import', ...files], database.environment)).stdout;
    expect(await run(httpx)).toMatch(/^format +httpx\n/);
    expect(await run(httpx, dms)).toMatch(/^format +dms, httpx\n/);
    expect(await run(dms)).toMatch(/^lines read /);
    expect(await answered()).toMatchObject({ server: ['a', 'c'] });
  });

  test('a header that is ignored is never recorded, and never marked absent', async () => {
    await importText(observationLine({ at: 0, headers: { date: 'zero', server: 'a', 'x-gone': '1' } }));
    await importText(`${FIRST}\n${SECOND}\n`);
    expect(await answered()).toMatchObject({ date: ['zero'], server: ['a', 'b'], 'x-gone': ['1'] });
    const exported = (await runDms(['export'], database.environment)).stdout.trim().split('\n');
    expect(exported.map((line) => JSON.parse(line).httpHeaders)).toEqual([
      { date: 'zero', server: 'a', 'x-gone': '1' },
      { 'content-length': '5', date: 'zero', server: 'a', 'x-gone': '1' },
      { 'content-length': '5', date: 'zero', server: 'b' },
    ]);
  });

  test('which headers are ignored is the setting of those who observe', async () => {
    await importText(FIRST, [], { OBSERVE_IGNORED_HEADERS: 'Server, x-gone' });
    expect(await answered()).toEqual({ date: ['one'], 'content-length': ['5'] });
    await emptyTestDatabase(database);
    await importText(FIRST, [], { OBSERVE_IGNORED_HEADERS: 'none' });
    expect(await answered()).toMatchObject({ date: ['one'], server: ['a'] });
  });

  test('importing the same lines again changes nothing, contradicts nothing, and exits 0', async () => {
    const file = join(folder, 'again.json');
    await writeFile(file, `${FIRST}\n${SECOND}\n`);
    await runDms(['import', file], database.environment);
    const before = await stored();
    const again = await runDms(['import', file], database.environment);
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect(again.stdout).toMatch(/^already known +1$/m);
    expect(again.stdout).toMatch(/^stale +1$/m);
    expect(again.stdout).not.toContain('Warning');
    expect(await stored()).toEqual(before);
  });

  test('a line of the same time that differs in more than what it leaves out is a contradiction', async () => {
    await importText(`${FIRST}\n${SECOND}\n`);
    const other = await importText(lineAt(2, ['Server: other']));
    expect(other.stdout).toMatch(/^Warning: 1 line differs from what is recorded /m);
    expect(await answered()).toMatchObject({ server: ['a', 'b'] });
  });

  test('--sort orders them by their times, packed or not', async () => {
    const file = join(folder, 'unsorted.json.gz');
    await writeFile(file, gzipSync(`${SECOND}\n${JSON.stringify(HTTPX_1_7)}\n${FIRST}\n`));
    const result = await runDms(['import', '--sort', file], database.environment);
    expect([result.code, result.stderr]).toEqual([0, '']);
    expect(result.stdout).toMatch(/^stale +0$/m);
    expect(await answered()).toMatchObject({ server: ['a', 'b'] });
  });

  test('a rejected line is told with its reason and kept as it came; --strict stops at it', async () => {
    const failed = JSON.stringify(HTTPX_FAILED);
    const rejects = join(folder, 'rejects.json');
    const result = await importText(`${FIRST}\n${failed}\n${SECOND}\n`, ['--rejects', rejects]);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('line 2 rejected: failed: httpx got no response; nothing was observed.');
    expect(await readFile(rejects, 'utf8')).toBe(`${failed}\n`);
    expect(await answered()).toMatchObject({ server: ['a', 'b'] });
    await emptyTestDatabase(database);
    expect((await importText(`${FIRST}\n${failed}\n${SECOND}\n`, ['--strict'])).code).toBe(1);
    expect(await answered()).toMatchObject({ server: ['a'] });
  });

  test('a format that is named is not guessed: the lines of another are rejected', async () => {
    const result = await importText(FIRST, ['--format', 'dms']);
    expect([result.code, await stored()]).toEqual([1, []]);
    expect(result.stderr).toContain(
      'line 1 rejected: the line is in format httpx, but is read as dms: import lines of httpx with --format httpx, ',
    );
  });

  test('a bad setting of the ignored headers stops the import before anything is recorded', async () => {
    const result = await importText(FIRST, [], { OBSERVE_IGNORED_HEADERS: 'a b:c' });
    expect([result.code, await stored()]).toEqual([2, []]);
    expect(result.stderr).toContain('OBSERVE_IGNORED_HEADERS');
  });
});
