import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  test('lines come in the order of time, equal times in the order of the file, in memory or through a file', async () => {
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
          const result = await sorted(lines, { runBytes });
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

  test('no temporary file can be left, however the process ends: it has no name while it is in use', async () => {
    async function* input(): AsyncGenerator<Buffer> {
      yield Buffer.from('2 b\n');
      yield Buffer.from('1 a\n');
    }
    for await (const _ of sortLines(readLines(input()), { timeOf, runBytes: 1 })) {
      expect(await readdir(folder)).toEqual([]);
      break;
    }
    expect(await readdir(folder)).toEqual([]);
  });

  test('a stop while runs are merged ends it with its reason, and leaves no temporary file', async () => {
    const stop = new AbortController();
    async function* input(): AsyncGenerator<Buffer> {
      for (let line = 0; line < 2_000; line += 1) yield Buffer.from(`${line} x\n`);
    }
    const options = { timeOf, runBytes: 1_000, signal: stop.signal };
    const chunks = sortLines(readLines(input()), options);
    expect((await chunks.next()).value?.[0]?.bytes.toString()).toBe('0 x');
    stop.abort();
    await expect(chunks.next()).rejects.toBe(stop.signal.reason);
    expect(await readdir(folder)).toEqual([]);
  });

  test('where the temporary folder cannot be written to, the error names it and says what to do', async () => {
    vi.stubEnv('TMPDIR', join(folder, 'missing'));
    try {
      await expect(sorted(['2 b', '1 a'], { runBytes: 1 })).rejects.toThrow(
        /cannot be written in .*missing \(ENOENT.*\): make room there, or set TMPDIR to a folder with enough\.$/,
      );
    } finally {
      vi.stubEnv('TMPDIR', folder);
    }
  });
});
