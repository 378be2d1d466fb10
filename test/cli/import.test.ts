import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { link, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { type DmsCommand, runDms, startDms, startLocalDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { observationLine } from '../support/observations.js';

const PROGRAM = fileURLToPath(new URL('../../bin/dms.js', import.meta.url));

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'dms-test-import-'));
});

beforeEach(() => emptyTestDatabase(database));

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

/** What a command that succeeds shows, line by line, with progress at each turn of the event loop. */
async function progressOf(args: readonly string[]): Promise<string[]> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const turn = () => {
    if (!vi.isFakeTimers()) return;
    vi.advanceTimersByTime(10_000);
    setImmediate(turn);
  };
  setImmediate(turn);
  const { code, stderr } = await dms(args).finally(() => vi.useRealTimers());
  expect(code).toBe(0);
  return stderr.trim().split('\n');
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
const TABLE = 'host,source\na.example,crtsh\n';

describe('dms import', () => {
  test('dms import records a file, standard input and a packed file alike, and sums up what it did', async () => {
    const plain = await file('plain.ndjson', `${FIRST}\n${SECOND}\n`);
    const packed = await file('packed.ndjson.gz', gzipSync(`${FIRST}\n${SECOND}\n`));
    const states = [];
    for (const path of [plain, packed, '-']) {
      await emptyTestDatabase(database);
      const { code, stdout, stderr } = await dms(
        ['import', path],
        path === '-' ? `${FIRST}\n${SECOND}` : undefined,
      );
      expect([code, stderr]).toEqual([0, '']);
      for (const row of [
        ...[/^lines read +2 in /, /^recorded +2 \(2 with a change\)$/m, /^domains +1 \(1 new\)$/m],
        ...[/^DNS records +2 added, 1 removed$/m, /^HTTP headers +1 created, 1 updated$/m],
      ])
        expect(stdout).toMatch(row);
      states.push(
        (await stored()).map(({ name, state, stays, headers }) => ({ name, state, stays, headers })),
      );
    }
    expect(states).toEqual([states[0], states[0], states[0]]);
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

  test('a rejected line is told with its number and reason, kept as it came, and changes nothing', async () => {
    const broken = await file('broken.ndjson', `${FIRST}\n{"domain":\n${SECOND}\n\n{"domain":"-","x":1}\n`);
    const rejects = join(folder, 'rejects.ndjson');
    const result = await dms(['import', broken, '--rejects', rejects]);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/broken\.ndjson, line 2 rejected: .*JSON/);
    expect(result.stderr).toMatch(/broken\.ndjson, line 5 rejected: .*"x"/);
    expect(result.stdout).toMatch(/^rejected +2$/m);
    expect(await readFile(rejects, 'utf8')).toBe('{"domain":\n{"domain":"-","x":1}\n');
    expect((await stored())[0]?.stays).toHaveLength(2);
  });

  test('dms import --strict stops at the first rejected line; what came before it is recorded', async () => {
    const broken = await file('strict.ndjson', `${FIRST}\nbroken\n${SECOND}\n`);
    const result = await dms(['import', broken, '--strict']);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('as --strict requires; what came before it is recorded.');
    expect((await stored())[0]?.stays).toHaveLength(1);
  });

  test('dms import --strict with --sort records the lines before the rejected one in the order of time', async () => {
    const third = observationLine({ at: 3, records: ['192.0.2.3'] });
    const broken = await file('strict-sort.ndjson', `${third}\n${FIRST}\nbroken\n${SECOND}\n`);
    const result = await dms(['import', broken, '--strict', '--sort']);
    expect([result.code, result.stdout]).toEqual([1, expect.stringMatching(/^recorded +1 /m)]);
    expect(result.stderr).toContain('line 3 rejected: ');
    expect((await stored())[0]?.stays.map(({ record }) => record.rdata)).toEqual(['{"ip":"192.0.2.1"}']);
  });

  test('dms import --strict ends the command although standard input stays open', async () => {
    const input = new PassThrough();
    input.write(`broken\n${SECOND}\n`);
    expect((await startDms(['import', '-', '--strict'], database.environment, input).result).code).toBe(1);
  });

  test('an empty input ends with one line that says what is expected, and with --json still has its summary', async () => {
    const path = await file('empty.ndjson', '');
    for (const args of [['-'], [path], ['--backfill', path]]) {
      const stderr = expect.stringMatching(
        /^There was nothing to import: the input is empty\. Expected are [^\n]+\n$/,
      );
      expect(await dms(['import', ...args], '')).toMatchObject({ code: 0, stdout: '', stderr });
    }
    expect(JSON.parse((await dms(['import', '--json', '-'], '')).stdout)).toMatchObject({ linesRead: 0 });
  });

  const THIRD = observationLine({ at: 3, records: ['192.0.2.3'], headers: {} });

  test.each([
    [
      'are out of order',
      [SECOND, FIRST],
      /^1 line: lost: .*\. Import all the files again with one command, /,
    ],
    [
      'lie between others',
      [FIRST, THIRD, SECOND],
      /^1 line: lost: .* Erase these domains \(dms forget DOMAIN…\) and /,
    ],
    [
      'come again',
      [FIRST, SECOND, THIRD, FIRST, SECOND, THIRD],
      /^2 lines: stale, as is expected when a file is /,
    ],
  ])(
    'the summary says of stale lines that %s what they are, once, and what records all of them',
    async (_what, lines, remark) => {
      const unordered = await file('unordered.ndjson', `${lines.join('\n')}\n`);
      const { code, stderr } = await dms(['import', unordered]);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^[^\n]+--backfill[^\n]*\n$/)]);
      expect(stderr).toMatch(remark);
      for (const option of ['--sort', '--backfill']) {
        await emptyTestDatabase(database);
        const { stdout } = await dms(['import', unordered, option]);
        expect(stdout).toMatch(new RegExp(`^recorded +${new Set(lines).size} `, 'm'));
      }
    },
  );

  test('where headers came from is kept where they changed, exported again, and told elsewhere', async () => {
    const line = (at: number, server: string, status: number) => {
      const { site: _, ...keys } = JSON.parse(observationLine({ at, headers: { server } }));
      return `${JSON.stringify({ ...keys, site: { scheme: 'https', status } })}\n`;
    };
    await dms(['import', '-'], line(1, 'a', 200) + line(2, 'b', 503));
    const { stdout } = await dms(['export']);
    expect(stdout.match(/(?<="status":)\d+/g)).toEqual(['200', '503']);
    expect((await dms(['verify'])).code).toBe(0);
    await emptyTestDatabase(database);
    await dms(['import', '-'], stdout);
    expect((await dms(['export'])).stdout).toBe(stdout);
  });

  test('a line is counted once, and with a remark where only a part of it was recorded', async () => {
    const line = (at: string, ...types: readonly string[]) =>
      `${JSON.stringify({ domain: 'part.example', observedAt: at, dnsRecords: [], dnsTypes: types })}\n`;
    await dms(['import', '-'], line('2024-02-01T00:00:00Z', 'A') + line('2024-03-01T00:00:00Z', 'MX'));
    const some = await dms(['import', '-'], line('2024-02-15T00:00:00Z', 'A', 'MX'));
    expect(some.stdout).toMatch(/^recorded +1 /m);
    expect(some.stderr).toMatch(/^1 line: recorded in part: /m);
    const seen = { rrname: 'part.example', rrtype: 'NS', rdata: 'ns.example', time_first: 1, time_last: 2 };
    const both = { ...seen, time_first: 1_500_000_000, time_last: 1_600_000_000 };
    const sighted = JSON.parse((await dms(['import', '--json', '-'], `${JSON.stringify(both)}\n`)).stdout);
    expect(sighted).toMatchObject({ linesRead: 1, recorded: 1, changed: 1, unchanged: 0, partial: 0 });
  });

  test('of older lines the summary says how many there are, and that --backfill takes them, which it does', async () => {
    await dms(['import', '-'], SECOND);
    const before = await dms(['import', '-'], FIRST);
    expect(before.stderr).toMatch(
      /^1 line: older than all that is recorded of a part .* dms import --backfill .*\n$/,
    );
    expect(before.stderr).not.toContain('lost');
    const backfilled = await dms(['import', '--backfill', '-'], FIRST);
    expect(backfilled).toMatchObject({ code: 0 });
    expect(backfilled.stdout).toMatch(/^recorded +1 \(1 with a change\)$/m);
    const [history] = await stored();
    await emptyTestDatabase(database);
    await dms(['import', '-'], `${FIRST}\n${SECOND}\n`);
    expect((await stored()).map(({ stays, state }) => ({ stays, state }))).toEqual([
      { stays: history?.stays, state: history?.state },
    ]);
    const again = await dms(['import', '--backfill', '-'], FIRST);
    expect(again.stdout).toMatch(/^recorded +0 /m);
  });

  test('a line that contradicts one of the same time is counted in a warning', async () => {
    const other = observationLine({ at: 1, records: ['192.0.2.9'] });
    const result = await dms(['import', '-'], `${FIRST}\n${other}\n`);
    expect(result.code).toBe(0);
    expect(result.stderr).toMatch(/^Warning: 1 line differs from what is recorded /m);
    const twice = await dms(['import', '-'], `${other}\n${other}\n`);
    expect(twice.stderr).toMatch(/^Warning: 2 lines differ from what is recorded /m);
  });

  test('an input of which nothing can be read ends with one line that says so, without a summary, and exit 1', async () => {
    const cut = await file('cut.ndjson.gz', gzipSync(`${FIRST}\n`.repeat(50)).subarray(0, 60));
    const page = await file('page.gz', gzipSync('<!DOCTYPE html>\n'.repeat(3)));
    const foreign = await file('foreign', TABLE);
    for (const [path, reason, ...options] of [
      [join(folder, 'missing'), 'does not exist: check the path.'],
      [folder, 'is a folder: name the files in it.'],
      [cut, 'ends in the middle of its gzip data: copy or download the whole file again, '],
      [page, 'is HTML or XML, and nothing of it is', '--format', 'httpx'],
      [foreign, 'is a table (CSV), and nothing of it is imported: ', '--sort'],
    ] as const) {
      const { code, stdout, stderr } = await dms(['import', ...options, path]);
      expect([code, stdout, await stored()]).toEqual([1, '', []]);
      expect(stderr).toMatch(/^[^\n]+\n$/);
      expect(stderr).toContain(`dms: ${path} ${reason}`);
    }
  });

  test('an import that fails after its first lines sums them up, and says that they stay', async () => {
    const plain = await file('before-cut.ndjson', `${FIRST}\n`);
    const noise =
      randomBytes(3_000_000)
        .toString('base64')
        .match(/.{12000}/g) ?? [];
    const long = noise.map((value, at) => observationLine({ domain: 'b.example', at, headers: { value } }));
    const cut = await file('cut-late.ndjson.gz', gzipSync(long.join('\n')).subarray(0, -1_000));
    const result = await dms(['import', plain, cut]);
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/^recorded +[1-9]\d* /m);
    // Progress comes before it, if that takes long.
    expect(result.stderr).toMatch(
      /^The import failed .*\ndms: .*cut-late\.ndjson\.gz ends in the middle of its gzip data: copy or download the whole file again, .*\.\n$/m,
    );
    expect((await stored()).map(({ name }) => name)).toEqual(['b.example', 'example.com']);
  });

  test('where one of several files cannot be imported, nothing is: the later ones would make it stale', async () => {
    const plain = await file('sound.ndjson', `${FIRST}\n`);
    for (const [path, message] of [
      [join(folder, 'missing'), /missing does not exist/],
      [await file('table.csv', TABLE), /is a table/],
    ] as const) {
      const { code, stdout, stderr } = await dms(['import', plain, path, plain]);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(message);
      expect(stderr).toMatch(/^[^\n]+ The other files are not imported either\.\n$/);
    }
    expect(await stored()).toEqual([]);
  });

  test('dms import --sort shows how far the file is read to be sorted, and then how many of its lines are recorded', async () => {
    const lines = Array.from({ length: 50_000 }, (_, at) =>
      observationLine({ at: 50_000 - at, records: [] }),
    );
    const path = await file('progress.ndjson', lines.join('\n'));
    const shown = await progressOf(['import', '--sort', path]);
    const recorded = shown.slice(shown.findLastIndex((line) => line.includes('to sort')) + 1);
    expect(shown.find((line) => line.includes('to sort'))).toMatch(
      /^[1-9]\d? % {2}[1-9]\d?,\d{3} lines to sort, /,
    );
    expect(recorded[0]).toMatch(/^\d\d? % {2}[\d,]+ lines, /);
    expect(recorded.at(-1)).toMatch(/^100 % {2}50,000 lines, /);
  });

  test('dms import shows of each of several files how far it is, also after one that was sorted', async () => {
    const lines = Array.from({ length: 5000 }, (_, at) => observationLine({ at, records: [] }));
    const path = await file('plain.ndjson', lines.join('\n'));
    const seen = { rrname: 'a.example', rrtype: 'A', rdata: '192.0.2.1', time_first: 1_400_000_000 };
    const sightings = Array.from({ length: 1000 }, (_, at) => ({ ...seen, time_last: seen.time_first + at }));
    const passive = await file('passive.ndjson', sightings.map((line) => JSON.stringify(line)).join('\n'));
    const shown = await progressOf(['import', path, passive, path]);
    const told = shown.flatMap((line) => {
      const [, share, lines = '', noun] = /^(\d+) % {2}([\d,]+) (lines(?: to sort)?), /.exec(line) ?? [];
      return noun === undefined
        ? []
        : [{ share: Number(share), lines: Number(lines.replace(',', '')), noun }];
    });
    expect(told.filter(({ share, lines }) => share > 100 || lines > 5000)).toEqual([]);
    const afterSorting = told.slice(told.findLastIndex(({ noun }) => noun === 'lines to sort') + 1);
    expect(told.length).toBeGreaterThan(afterSorting.length);
    expect(told.filter(({ noun, lines }) => noun !== 'lines' && lines > 1000)).toEqual([]);
    expect(afterSorting.at(-1)?.lines).toBeGreaterThan(1000);
  });
});

