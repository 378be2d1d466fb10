import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { startDms, startLocalDms } from '../journeys/dms-command.js';
import { prepareCommands } from '../support/commands.js';
import { emptyTestDatabase } from '../support/database.js';
import { observationLine } from '../support/observations.js';

const commands = prepareCommands({ emptied: true });
const { dms, said, file, pathOf, stored } = commands;

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

const FIRST = observationLine({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
const SECOND = observationLine({ at: 2, records: ['192.0.2.2'], headers: { server: 'b' } });
const THIRD = observationLine({ at: 3, records: ['192.0.2.3'], headers: {} });
const TABLE = 'host,source\na.example,crtsh\n';

test('dms import records a file, standard input and a packed file alike, and sums up what it did', async () => {
  const lines = `${FIRST}\n${SECOND}\n`;
  const paths = [await file('plain.ndjson', lines), await file('packed.gz', gzipSync(lines)), '-'];
  const states = [];
  for (const path of paths) {
    await emptyTestDatabase(commands.database);
    const summary = await said(['import', path], path === '-' ? lines.trimEnd() : '');
    expect(summary.replace(/^lines read +2 in .*\n/, '').replaceAll(/ {2,}/g, '  ')).toBe(
      'recorded  2 (2 with a change)\nunchanged  0\nalready known  0\nstale  0\nrejected  0\n' +
        'domains  1 (1 new)\nDNS records  2 added, 1 removed\nHTTP headers  1 created, 1 updated\n',
    );
    states.push((await stored()).map(({ name, state, stays, headers }) => ({ name, state, stays, headers })));
  }
  expect(states.slice(1)).toEqual([states[0], states[0]]);
});

test('a file imported again changes nothing and exits 0', async () => {
  const plain = await file('again.ndjson', `${FIRST}\n${SECOND}\n`);
  await dms(['import', plain]);
  const before = await stored();
  const again = await dms(['import', plain]);
  expect(again.code).toBe(0);
  expect(again.stdout).toMatch(/^already known +1$.*^stale +1$/ms);
  expect(await stored()).toEqual(before);
});

test('a rejected line is told with its number and reason, kept as it came, and changes nothing', async () => {
  const broken = await file('broken.ndjson', `${FIRST}\n{"domain":\n${SECOND}\n\n{"domain":"-","x":1}\n`);
  const rejects = pathOf('rejects.ndjson');
  const { code, stdout, stderr } = await dms(['import', broken, '--rejects', rejects]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/broken\.ndjson, line 2 rejected: .*JSON.*\n.*, line 5 rejected: .*"x"/);
  expect(stdout).toMatch(/^rejected +2$/m);
  expect(await readFile(rejects, 'utf8')).toBe('{"domain":\n{"domain":"-","x":1}\n');
  expect((await stored())[0]?.stays).toHaveLength(2);
});

test('dms import --strict stops at the first rejected line; what came before it is recorded', async () => {
  const broken = await file('strict.ndjson', `${FIRST}\nbroken\n${SECOND}\n`);
  const { code, stderr } = await dms(['import', broken, '--strict']);
  expect(code).toBe(1);
  expect(stderr).toContain('as --strict requires; what came before it is recorded.');
  expect((await stored())[0]?.stays).toHaveLength(1);
});

test('dms import --strict with --sort records the lines before the rejected one in the order of time', async () => {
  const broken = await file('strict-sort.ndjson', `${THIRD}\n${FIRST}\nbroken\n${SECOND}\n`);
  const { code, stdout, stderr } = await dms(['import', broken, '--strict', '--sort']);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^recorded +1 /m)]);
  expect(stderr).toContain('line 3 rejected: ');
  expect((await stored())[0]?.stays.map(({ record }) => record.rdata)).toEqual(['{"ip":"192.0.2.1"}']);
});

test('dms import --strict ends the command although standard input stays open', async () => {
  const input = new PassThrough();
  input.write(`broken\n${SECOND}\n`);
  const { result } = startDms(['import', '-', '--strict'], commands.database.environment, input);
  expect((await result).code).toBe(1);
});

test('an empty input ends with one line that says what is expected, and with --json still has its summary', async () => {
  const path = await file('empty.ndjson', '');
  for (const args of [['-'], [path], ['--backfill', path]]) {
    expect(await dms(['import', ...args])).toMatchObject({
      ...{ code: 0, stdout: '' },
      stderr:
        'There was nothing to import: the input is empty. Expected are observations, one JSON object per line: see docs/importing.md.\n',
    });
  }
  expect(JSON.parse((await dms(['import', '--json', '-'])).stdout)).toMatchObject({ linesRead: 0 });
});

