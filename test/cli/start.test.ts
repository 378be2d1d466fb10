import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDms } from '../journeys/dms-command.js';

const SERVER = ['@apollo/server', '@graphql-tools/schema', 'express', 'graphql', 'graphql-jit', 'ioredis'];
const PRISMA = ['@prisma/client', '@prisma/adapter-pg'];
const DATABASE = [...PRISMA, 'pg'];

const UNREACHABLE = { DATABASE_URL: 'postgresql://dms@127.0.0.1:9/dms' };

/** The packages of which a command has loaded a module. */
async function packagesLoadedBy(args: readonly string[], environment: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'dms-test-start-'));
  try {
    // With this set, Node.js lists each script that it has loaded, modules of both kinds.
    await startDms(args, { ...environment, NODE_V8_COVERAGE: folder }).result;
    const reports = await Promise.all(
      (await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')),
    );
    const urls = reports.flatMap((report) =>
      [...report.matchAll(/"url":"([^"]+)"/g)].map(([, url = '']) => url),
    );
    expect(urls.filter((url) => url.endsWith('/dist/main.js'))).toHaveLength(1);
    return new Set(urls.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []));
  } finally {
    await rm(folder, { recursive: true });
  }
}

test.each([
  ['--help', 'commander', [...SERVER, ...DATABASE]],
  ['serve --help', 'commander', [...SERVER, ...DATABASE]],
  ['token create', 'commander', [...SERVER, ...DATABASE]],
  ['export a..b', 'commander', [...SERVER, ...DATABASE]],
  ['import missing.ndjson', 'commander', [...SERVER, ...DATABASE]],
  ['watch list', '@prisma/client', SERVER],
  ['token list', '@prisma/client', SERVER],
  ['forget example.invalid --yes', '@prisma/client', SERVER],
  ['import /dev/null', 'pg', [...SERVER, ...PRISMA]],
  ['export', 'pg', [...SERVER, ...PRISMA]],
  ['migrate', 'pg', [...SERVER, ...PRISMA]],
])('a command loads only what it needs: dms %s has %s, but not %j', async (command, needed, others) => {
  const loaded = await packagesLoadedBy(command.split(' '), UNREACHABLE);
  expect(loaded).toContain(needed);
  expect(others.filter((name) => loaded.has(name))).toEqual([]);
});
