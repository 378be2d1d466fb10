import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readJsonTexts } from '../../src/importers/json-texts.js';
import { textOf } from '../../src/importers/lines.js';

async function read(text: string, longest?: number): Promise<{ number: number; text: string }[]> {
  const found: { number: number; text: string }[] = [];
  const source = (async function* () {
    yield Buffer.from(text);
  })();
  for await (const lines of readJsonTexts(source, longest)) {
    for (const line of lines) found.push({ number: line.number, text: textOf(line).trim() });
  }
  return found;
}

const textsOf = async (text: string) => (await read(text)).map((line) => line.text);

test('objects are read however they are divided into lines', async () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
  const spacing = fc.constantFrom<[string | number | undefined, string]>(
    [undefined, '\n'],
    [undefined, ''],
    [undefined, ' '],
    [2, '\n'],
    [2, ''],
    [2, ' '],
    ['\t', '\r\n'],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(object), spacing, async (objects, [indent, between]) => {
      const text = objects.map((one) => JSON.stringify(one, null, indent)).join(between);
      const read = (await textsOf(text)).map((one) => JSON.parse(one));
      expect(read).toEqual(objects.map((one) => JSON.parse(JSON.stringify(one))));
    }),
    { numRuns: 200 },
  );
});

test('an object over several lines has the number of its first line', async () => {
  const text = '{"a":1}\n{\n  "b": 2\n}\n\n{"c":"}{"}{"d":4}\n';
  expect(await read(text)).toEqual([
    { number: 1, text: '{"a":1}' },
    { number: 2, text: '{   "b": 2 }' },
    { number: 6, text: '{"c":"}{"}' },
    { number: 6, text: '{"d":4}' },
  ]);
});

test('a broken object takes no other with it', async () => {
  expect(await textsOf('{\n  "a":\n{"b":1}\n{\n{\n "c":1\n}}\n{"d"} {"e":1}\n{"f\n{"g":1}')).toEqual([
    ...['{   "a":', '{"b":1}', '{', '{  "c":1 }', '}', '{"d"}', '{"e":1}', '{"f', '{"g":1}'],
  ]);
});

test('an object over several lines has the longest line as its limit', async () => {
  const long = `{\n${'"a":1,\n'.repeat(1000)}"b":2\n}\n`;
  await expect(textsOf(`${long}{"c":1}`)).resolves.toHaveLength(2);
  await expect(read(`${long}{"c":1}`, 100)).rejects.toThrow('longer than LIMIT_LINE allows (100 bytes)');
});