test.each([
  ['are out of order', [SECOND, FIRST], /^1 line: lost: .*\. Import all the files again with one command, /],
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
      await emptyTestDatabase(commands.database);
      const { stdout } = await dms(['import', unordered, option]);
      expect(stdout).toMatch(new RegExp(`^recorded +${new Set(lines).size} `, 'm'));
    }
  },
);

test('where headers came from is kept where they changed, exported again, and told elsewhere', async () => {
  const line = (at: number, server: string, status: number) =>
    observationLine({ at, headers: { server }, status });
  await said(['import', '-'], `${line(1, 'a', 200)}\n${line(2, 'b', 503)}`);
  const exported = await said(['export']);
  expect(exported.match(/(?<="status":)\d+/g)).toEqual(['200', '503']);
  await said(['verify']);
  await emptyTestDatabase(commands.database);
  await said(['import', '-'], exported);
  expect(await said(['export'])).toBe(exported);
});

test('a line is counted once, and with a remark where only a part of it was recorded', async () => {
  const line = (at: number, ...types: string[]) => observationLine({ at, records: [], types });
  await said(['import', '-'], `${line(1, 'A')}\n${line(3, 'MX')}`);
  const some = await dms(['import', '-'], line(2, 'A', 'MX'));
  expect(some.stdout).toMatch(/^recorded +1 /m);
  expect(some.stderr).toMatch(/^1 line: recorded in part: /m);
  const seen = { rrname: 'example.com', rrtype: 'NS', rdata: 'ns.test', time_first: 15e8, time_last: 16e8 };
  const sighted = JSON.parse((await dms(['import', '--json', '-'], JSON.stringify(seen))).stdout);
  expect(sighted).toMatchObject({ linesRead: 1, recorded: 1, changed: 1, unchanged: 0, partial: 0 });
});

test('of older lines the summary says how many there are, and that --backfill takes them, which it does', async () => {
  await said(['import', '-'], SECOND);
  const before = await dms(['import', '-'], FIRST);
  expect(before.stderr).toMatch(
    /^1 line: older than all that is recorded of a part .* dms import --backfill .*\n$/,
  );
  expect(await said(['import', '--backfill', '-'], FIRST)).toMatch(/^recorded +1 \(1 with a change\)$/m);
  expect((await stored())[0]?.stays).toHaveLength(2);
  expect((await dms(['import', '--backfill', '-'], FIRST)).stdout).toMatch(/^recorded +0 /m);
});

test('a line that contradicts one of the same time is counted in a warning', async () => {
  const other = observationLine({ at: 1, records: ['192.0.2.9'] });
  const once = await dms(['import', '-'], `${FIRST}\n${other}\n`);
  expect(once.code).toBe(0);
  expect(once.stderr).toMatch(/^Warning: 1 line differs from what is recorded /m);
  const twice = await dms(['import', '-'], `${other}\n${other}\n`);
  expect(twice.stderr).toMatch(/^Warning: 2 lines differ from what is recorded /m);
});

test('an input of which nothing can be read ends with one line that says so, without a summary, and exit 1', async () => {
  for (const [path, reason, ...options] of [
    [pathOf('missing'), 'does not exist: check the path.'],
    [await file('foreign', TABLE), 'is a table (CSV), and nothing of it is imported: ', '--sort'],
  ] as const) {
    const { code, stdout, stderr } = await dms(['import', ...options, path]);
    expect([code, stdout, await stored()]).toEqual([1, '', []]);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).toContain(`dms: ${path} ${reason}`);
  }
});

test('an import that fails after its first lines sums them up, and says that they stay', async () => {
  const plain = await file('before-cut.ndjson', `${FIRST}\n`);
  const noise = Array.from({ length: 330 }, () => randomBytes(9_000).toString('base64'));
  const long = noise.map((value, at) => observationLine({ domain: 'b.example', at, headers: { value } }));
  const cut = await file('cut-late.ndjson.gz', gzipSync(long.join('\n')).subarray(0, -1_000));
  const { code, stdout, stderr } = await dms(['import', plain, cut]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^recorded +[1-9]\d* /m)]);
  // Progress comes before it, if that takes long.
  expect(stderr).toMatch(
    /^The import failed .*\ndms: .*cut-late\.ndjson\.gz ends in the middle of its gzip data: .*\.\n$/m,
  );
  expect((await stored()).map(({ name }) => name)).toEqual(['b.example', 'example.com']);
});

