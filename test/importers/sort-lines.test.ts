import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Line, readLines } from '../../src/importers/lines.js';
import { type SortOptions, sortLines } from '../../src/importers/sort-lines.js';

/** The folder for temporary files, of this file alone. */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dms-test-sort-'));
  vi.stubEnv('TMPDIR', folder);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function sorted(lines: readonly string[], options: Omit<SortOptions, 'timeOf'>): Promise<Line[]> {
  async function* input(): AsyncGenerator<Buffer> {
    for (const line of lines) {
      yield Buffer.from(`${line}\n`);
    }
  }
  const result: Line[] = [];
  for await (const some of sortLines(readLines(input()), { ...options, timeOf })) {
    result.push(...some);
  }
  return result;
}

/** The number before the first blank; none: the line has no time. */
function timeOf({ bytes }: Line): bigint | null {
  const [time = ''] = bytes.toString().split(' ');
  return /^-?\d+$/.test(time) ? BigInt(time) : null;
}

describe('sorting lines', () => {
  test('lines come in the order of time, equal times in the order of the file, in memory or through files', async () => {
    const line = fc.tuple(fc.integer({ min: -3, max: 3 }), fc.string({ unit: 'grapheme-ascii' }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 60 }),
        fc.constantFrom(1, 40, 1e9),
        async (input, runBytes) => {
          const lines = input.map(([time, text]) => `${time} ${text.replace(/[\r\n]/g, '')}`);
          const expected = lines
            .map((text, index) => ({ text, number: index + 1, time: Number(text.split(' ')[0]) }))
            .sort((left, right) => left.time - right.time || left.number - right.number);
          const result = await sorted(lines, { runBytes, mergedFiles: 3 });
          expect(result.map(({ number, bytes }) => [number, bytes.toString()])).toEqual(
            expected.map(({ number, text }) => [number, text]),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([1, 1e9])(
    'a line without a time stays behind the line before it (runs of %d bytes)',
    async (runBytes) => {
      const lines = ['broken', '2 b', 'broken', '1 a', 'broken', 'broken', '3 c'];
      const result = await sorted(lines, { runBytes });
      expect(result.map(({ number }) => number)).toEqual([1, 4, 5, 6, 2, 3, 7]);
    },
  );

  test('no temporary file remains, not even when the reader stops early', async () => {
    async function* input(): AsyncGenerator<Buffer> {
      yield Buffer.from('2 b\n');
      yield Buffer.from('1 a\n');
    }
    for await (const _ of sortLines(readLines(input()), { timeOf, runBytes: 1 })) {
      break;
    }
    expect(await readdir(folder)).toEqual([]);
  });

  test('a stop while files are merged ends it with its reason, and leaves no temporary file', async () => {
    const stop = new AbortController();
    async function* input(): AsyncGenerator<Buffer> {
      for (let line = 0; line < 2_000; line += 1) yield Buffer.from(`${line} x\n`);
    }
    const options = { timeOf, runBytes: 1_000, mergedFiles: 3, signal: stop.signal };
    const chunks = sortLines(readLines(input()), options);
    expect((await chunks.next()).value?.[0]?.bytes.toString()).toBe('0 x');
    expect(await readdir(folder)).toHaveLength(1);
    stop.abort();
    await expect(chunks.next()).rejects.toBe(stop.signal.reason);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('what a killed process has left', () => {
  /** The name of the folder that this process sorts in at this moment. */
  async function nameOfFolder(): Promise<string> {
    const chunks = sortLines(readLines(Readable.from([Buffer.from('1 a\n2 b\n')])), { timeOf, runBytes: 1 });
    await chunks.next();
    const [name = ''] = await readdir(folder);
    await chunks.return(undefined);
    return name;
  }

  /** The id of a process that has ended. */
  async function endedProcess(): Promise<number> {
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(child, 'close');
    return child.pid ?? Number.NaN;
  }

  async function makeFolder(name: string): Promise<string> {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, '1'), 'a run');
    return name;
  }

  test('goes at the next run; what is in use, of another place or of no known process stays', async () => {
    const own = await nameOfFolder();
    const [, , place = '', , start = ''] = own.split('-');
    const ended = await endedProcess();
    await makeFolder(`dms-sort-${place}-${ended}-${start}-abcdef`);
    await makeFolder(`dms-sort-${place}-${ended}--abcdef`);
    // Its id has become another process's.
    if (start !== '') await makeFolder(`dms-sort-${place}-${process.pid}-1-abcdef`);
    const outside = await mkdtemp(join(tmpdir(), '..', 'dms-test-outside-'));
    await writeFile(join(outside, 'file'), 'of somebody');
    await symlink(outside, join(folder, `dms-sort-${place}-${ended}-${start}-a_link`));
    const kept = [
      `dms-sort-${place}-${ended}-${start}-a_link`,
      await makeFolder(`dms-sort-${place}-${process.pid}-${start}-in_use`),
      await makeFolder(`dms-sort-${place}-${process.pid}--in_use`),
      await makeFolder(`dms-sort-${'0'.repeat(12)}-${ended}-${start}-abcdef`),
      await makeFolder('dms-sort-Xy12Zz'),
      await makeFolder('another'),
    ];
    await sorted(['1 a', '2 b'], { runBytes: 1 });
    expect((await readdir(folder)).sort()).toEqual(kept.sort());
    expect(await readFile(join(outside, 'file'), 'utf8')).toBe('of somebody');
    await rm(outside, { recursive: true });
    for (const name of kept) await rm(join(folder, name), { recursive: true });
  });
});
