import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Line, readLines, textOf } from '../../src/importers/lines.js';

async function linesOf(chunks: readonly Buffer[], longest?: number): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const some of readLines(stream(chunks), longest)) {
    lines.push(...some);
  }
  return lines;
}

async function* stream(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

describe('reading lines', () => {
  test('wherever the input is cut into chunks, its lines are the same', async () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replace(/[\r\n\ufeff]/g, '')));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (expected, size) => {
        const bytes = Buffer.from(expected.join('\n'));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const lines = await linesOf(chunks);
        expect(lines.map((line) => [line.number, textOf(line)])).toEqual(
          expected.map((line, index) => [index + 1, line]).filter(([, line]) => line !== ''),
        );
      }),
    );
  });

  test('lines end with LF or CRLF, a byte order mark is dropped, and blank lines only count', async () => {
    const lines = await linesOf([Buffer.from('\ufeff{"a":1}\r\n\n\r\n{"b":2}')]);
    expect(lines.map((line) => [line.number, textOf(line)])).toEqual([
      [1, '{"a":1}'],
      [4, '{"b":2}'],
    ]);
  });

  test('a line longer than the limit is marked, kept only in part, and the next one is read', async () => {
    const lines = await linesOf([Buffer.from('12345'), Buffer.from('67890'), Buffer.from('1\nnext\n')], 8);
    expect(lines.map(({ number, exceeded }) => [number, exceeded])).toEqual([
      [1, 8],
      [2, null],
    ]);
    expect(lines[0]?.bytes.length).toBeLessThanOrEqual(8);
    expect(() => lines[0] && textOf(lines[0])).toThrow(
      'the line is longer than LIMIT_LINE allows (8 bytes): set it higher to import the line.',
    );
  });

  test('a line that is not UTF-8 is rejected, and comes back byte for byte', async () => {
    const [line] = await linesOf([Buffer.from([0x7b, 0xff, 0x7d, 0x0a])]);
    expect(() => line && textOf(line)).toThrow(/^the line is not UTF-8: .+\.$/);
    expect(line?.bytes).toEqual(Buffer.from([0x7b, 0xff, 0x7d]));
  });
});
