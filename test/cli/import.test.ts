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
import { observationLine } from '../support/observations.js';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'dms-test-import-'));
});

beforeEach(async () => {
  await emptyTestDatabase(database);
});

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

function dms(args: readonly string[], input?: string) {
  return runDms(args, database.environment, input === undefined ? undefined : Readable.from([input]));
}

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function stored(): Promise<StoredHistory[]> {
  const histories: StoredHistory[] = [];
  for await (const history of readHistories(database.pool)) {
    histories.push(history);
  }
  return histories;
}

const FIRST = observationLine({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
const SECOND = observationLine({ at: 2, records: ['192.0.2.2'], headers: { server: 'b' } });

describe('dms import', () => {
  test('records a file, standard input and a packed file alike, and sums up what it did', async () => {
    const plain = await file('plain.ndjson', `${FIRST}\n${SECOND}\n`);
    const packed = await file('packed.ndjson.gz', gzipSync(`${FIRST}\n${SECOND}\n`));
    const results = [];
    const states = [];
    for (const [args, input] of [[[plain]], [[packed]], [['-'], `${FIRST}\n${SECOND}`]] as const) {
      await emptyTestDatabase(database);
      results.push(await dms(['import', ...args], input));
      states.push(
        (await stored()).map(({ name, state, stays, headers }) => ({ name, state, stays, headers })),
      );
    }
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(Array(3).fill([0, '']));
    expect(states[1]).toEqual(states[0]);
    expect(states[2]).toEqual(states[0]);
    expect(results[0]?.stdout).toMatch(/^lines read +2 in /);
    expect(results[0]?.stdout).toMatch(/^recorded +2 \(2 with a change\)$/m);
    expect(results[0]?.stdout).toMatch(/^domains +1 \(1 new\)$/m);
    expect(results[0]?.stdout).toMatch(/^DNS records +2 added, 1 removed$/m);
    expect(results[0]?.stdout).toMatch(/^HTTP headers +1 created, 1 updated$/m);
  });

  test('a file imported again changes nothing and exits 0', async () => {
    const plain = await file('again.ndjson', `${FIRST}\n${SECOND}\n`);
    await dms(['import', plain]);
    const before = await stored();
    const again = await dms(['import', plain]);
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/^already known +1$/m);
    expect(again.stdout).toMatch(/^stale +1$/m);
    expect(await stored()).toEqual(before);
  });

  test('a refused line is told with its number and reason, kept as it came, and changes nothing', async () => {
    const broken = await file('broken.ndjson', `${FIRST}\n{"domain":\n${SECOND}\n\n{"domain":"-","x":1}\n`);
    const rejects = join(folder, 'rejects.ndjson');
    const result = await dms(['import', broken, '--rejects', rejects]);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/broken\.ndjson, line 2 refused: .*JSON/);
    expect(result.stderr).toMatch(/broken\.ndjson, line 5 refused: .*"x"/);
    expect(result.stdout).toMatch(/^refused +2$/m);
    expect(await readFile(rejects, 'utf8')).toBe('{"domain":\n{"domain":"-","x":1}\n');
    expect((await stored())[0]?.stays).toHaveLength(2);
  });

  test('--strict stops at the first refused line; what came before it is recorded', async () => {
    const broken = await file('strict.ndjson', `${FIRST}\nbroken\n${SECOND}\n`);
    const result = await dms(['import', broken, '--strict']);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('--strict');
    expect((await stored())[0]?.stays).toHaveLength(1);
  });

  test('lines out of order are stale, the closing line says what --sort does, and --sort records them all', async () => {
    const unordered = await file('unordered.ndjson', `${SECOND}\n${FIRST}\n`);
    const result = await dms(['import', unordered]);
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/^stale +1$/m);
    expect(result.stdout).toMatch(/--sort/);
    await emptyTestDatabase(database);
    const sorted = await dms(['import', unordered, '--sort']);
    expect(sorted.stdout).toMatch(/^stale +0$/m);
    expect((await stored())[0]?.stays).toHaveLength(2);
  });

  test('a line that contradicts one of the same time is counted in a warning', async () => {
    const other = observationLine({ at: 1, records: ['192.0.2.9'] });
    const result = await dms(['import', '-'], `${FIRST}\n${other}\n`);
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/Warning: 1 lines differ/);
  });

  test('a missing file, a folder and a cut gzip file each end with one line that says so, and exit 1', async () => {
    const cut = await file('cut.ndjson.gz', gzipSync(`${FIRST}\n`.repeat(50)).subarray(0, 60));
    for (const [path, message] of [
      [join(folder, 'missing'), /missing does not exist/],
      [folder, /is a folder/],
      [cut, /is cut/],
    ] as const) {
      const result = await dms(['import', path]);
      expect([result.code, result.stderr.trim().split('\n').length]).toEqual([1, 1]);
      expect(result.stderr).toMatch(message);
    }
  });

  test('an option or format that does not exist is refused with exit code 2', async () => {
    for (const args of [['import', '--sorted', 'x'], ['import', '--format', 'xml', 'x'], ['import']]) {
      const result = await dms(args);
      expect([args, result.code]).toEqual([args, 2]);
      expect(result.stderr.trim().split('\n')).toHaveLength(1);
    }
  });

  test('input that comes slowly is recorded while the command still waits for more', async () => {
    let release: () => void = () => {};
    const more = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* slowly(): AsyncGenerator<string> {
      yield `${FIRST}\n`;
      await more;
    }
    const running = runDms(['import', '-'], database.environment, Readable.from(slowly()));
    await expect.poll(async () => (await stored()).length, { timeout: 20_000 }).toBe(1);
    release();
    expect((await running).code).toBe(0);
  });
});

