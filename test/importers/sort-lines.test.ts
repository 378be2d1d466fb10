import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Line, readLines } from '../../src/importers/lines.js';
import { type SortKey, type SortOptions, sortLines } from '../../src/importers/sort-lines.js';

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

async function sorted(lines: readonly string[], options: Omit<SortOptions, 'keyOf'>): Promise<Line[]> {
  async function* input(): AsyncGenerator<Buffer> {
    for (const line of lines) {
      yield Buffer.from(`${line}\n`);
    }
  }
  const result: Line[] = [];
  for await (const some of sortLines(readLines(input()), { ...options, keyOf })) {
    result.push(...some);
  }
  return result;
}

/** The domain, if any, and the number before the first blank; none: the line has no key. */
function keyOf({ bytes }: Line): SortKey | null {
  const [, domain = '', time = ''] = /^([a-z]*)(-?\d+)(?: |$)/.exec(bytes.toString()) ?? [];
  return time === '' ? null : { domain, time: BigInt(time) };
}

describe('sorting lines', () => {
  test('lines come in the order of domain and time, equal ones in the order of the file, in memory or through a file', async () => {
    const line = fc.tuple(
      fc.constantFrom('', 'a', 'b'),
      fc.integer({ min: -3, max: 3 }),
      fc.string({ unit: 'grapheme-ascii' }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 60 }),
        fc.constantFrom(1, 40, 1e9),
        async (input, runBytes) => {
          const lines = input.map(
            ([domain, time, text]) => `${domain}${time} ${text.replace(/[\r\n]/g, '')}`,
          );
          const expected = lines
            .map((text, index) => ({ text, number: index + 1, key: input[index] ?? ['', 0] }))
            .sort(
              (left, right) =>
                (left.key[0] < right.key[0] ? -1 : left.key[0] > right.key[0] ? 1 : 0) ||
                left.key[1] - right.key[1] ||
                left.number - right.number,
            );
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
    for await (const _ of sortLines(readLines(input()), { keyOf, runBytes: 1 })) {
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
    const options = { keyOf, runBytes: 1_000, signal: stop.signal };
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