test('where one of several files cannot be imported, nothing is: the later ones would make it stale', async () => {
  const plain = await file('sound.ndjson', `${FIRST}\n`);
  for (const [path, message] of [
    [pathOf('missing'), /missing does not exist/],
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
  const lines = Array.from({ length: 50_000 }, (_, at) => observationLine({ at: 50_000 - at, records: [] }));
  const shown = await progressOf(['import', '--sort', await file('progress.ndjson', lines.join('\n'))]);
  const recorded = shown.slice(shown.findLastIndex((line) => line.includes('to sort')) + 1);
  expect(shown.find((line) => line.includes('to sort'))).toMatch(
    /^[1-9]\d? % {2}[1-9]\d?,\d{3} lines to sort, /,
  );
  expect(recorded[0]).toMatch(/^\d\d? % {2}[\d,]+ lines, /);
  expect(recorded.at(-1)).toMatch(/^100 % {2}50,000 lines, /);
});

test('dms import shows of each of several files how far it is, also after one that was sorted', async () => {
  const lines = (count: number, lineAt: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => lineAt(at)).join('\n');
  const seen = { rrname: 'a.example', rrtype: 'A', rdata: '192.0.2.1', time_first: 1_400_000_000 };
  const observed = lines(5000, (at) => observationLine({ at, records: [] }));
  const sighted = lines(1000, (at) => JSON.stringify({ ...seen, time_last: seen.time_first + at }));
  const [plain, passive] = [await file('plain.ndjson', observed), await file('passive.ndjson', sighted)];
  const told = (await progressOf(['import', plain, passive, plain])).flatMap((line) => {
    const [, share, count = '', noun] = /^(\d+) % {2}([\d,]+) (lines(?: to sort)?), /.exec(line) ?? [];
    return noun === undefined ? [] : { share: Number(share), count: Number(count.replace(',', '')), noun };
  });
  expect(told.filter(({ share, count }) => share > 100 || count > 5000)).toEqual([]);
  const afterSorting = told.slice(told.findLastIndex(({ noun }) => noun === 'lines to sort') + 1);
  expect(told.length).toBeGreaterThan(afterSorting.length);
  expect(told.filter(({ noun, count }) => noun !== 'lines' && count > 1000)).toEqual([]);
  expect(afterSorting.at(-1)?.count).toBeGreaterThan(1000);
});

test('dms import shows ten rejected lines, says how many there are, and when a corrected one is taken', async () => {
  const rejects = pathOf('many-rejects.ndjson');
  const { stderr } = await dms(['import', '-', '--rejects', rejects], 'broken\n'.repeat(11));
  const lines = stderr.trim().split('\n');
  expect(lines.filter((line) => line.startsWith('standard input, line '))).toHaveLength(10);
  expect(lines.slice(10)).toEqual([
    `11 lines: rejected. They are in ${rejects}: correct them there and import that file. ` +
      'A corrected line is stale if something newer of its domain is recorded by then.',
  ]);
  expect(await readFile(rejects, 'utf8')).toBe('broken\n'.repeat(11));
});

const STOPPED = 'Stopped by a signal; what was read is recorded. To continue, import the same again.\n';

test('dms import that is stopped before anything is recorded says so in one line', async () => {
  const { stop, result } = startLocalDms(['import', '-'], commands.database.environment, new PassThrough());
  stop();
  expect(await result).toMatchObject({ code: 130, stdout: '', stderr: STOPPED });
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  'dms import, stopped by %s, records what it has read, sums it up, and ends with exit code %i',
  async (signal, code) => {
    const input = new PassThrough();
    input.write(`${FIRST}\n${SECOND}\n{"domain":"cut`);
    const command = startDms(['import', '-'], commands.database.environment, input);
    await expect.poll(async () => (await stored())[0]?.stays.length, { timeout: 60_000 }).toBe(2);
    command.child.kill(signal);
    const stdout = expect.stringMatching(/^lines read +2 in .*^recorded +2 .*^rejected +0$/ms);
    expect(await command.result).toMatchObject({ code, stdout, stderr: STOPPED });
  },
);

test('dms forget erases with --yes, and requires it without a terminal', async () => {
  await said(['import', '-'], FIRST);
  const asked = await dms(['forget', 'example.com']);
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect(await stored()).toHaveLength(1);
  expect(await said(['forget', 'example.com', '--yes'])).toBe('erased example.com\n');
  expect(await stored()).toEqual([]);
});
