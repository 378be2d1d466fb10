import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readJsonTexts } from '../../src/importers/json-texts.js';
import { type Line, readLines, textOf } from '../../src/importers/lines.js';

/** The bytes in pieces of a size. */
async function* pieces(input: string | Buffer, size = 1_000_000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(input);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function linesOf(input: string | Buffer, size?: number, longest?: number): Promise<Line[]> {
  return (await Readable.from(readLines(pieces(input, size), longest)).toArray()).flat();
}

async function objectsOf(text: string, longest = 1_000_000) {
  const lines: Line[] = (await Readable.from(readJsonTexts(pieces(text), longest)).toArray()).flat();
  return lines.map((line) => [line.number, textOf(line, longest).trim()] as const);
}

test('wherever the input is cut into chunks, its lines are the same', async () => {
  const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replace(/[\r\n\ufeff]/g, '')));
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (expected, size) => {
      const lines = await linesOf(expected.join('\n'), size);
      expect(lines.map((line) => [line.number, textOf(line)])).toEqual(
        expected.map((line, index) => [index + 1, line]).filter(([, line]) => line !== ''),
      );
    }),
  );
});

test('lines end with LF or CRLF, a byte order mark is dropped, and blank lines only count', async () => {
  const lines = await linesOf('\ufeff{"a":1}\r\n\n\r\n{"b":2}');
  expect(lines.map((line) => [line.number, textOf(line)])).toEqual([
    [1, '{"a":1}'],
    [4, '{"b":2}'],
  ]);
});

test.each([5, 1000])('a line beyond the limit is rejected, and not kept whole (chunks: %d)', async (size) => {
  const [long, next] = await linesOf('1234567890\r\n12345678\r\n', size, 9);
  const reason = 'the line is longer than LIMIT_LINE allows (9 bytes): set it higher to import the line.';
  expect(long?.bytes.length).toBe(10);
  expect(() => long && textOf(long, 9)).toThrow(reason);
  expect(next && textOf(next, 9)).toBe('12345678');
});

test('a line that is not UTF-8 is rejected, and comes back byte for byte', async () => {
  const [line] = await linesOf(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]));
  expect(() => line && textOf(line)).toThrow(/^the line is not UTF-8: .+\.$/);
  expect(line?.bytes).toEqual(Buffer.from([0x7b, 0xff, 0x7d]));
});

test('objects are read however they are divided into lines', async () => {
  const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }));
  const indents = fc.constantFrom(undefined, 2, '\t');
  await fc.assert(
    fc.asyncProperty(objects, indents, fc.constantFrom('\n', '', ' ', '\r\n'), async (given, indent, end) => {
      const text = given.map((one) => JSON.stringify(one, null, indent)).join(end);
      const read = (await objectsOf(text)).map(([, one]) => JSON.parse(one));
      expect(read).toEqual(given.map((one) => JSON.parse(JSON.stringify(one))));
    }),
    { numRuns: 200 },
  );
});

test('an object over several lines has the number of its first line', async () => {
  const text = '{"a":1}\n{\n  "b": 2\n}\n\n{"c":"}{"}{"d":4}\n';
  expect(await objectsOf(text)).toEqual([
    [1, '{"a":1}'],
    [2, '{   "b": 2 }'],
    [6, '{"c":"}{"}'],
    [6, '{"d":4}'],
  ]);
});

test('a broken object takes no other with it', async () => {
  const objects = await objectsOf('{\n  "a":\n{"b":1}\n{\n{\n "c":1\n}}\n{"d"} {"e":1}\n{"f\n{"g":1}');
  expect(objects.map(([, text]) => text)).toEqual([
    ...['{   "a":', '{"b":1}', '{', '{  "c":1 }', '}', '{"d"}', '{"e":1}', '{"f', '{"g":1}'],
  ]);
});

test('an object over several lines has the longest line as its limit', async () => {
  const long = `{\n${'"a":1,\n'.repeat(1000)}"b":2\n}\n`;
  await expect(objectsOf(`${long}{"c":1}`)).resolves.toHaveLength(2);
  await expect(objectsOf(`${long}{"c":1}`, 100)).rejects.toThrow('longer than LIMIT_LINE allows (100 bytes)');
});
