import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { isInstalled } from '../../scripts/install.js';
import { withLock } from '../../scripts/lock.js';
import { isSupportedNode } from '../../scripts/set-up.js';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'dms-test-set-up-'));
  await mkdir(join(root, 'node_modules'));
  return () => rm(root, { recursive: true });
});

test.each([
  ['one', ['20.19.0', '20.20.2', '22.12.0', '22.23.3', '24.0.0', '25.1.0']],
  ['none', ['18.20.8', '20.18.9', '21.7.0', '22.11.0', '23.9.0']],
])('Node.js is %s of the versions that package.json names: %j', (which, versions) => {
  const range = '^20.19.0 || ^22.12.0 || >=24.0.0';
  for (const version of versions) expect(isSupportedNode(version, range), version).toBe(which === 'one');
});

const LOCKED = {
  a: { version: '1.0.0', integrity: 'sha512-a' },
  b: { version: '1.0.0', integrity: 'sha512-b', dev: true },
  // Of another system.
  c: { version: '1.0.0', integrity: 'sha512-c', optional: true },
};
const { a, b } = LOCKED;
const OLDER = { version: '0.9.0', integrity: 'sha512-old' };

test.each([
  ['all of this system are there', { a, b }, [true, true]],
  ['those for development are missing', { a }, [true, false]],
  ['one has another version', { a: OLDER, b }, [false, false]],
  ['the installation was interrupted', null, [false, false]],
])(
  'the dependencies are known to be installed, for production and for development, whatever the times of the files, if %s',
  async (_case, installed, [production, development]) => {
    const write = async (file: string, packages: object) => {
      const entries = Object.entries(packages).map(([name, entry]) => [`node_modules/${name}`, entry]);
      const all = { '': { version: '0.1.0' }, ...Object.fromEntries(entries) };
      await writeFile(join(root, file), JSON.stringify({ packages: all }));
    };
    await write('package-lock.json', LOCKED);
    if (installed !== null) {
      await write('node_modules/.package-lock.json', installed);
      await utimes(join(root, 'node_modules/.package-lock.json'), 1, 1);
    }
    expect(isInstalled(root, { development: false })).toBe(production);
    expect(isInstalled(root, { development: true })).toBe(development);
  },
);

const locked = <Result>(work: () => Promise<Result>, wait = () => {}) =>
  withLock(join(root, 'dist/.lock'), wait, work);

test('of processes that set up at the same time only one works, and the others wait', async () => {
  let [working, waited] = [0, 0];
  const work = async () => {
    working += 1;
    expect(working).toBe(1);
    await new Promise(setImmediate);
    working -= 1;
  };
  const wait = () => {
    waited += 1;
  };
  await Promise.all(Array.from({ length: 5 }, () => locked(work, wait)));
  expect(waited).toBe(4);
  expect(existsSync(join(root, 'dist/.lock'))).toBe(false);
});

test('a process that failed to set up does not block the others', async () => {
  const failing = locked(() => Promise.reject(new Error('no network')));
  await expect(failing).rejects.toThrow('no network');
  expect(await locked(async () => 'done')).toBe('done');
});

test('a process that was killed while it set up does not block the others', async () => {
  const script = join(root, 'hold.mjs');
  const module = new URL('../../scripts/lock.js', import.meta.url).href;
  await writeFile(
    script,
    `import { withLock } from ${JSON.stringify(module)};
     await withLock(${JSON.stringify(join(root, 'dist/.lock'))}, () => {}, () => new Promise(() => process.send('holding')));`,
  );
  const holder = fork(script);
  await once(holder, 'message');
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(await locked(async () => 'done')).toBe('done');
});
