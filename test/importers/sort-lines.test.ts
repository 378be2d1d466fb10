import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Line, readLines } from '../../src/importers/lines.js';
import { type SortOptions, sortLines } from '../../src/importers/sort-lines.js';

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

  test('lines without a time come first, and keep their numbers for the report', async () => {
    const result = await sorted(['2 b', 'broken', '1 a'], { runBytes: 1 });
    expect(result.map(({ number }) => number)).toEqual([2, 3, 1]);
  });

  test('no temporary file remains, not even when the reader stops early', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('dms-sort-'));
    async function* input(): AsyncGenerator<Buffer> {
      yield Buffer.from('2 b\n');
      yield Buffer.from('1 a\n');
    }
    for await (const _ of sortLines(readLines(input()), { timeOf, runBytes: 1 })) {
      break;
    }
    const after = readdirSync(tmpdir()).filter((name) => name.startsWith('dms-sort-'));
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
  });
});
