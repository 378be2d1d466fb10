import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the page is built from the same libraries below a folder whose name has blanks and brackets', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dms-test-build-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const root = join(folder, 'a (b) [c]');
  await mkdir(root);
  for (const name of ['web', 'src', 'tsconfig.json', 'package.json']) {
    await cp(join(ROOT, name), join(root, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const vite = ['node_modules/vite/bin/vite.js', 'build', '--config', 'web/vite.config.ts'];
  const { status, stderr } = spawnSync(process.execPath, vite, { cwd: root, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  const licensesIn = (place: string) => readFile(join(place, 'dist/web/LICENSES.md'), 'utf8');
  expect(await licensesIn(root)).toBe(await licensesIn(ROOT));
});