describe('dms import - of lines that follow each other closely', () => {
  /** A line each tenth of a second, for as long as it is read. */
  async function* closely(): AsyncGenerator<string> {
    for (let at = 0; ; at += 1) {
      yield `${observationLine({ at, records: ['192.0.2.1'] })}\n`;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  test('dms import - records lines while they come, and a kill loses nothing of what is recorded', async () => {
    const command = startDms(['import', '-'], database.environment, Readable.from(closely()));
    const latest = async () => Number((await stored())[0]?.state.lastUpdate ?? 0n);
    await expect.poll(latest).toBeGreaterThan(0);
    const first = await latest();
    await expect.poll(latest).toBeGreaterThan(first);
    const second = await latest();
    command.child.kill('SIGKILL');
    expect((await command.result).signal).toBe('SIGKILL');
    expect(await latest()).toBeGreaterThanOrEqual(second);
  });
});

/** Runs the program with a file as its standard input. */
async function dmsFromFile(args: readonly string[], path: string) {
  const env = { ...process.env, ...database.environment };
  const command = ['-c', 'exec "$@" < "$0"', path, process.execPath, PROGRAM, ...args];
  const child = spawn('sh', command, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await closed;
  return { code, stdout, stderr };
}

describe('dms import --rejects', () => {
  test.each(['what is imported', 'a hard link to it', 'standard input', 'another file'])(
    'dms import --rejects takes no file that holds something (%s), and leaves it as it is',
    async (which) => {
      const content = `${FIRST}\nbroken\n`;
      const input = await file('input.ndjson', content);
      const other = join(folder, 'input-link.ndjson');
      await rm(other, { force: true });
      if (which === 'another file') await writeFile(other, content);
      else await link(input, other);
      const rejects = which === 'what is imported' || which === 'standard input' ? input : other;
      const result =
        which === 'standard input'
          ? await dmsFromFile(['import', '-', '--rejects', rejects], input)
          : await dms(['import', input, '--rejects', rejects]);
      expect(result).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr: `dms: --rejects ${rejects} exists and is not empty: choose another name, or remove it.\n`,
      });
      expect(await readFile(rejects, 'utf8')).toBe(content);
      expect(await stored()).toEqual([]);
    },
  );

  test('dms import shows ten rejected lines, says how many there are, and when a corrected one is taken', async () => {
    const rejects = join(folder, 'many-rejects.ndjson');
    const result = await dms(['import', '-', '--rejects', rejects], 'broken\n'.repeat(11));
    const lines = result.stderr.trim().split('\n');
    expect(lines.filter((line) => line.startsWith('standard input, line '))).toHaveLength(10);
    expect(lines.slice(10)).toEqual([
      `11 lines: rejected. They are in ${rejects}: correct them there and import that file. ` +
        'A corrected line is stale if something newer of its domain is recorded by then.',
    ]);
    expect(await readFile(rejects, 'utf8')).toBe('broken\n'.repeat(11));
  });
});

describe('dms import that is stopped', () => {
  /** A line of some 200 kB. */
  const headers = Object.fromEntries(
    Array.from({ length: 10 }, (_, place) => [`x-${place}`, 'x'.repeat(20_000)]),
  );
  const long = (at: number) => observationLine({ at, headers });
  const stderr = 'Stopped by a signal; what was read is recorded. To continue, import the same again.\n';

  test('dms import that is stopped before anything is recorded says so in one line', async () => {
    const input = new PassThrough();
    const command = startLocalDms(['import', '-'], database.environment, input);
    command.stop();
    expect(await command.result).toMatchObject({ code: 130, stdout: '', stderr });
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'dms import, stopped by %s, records what it has read, sums it up, and ends with exit code %i',
    async (signal, exitCode) => {
      const input = new PassThrough();
      input.write(`${FIRST}\n${SECOND}\n{"domain":"cut`);
      const command = startDms(['import', '-'], database.environment, input);
      await expect.poll(async () => (await stored())[0]?.stays.length, { timeout: 60_000 }).toBe(2);
      command.child.kill(signal);
      const { stdout: summary, ...end } = await command.result;
      expect(end).toMatchObject({ code: exitCode, stderr });
      for (const row of [/^lines read +2 in /, /^recorded +2 /m, /^rejected +0$/m])
        expect(summary).toMatch(row);
    },
  );

  test.each(['SIGINT', 'SIGKILL'] as const)(
    'dms import --sort, ended by %s, leaves nothing in the temporary folder',
    async (signal) => {
      const temporary = join(folder, `sorting-${signal}`);
      await mkdir(temporary);
      const input = new PassThrough();
      const environment = { ...database.environment, TMPDIR: temporary };
      const command = startDms(['import', '-', '--sort'], environment, input);
      for (let at = 0; at < 200; at += 1) input.write(`${long(at)}\n`);
      await expect.poll(() => hasUnnamedIn(command, temporary), { timeout: 60_000 }).toBe(true);
      command.child.kill(signal);
      expect((await command.result).code).toBe(signal === 'SIGINT' ? 130 : null);
      expect(await readdir(temporary)).toEqual([]);
      expect(await stored()).toEqual([]);
    },
  );

  /** Whether the process has a file open that had a name in a folder, and the folder is empty again (proc(5)). */
  async function hasUnnamedIn({ child }: DmsCommand, directory: string): Promise<boolean> {
    const descriptors = `/proc/${child.pid}/fd`;
    const open = await Promise.all(
      (await readdir(descriptors)).map((name) => readlink(join(descriptors, name)).catch(() => '')),
    );
    return open.some((path) => path.startsWith(directory)) && (await readdir(directory)).length === 0;
  }
});
