import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { prepareCommands } from '../support/commands.js';

const commands = prepareCommands({ emptied: true });
const { dms, said, objects } = commands;

/** The list, without its times. */
const listed = async () =>
  (await objects(['watch', 'list'])).map(({ domain, every }) => `${domain} ${every}`);

test('dms watch adds domains in canonical form at a pace, changes it where one is given, and removes them', async () => {
  const change = (args: string) => said(['watch', ...args.split(' ')]);
  expect(await change('add Example.COM. bücher.example --every 6h')).toBe(
    '2 added, 0 at a new interval, 0 already watched\n',
  );
  expect(await change('add example.com other.example example.com --every 90m')).toBe(
    '1 added, 1 at a new interval, 0 already watched\n',
  );
  expect(await listed()).toEqual(['example.com 90m', 'other.example 90m', 'xn--bcher-kva.example 6h']);
  expect(await change('add example.com third.example')).toBe(
    '1 added, 0 at a new interval, 1 already watched\n',
  );
  expect(await listed()).toEqual(expect.arrayContaining(['example.com 90m', 'third.example 1d']));
  expect(await change('remove example.com third.example unknown.example')).toBe('2 removed, 1 not watched\n');
  expect(await listed()).toEqual(['other.example 90m', 'xn--bcher-kva.example 6h']);
});

test('dms watch reads names from a file or standard input, packed or not, with comments, and reports what is not a name', async () => {
  const text = '# a list\na.example\n\nB.EXAMPLE.  # twice\nb.example\nno name\nc.example';
  const { code, stdout, stderr } = await dms(['watch', 'add', '--from-file', '-'], gzipSync(text));
  expect([code, stdout]).toEqual([1, '3 added, 0 at a new interval, 0 already watched\n']);
  expect(stderr).toMatch(/^line 6 rejected: "no name" is not a domain name: /);
  expect(stderr).toContain('dms: 1 line is not a domain name; the others are done.\n');
  expect(await listed()).toEqual(['a.example 1d', 'b.example 1d', 'c.example 1d']);
});

test('dms watch takes many thousand names at once', async () => {
  const names = Array.from({ length: 12_345 }, (_, number) => `d${number}.example\n`).join('');
  expect(await said(['watch', 'add', '--from-file', '-'], names)).toMatch(/^12345 added, /);
  expect(await said(['watch', 'remove', '-'], names)).toBe('12345 removed, 0 not watched\n');
});

test('dms watch list shows a table, or how to add a domain', async () => {
  expect((await dms(['watch', 'list'])).stderr).toBe(
    'No domain is watched. To watch one: dms watch add DOMAIN --every 6h\n',
  );
  await dms(['watch', 'add', 'example.com', '--every', '1h']);
  expect(await said(['watch', 'list'])).toMatch(
    /^domain +every +next +failures +last outcome\nexample\.com +1h +[\d-]+T[\d:]+Z +0 +not yet by a worker\n$/,
  );
});
