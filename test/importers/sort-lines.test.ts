import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { type Line, readLines } from '../../src/importers/lines.js';
import { type SortKey, sortLines } from '../../src/importers/sort-lines.js';
import { prepareFolder } from '../support/temporary-folder.js';

/** For temporary files. */
const { folder } = prepareFolder();

beforeEach(() => void vi.stubEnv('TMPDIR', folder));
afterAll(() => void vi.unstubAllEnvs());

/** Each line comes in a chunk of its own. */
function sort(lines: readonly string[], runBytes: number) {
  async function* input(): AsyncGenerator<Buffer> {
    for (const line of lines) yield Buffer.from(`${line}\n`);
  }
  return sortLines(readLines(input()), keyOf, runBytes);
}

/** The domain, if any, and the number before the first blank; none: the line has no key. */
function keyOf({ bytes }: Line): SortKey | null {
  const [, domain = '', time = ''] = /^([a-z]*)(-?\d+)(?: |$)/.exec(bytes.toString()) ?? [];
  return time === '' ? null : { domain, time: BigInt(time) };
}

test('sorted lines come in the order of domain and time, equal ones in the order of the file, in memory or through a file', async () => {
  const domain = fc.constantFrom('', 'a', 'b');
  const line = fc.tuple(domain, fc.integer({ min: -3, max: 3 }), fc.string({ unit: 'grapheme-ascii' }));
  const lines = fc.array(line, { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(lines, fc.constantFrom(1, 40, 1e9), async (input, runBytes) => {
      const texts = input.map(([name, time, text]) => `${name}${time} ${text.replace(/\n/g, '')}`);
      const expected = input
        .map(([name, time], index) => ({ name, time, index }))
        .sort(
          (a, b) => Number(a.name > b.name) - Number(a.name < b.name) || a.time - b.time || a.index - b.index,
        )
        .map(({ index }) => [index + 1, texts[index]?.replace(/\r$/, '')]);
      const result: Line[] = (await Readable.from(sort(texts, runBytes)).toArray()).flat();
      expect(result.map(({ number, bytes }) => [number, bytes.toString()])).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

test.each([1, 1e9])('a line without a time stays behind the one before it (runs of %d)', async (runBytes) => {
  const lines = ['broken', '2 b', 'broken', '1 a', 'broken', 'broken', '3 c'];
  const result: Line[] = (await Readable.from(sort(lines, runBytes)).toArray()).flat();
  expect(result.map(({ number }) => number)).toEqual([1, 4, 5, 6, 2, 3, 7]);
});

test('no temporary file can be left, however the process ends: it has no name while it is in use', async () => {
  for await (const _ of sort(['2 b', '1 a'], 1)) {
    expect(await readdir(folder)).toEqual([]);
    break;
  }
  expect(await readdir(folder)).toEqual([]);
});

test('where the temporary folder cannot be written to, the error names it and says what to do', async () => {
  vi.stubEnv('TMPDIR', join(folder, 'missing'));
  const reason =
    /cannot be written in .*missing \(ENOENT.*\): make room there, or set TMPDIR to a folder with enough\.$/;
  await expect(sort(['2 b', '1 a'], 1).next()).rejects.toThrow(reason);
});
