import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

describe('the file for rejected lines', () => {
  test('is made by the first line, and holds all of them as they came', async () => {
    const path = join(folder, 'lines');
    const rejects = new RejectsFile(path);
    expect(existsSync(path)).toBe(false);
    const lines = Array.from({ length: 3_000 }, (_, index) => `${index} é `.repeat(20));
    for (const text of lines) rejects.write(line(text));
    rejects.close();
    expect(await readFile(path, 'utf8')).toBe(lines.map((text) => `${text}\n`).join(''));
  });

  test('is not made, nor touched, where no line is rejected', async () => {
    const [missing, old] = [join(folder, 'missing'), await file('old', 'old')];
    new RejectsFile(missing).close();
    new RejectsFile(old).close();
    expect(existsSync(missing)).toBe(false);
    expect(await readFile(old, 'utf8')).toBe('old');
  });

  test('keeps what another process has written to it since it was checked', async () => {
    const path = await file('meanwhile', 'old\n');
    const rejects = new RejectsFile(path);
    rejects.write(line('new'));
    rejects.close();
    expect(await readFile(path, 'utf8')).toBe('old\nnew\n');
  });

  test.skipIf(!existsSync('/dev/full'))('fails where the disk is full, and does not wait for ever', () => {
    const rejects = new RejectsFile('/dev/full');
    expect(() => rejects.write(line('x'))).toThrow(OperationError);
    expect(() => rejects.write(line('x'))).toThrow(
      /^--rejects \/dev\/full cannot be written, since its disk is full: /,
    );
    rejects.close();
  });
});

describe('what may take rejected lines', () => {
  test('no file that holds something', async () => {
    const old = await file('holds-something', 'x');
    await expect(checkRejects(old)).rejects.toThrow(
      new UsageError(`--rejects ${old} exists and is not empty: choose another name, or remove it.`),
    );
  });

  test('no folder, and nothing in a folder that is not there', async () => {
    await expect(checkRejects(folder)).rejects.toThrow(UsageError);
    await expect(checkRejects(join(folder, 'nowhere', 'x'))).rejects.toThrow(
      `the folder ${join(folder, 'nowhere')} does not exist`,
    );
  });

  test('a new file, an empty one, and one that takes all and holds nothing', async () => {
    const empty = await file('empty', '');
    for (const path of [join(folder, 'new'), empty, '/dev/null']) {
      await expect(checkRejects(path)).resolves.toBeUndefined();
    }
  });
});
