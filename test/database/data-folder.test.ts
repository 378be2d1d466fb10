import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepareRunDirectory } from '../../src/database/embedded/data-folder.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';

let folder: string;

beforeAll(async () => {
  folder = await newDataDirectory();
});

afterAll(async () => {
  await removeDataDirectory(folder);
});

describe('the data folder', () => {
  test('is made with the folders above it, each for its owner only', async () => {
    const run = await prepareRunDirectory(join(folder, 'a', 'b'));
    for (const path of [run, join(folder, 'a', 'b'), join(folder, 'a')]) {
      expect((await stat(path)).mode & 0o777).toBe(0o700);
    }
  });

  test('is made once, by however many at the same time', async () => {
    const path = join(folder, 'many', 'at', 'once');
    const made = await Promise.all(Array.from({ length: 10 }, () => prepareRunDirectory(path)));
    expect(new Set(made)).toEqual(new Set([join(path, 'run')]));
    expect(await readdir(path)).toEqual(['run']);
  });

  test('is used as it is where it exists, and its folder of sockets is closed to others', async () => {
    await mkdir(join(folder, 'open', 'run'), { recursive: true, mode: 0o755 });
    const run = await prepareRunDirectory(join(folder, 'open'));
    expect((await stat(run)).mode & 0o777).toBe(0o700);
  });

  test('that cannot be made is an error at once, with what to do', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(prepareRunDirectory(join(folder, 'file'))).rejects.toThrow(
      /cannot be used: ENOTDIR.+ Set DATA_DIR to a folder that this user owns, on a disk with room\.$/,
    );
  });
});
