import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkRejects, RejectsFile } from '../../src/importers/rejects.js';
import { OperationError, UsageError } from '../../src/model/errors.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dms-test-rejects-'));
});
afterAll(() => rm(folder, { recursive: true }));

function line(text: string) {
  return { number: 1, bytes: Buffer.from(text) };
}

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

test('the file for rejected lines is made by the first, and holds all of them as they came', async () => {
  const path = join(folder, 'lines');
  const rejects = new RejectsFile(path);
  expect(existsSync(path)).toBe(false);
  for (const text of ['one é', 'two']) rejects.write(line(text));
  expect(await readFile(path, 'utf8')).toBe('one é\ntwo\n');
  rejects.close();
});

test('the file for rejected lines is not made, nor touched, where no line is rejected', async () => {
  const [missing, old] = [join(folder, 'missing'), await file('old', 'old')];
  new RejectsFile(missing).close();
  new RejectsFile(old).close();
  expect(existsSync(missing)).toBe(false);
  expect(await readFile(old, 'utf8')).toBe('old');
});

test('the file for rejected lines keeps what another process has written to it since it was checked', async () => {
  const path = await file('meanwhile', 'old\n');
  const rejects = new RejectsFile(path);
  rejects.write(line('new'));
  rejects.close();
  expect(await readFile(path, 'utf8')).toBe('old\nnew\n');
});

test.skipIf(!existsSync('/dev/full'))(
  'a rejected line that cannot be written ends in an error: the disk is full',
  () => {
    const rejects = new RejectsFile('/dev/full');
    expect(() => rejects.write(line('x'))).toThrow(OperationError);
    expect(() => rejects.write(line('x'))).toThrow(
      /^--rejects \/dev\/full cannot be written, since its disk is full: /,
    );
    rejects.close();
  },
);

test('rejected lines are not written to a file that holds something, nor to a folder, nor in one that is not there', async () => {
  const old = await file('holds-something', 'x');
  expect(() => checkRejects(old)).toThrow(
    new UsageError(`--rejects ${old} exists and is not empty: choose another name, or remove it.`),
  );
  expect(() => checkRejects(folder)).toThrow(UsageError);
  const nowhere = join(folder, 'nowhere');
  expect(() => checkRejects(join(nowhere, 'x'))).toThrow(`the folder ${nowhere} does not exist`);
});

test('rejected lines are written to a new file, an empty one, and one that takes all and holds nothing', async () => {
  for (const path of [join(folder, 'new'), await file('empty', ''), '/dev/null']) checkRejects(path);
});
