import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isInstalled } from '../../scripts/install.js';
import { withLock } from '../../scripts/lock.js';
import { isSupportedNode } from '../../scripts/set-up.js';

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'dms-test-set-up-'));
});
beforeEach(async () => {
  await rm(root, { recursive: true });
  await mkdir(join(root, 'node_modules'), { recursive: true });
});
afterAll(() => rm(root, { recursive: true }));

test.each([
  ['one', ['20.19.0', '20.20.2', '22.12.0', '22.23.3', '24.0.0', '25.1.0']],
  ['none', ['18.20.8', '20.18.9', '21.7.0', '22.11.0', '23.9.0']],
])('Node.js is %s of the versions that package.json names: %j', (which, versions) => {
  const range = '^20.19.0 || ^22.12.0 || >=24.0.0';
  for (const version of versions) expect(isSupportedNode(version, range), version).toBe(which === 'one');
});

describe('the dependencies are installed', () => {
  const LOCKED = {
    '': { version: '0.1.0' },
    'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
    'node_modules/b': { version: '1.0.0', integrity: 'sha512-b', dev: true },
    'node_modules/c': { version: '1.0.0', integrity: 'sha512-c', optional: true },
  };
  const { '': _root, 'node_modules/c': _foreign, ...INSTALLED } = LOCKED;
  const { 'node_modules/b': _development, ...PRODUCTION } = INSTALLED;

  async function given(installed: object | null): Promise<void> {
    await writeFile(join(root, 'package-lock.json'), JSON.stringify({ packages: LOCKED }));
    if (installed === null) return;
    const file = join(root, 'node_modules/.package-lock.json');
    await writeFile(file, JSON.stringify({ packages: installed }));
  }

  test('the dependencies are installed if all are there, whatever the times of the files; those of other systems may be missing', async () => {
    await given(INSTALLED);
    await utimes(join(root, 'node_modules/.package-lock.json'), 1, 1);
    expect(isInstalled(root, { development: true })).toBe(true);
  });

  test('the dependencies are not installed if the installation was interrupted', async () => {
    await given(null);
    expect(isInstalled(root, { development: false })).toBe(false);
  });

  test('the dependencies are not installed if one has another version', async () => {
    await given({ ...INSTALLED, 'node_modules/a': { version: '0.9.0', integrity: 'sha512-old' } });
    expect(isInstalled(root, { development: false })).toBe(false);
  });

  test('the dependencies are installed without those for development only if these are not needed', async () => {
    await given(PRODUCTION);
    expect(isInstalled(root, { development: false })).toBe(true);
    expect(isInstalled(root, { development: true })).toBe(false);
  });
});

describe('of processes that set up at the same time', () => {
  const locked = <Result>(work: () => Promise<Result>) => withLock(join(root, 'dist/.lock'), () => {}, work);

  test('of processes that set up at the same time only one works, and the others wait', async () => {
    const lock = join(root, 'dist/.lock');
    let working = 0;
    let waited = 0;
    const work = async () => {
      working += 1;
      expect(working).toBe(1);
      await new Promise(setImmediate);
      working -= 1;
    };
    const wait = () => {
      waited += 1;
    };
    await Promise.all(Array.from({ length: 5 }, () => withLock(lock, wait, work)));
    expect(waited).toBe(4);
    expect(existsSync(lock)).toBe(false);
  });

  test('a process that failed to set up does not block the others', async () => {
    const failing = locked(() => Promise.reject(new Error('no network')));
    await expect(failing).rejects.toThrow('no network');
    expect(await locked(async () => 'done')).toBe('done');
  });

  test('a process that was killed while it set up does not block the others', async () => {
    const lock = join(root, 'dist/.lock');
    const script = join(root, 'hold.mjs');
    const module = new URL('../../scripts/lock.js', import.meta.url).href;
    await writeFile(
      script,
      `import { withLock } from ${JSON.stringify(module)};
       await withLock(${JSON.stringify(lock)}, () => {}, () => new Promise(() => process.send('holding')));`,
    );
    const holder = fork(script);
    await once(holder, 'message');
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(await locked(async () => 'done')).toBe('done');
  });
});