describe('dms export', () => {
  test('what it writes, imported elsewhere, gives the same history', async () => {
    const samples = await readFile(new URL('../../samples/observations.ndjson', import.meta.url), 'utf8');
    await dms(['import', '-'], samples);
    const before = await stored();
    const exported = await dms(['export']);
    expect([exported.code, exported.stderr]).toEqual([0, '']);
    await emptyTestDatabase(database);
    await dms(['import', '-'], exported.stdout);
    const content = ({ name, state, stays, headers }: StoredHistory) => ({ name, state, stays, headers });
    expect((await stored()).map(content)).toEqual(before.map(content));
  });

  test('names the domains that it cannot find, and exits 1', async () => {
    await dms(['import', '-'], FIRST);
    const result = await dms(['export', 'EXAMPLE.com.', 'unknown.example']);
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('"domain":"example.com"');
    expect(result.stderr).toMatch(/No history is recorded for unknown\.example/);
  });

  test('a name that no domain can have is a wrong use', async () => {
    const result = await dms(['export', '192.0.2.1']);
    expect(result.code).toBe(2);
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('dms forget', () => {
  test('erases with --yes, and asks for it where there is no terminal', async () => {
    await dms(['import', '-'], FIRST);
    const asked = await dms(['forget', 'example.com']);
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('--yes');
    expect(await stored()).toHaveLength(1);
    const erased = await dms(['forget', 'example.com', '--yes']);
    expect([erased.code, erased.stdout]).toEqual([0, 'erased example.com\n']);
    expect(await stored()).toEqual([]);
  });
});

describe('dms verify', () => {
  test('finds nothing in what was recorded, and exits 0', async () => {
    await dms(['import', '-'], `${FIRST}\n${SECOND}\n`);
    expect((await stored()).flatMap(findViolations)).toEqual([]);
    const result = await dms(['verify']);
    expect([result.code, result.stderr]).toEqual([0, '']);
    expect(result.stdout).toBe('No violations in 1 domains, 2 DNS record entries, 2 header changes.\n');
  });

  test('says what breaks a rule, and exits 1', async () => {
    await dms(['import', '-'], `${FIRST}\n${SECOND}\n`);
    await database.pool.query(
      "UPDATE dns_record SET removed = 1, last_seen = 0 WHERE rdata->>'ip' = '192.0.2.2'",
    );
    await database.pool.query(
      "INSERT INTO header_change VALUES ('orphan.example', 'server', 1, true, 'x', null)",
    );
    const result = await dms(['verify']);
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/^example\.com: .*192\.0\.2\.2.* was last seen/m);
    expect(result.stdout).toMatch(/^orphan\.example: records or headers without a row/m);
  });
});
