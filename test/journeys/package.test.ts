import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TEST_SERVER } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { IS_LONG } from '../support/long-form.js';
import { observationLine } from '../support/observations.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the package has what is run, and neither sources nor tests', () => {
  const options = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = spawnSync('npm', options, { cwd: ROOT, encoding: 'utf8' });
  const [pack]: readonly [{ readonly files: readonly { readonly path: string }[] }] = JSON.parse(stdout);
  const files = pack.files.map(({ path }) => path);
  const folders = files.map((path) => dirname(path).split('/').slice(0, 4).join('/'));
  const places = [...new Set(folders)].filter((folder) => !/^dist\b/.test(folder)).sort();
  const migrations = readdirSync(join(ROOT, 'prisma/migrations')).map((name) => `prisma/migrations/${name}`);
  expect(places).toEqual(['.', 'bin', ...migrations, 'samples', 'src/rest/v1/operations'].sort());
  const needed = ['schema.graphql', 'dist/main.js', 'dist/web/index.html', 'dist/web/operations.json'];
  expect(files).toEqual(expect.arrayContaining(needed));
  expect(files.filter((path) => /\.(?:ts|map)$|\/\.|package-lock/.test(path))).toEqual([]);
});

/** The environment as a shell has it, without what the npm that runs the tests has set. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:npm_|INIT_CWD$|DATABASE_URL$)/i.test(name)),
);

/** Installing takes a minute of processor time, and what is installed 180 MB. It has the embedded database. */
const IS_INSTALLED = IS_LONG && TEST_SERVER === undefined;

describe.skipIf(!IS_INSTALLED)('installed from its file in an empty folder', () => {
  let folder: string;
  let place: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dms-test-package-'));
    // npm changes package.json while it packs, and other tests read it.
    const checkout = join(folder, 'checkout');
    await mkdir(checkout);
    const copied = readdirSync(ROOT).filter((name) => !['.git', 'data', 'node_modules'].includes(name));
    for (const name of copied) await cp(join(ROOT, name), join(checkout, name), { recursive: true });
    // By hard links, where both are on one file system.
    const [from, to] = [join(ROOT, 'node_modules'), join(checkout, 'node_modules')];
    await run('cp', ['-al', from, to], folder).catch(() => run('cp', ['-a', from, to], folder));
    await run('npm', ['pack', '--ignore-scripts=false', '--pack-destination', folder], checkout);
    expect(readFileSync(join(checkout, 'package.json'), 'utf8')).toBe(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    );
    await rm(checkout, { recursive: true });

    place = join(folder, 'place');
    await mkdir(place);
    const file = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
    await run('npm', ['install', '--ignore-scripts', '--offline', join('..', file)], place);
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true }));

  /** Runs a program. @returns what it prints. @throws Error if it fails, with that. */
  async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
    return (await promisify(execFile)(program, args, { cwd, env: ENVIRONMENT })).stdout;
  }

  test('the installed package has the versions of package-lock.json, and none of what only development needs', () => {
    const { packages }: { packages: Record<string, { version?: string; dev?: boolean; peer?: boolean }> } =
      JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const home = join(place, 'node_modules/domain-metadata-service');
    const found = readdirSync(join(home, 'node_modules'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?:^|\/node_modules\/)(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path))
      .map((path) => `node_modules/${path.slice(0, -'/package.json'.length)}`)
      .filter((path) => path in packages);
    expect(found.length).toBeGreaterThan(200);
    for (const path of found) {
      const { version } = JSON.parse(readFileSync(join(home, path, 'package.json'), 'utf8'));
      expect([path, version]).toEqual([path, packages[path]?.version]);
    }
    expect(found.filter((path) => packages[path]?.dev === true)).toEqual([]);
    const others = readdirSync(join(place, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(others).toEqual(['domain-metadata-service']);
  });

  test('the installed package imports and shows by npx dms, with its data in the folder where it is called', async () => {
    const line = observationLine({ domain: 'packed.example', at: 1, records: ['192.0.2.1'] });
    await writeFile(join(place, 'observations.ndjson'), line);
    await run('npx', ['dms', 'import', 'observations.ndjson'], place);
    expect(await run('npx', ['dms', 'show', 'packed.example'], place)).toContain('192.0.2.1');
    expect(existsSync(join(place, 'data'))).toBe(true);
    const failure = { code: 2, stderr: expect.stringContaining('Usage: dms watch') };
    await expect(run('npx', ['dms', 'watch'], place)).rejects.toMatchObject(failure);
  });

  test('the installed package serves both APIs, the page and the documents, and installs nothing', async () => {
    const port = await freePort();
    const child = spawn('npx', ['dms', 'serve'], {
      cwd: place,
      env: { ...ENVIRONMENT, PORT: `${port}`, SAMPLES: 'off' },
      // Who waits for the end of the output waits for the service, too, and not only for npx.
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    child.stdout.resume();
    try {
      const url = `http://127.0.0.1:${port}`;
      const statusOf = async (path: string) => (await fetch(url + path).catch(() => undefined))?.status;
      await expect.poll(() => statusOf('/readyz')).toBe(200);
      const pages = ['/', '/docs/settings', '/graphiql', '/api/v1/docs', '/api/v1/openapi.json'];
      for (const path of ['/api/v1/domain/packed.example', '/graphql?query=%7B__typename%7D', ...pages]) {
        expect([path, await statusOf(path)]).toEqual([path, 200]);
      }
    } finally {
      // To the whole group, as Ctrl-C in a terminal.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
      await once(child, 'close');
    }
  });
});
