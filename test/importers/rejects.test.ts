import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RejectsFile } from '../../src/importers/rejects.js';
import { OperationError, UsageError } from '../../src/model/errors.js';
import { prepareFolder } from '../support/temporary-folder.js';

const { folder, write } = prepareFolder();

function reject(rejects: RejectsFile, ...lines: readonly string[]): void {
  for (const text of lines) rejects.write({ number: 1, bytes: Buffer.from(text) });
  rejects.close();
}

test('the file for rejected lines is made by the first, and holds all of them as they came', async () => {
  const path = join(folder, 'lines');
  const rejects = new RejectsFile(path);
  expect(existsSync(path)).toBe(false);
  reject(rejects, 'one é', 'two');
  expect(await readFile(path, 'utf8')).toBe('one é\ntwo\n');
});

test('the file for rejected lines keeps what another process has written to it since it was checked', async () => {
  const path = join(folder, 'meanwhile');
  const rejects = new RejectsFile(path);
  await writeFile(path, 'old\n');
  reject(rejects, 'new');
  expect(await readFile(path, 'utf8')).toBe('old\nnew\n');
});

test.skipIf(!existsSync('/dev/full'))('a rejected line that cannot be written ends in an error', () => {
  const write = () => reject(new RejectsFile('/dev/full'), 'x');
  expect(write).toThrow(OperationError);
  expect(write).toThrow(/^--rejects \/dev\/full cannot be written, since its disk is full: /);
});

test('rejected lines are not written to a file that holds something, nor to a folder, nor in one that is not there', async () => {
  const old = write('holds-something', 'x');
  expect(() => new RejectsFile(old)).toThrow(
    new UsageError(`--rejects ${old} exists and is not empty: choose another name, or remove it.`),
  );
  expect(() => new RejectsFile(folder)).toThrow(UsageError);
  const nowhere = join(folder, 'nowhere');
  expect(() => new RejectsFile(join(nowhere, 'x'))).toThrow(`the folder ${nowhere} does not exist`);
});

test('rejected lines are written to an empty file, too, and to one that takes all and holds nothing', async () => {
  for (const path of [write('empty', ''), '/dev/null']) reject(new RejectsFile(path), 'x');
  expect(await readFile(join(folder, 'empty'), 'utf8')).toBe('x\n');
});
