import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startDms } from '../journeys/dms-command.js';

const SERVER = ['@apollo/server', '@graphql-tools/schema', 'express', 'graphql', 'graphql-jit', 'ioredis'];
const DATABASE = ['@prisma/client', '@prisma/adapter-pg', 'pg'];

const UNREACHABLE = { DATABASE_URL: 'postgresql://dms@127.0.0.1:9/dms' };

/** The packages of which a command has loaded a module. */
async function packagesLoadedBy(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<ReadonlySet<string>> {
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

describe('a command loads only what it needs', () => {
  test.each<[string[]]>([
    [['--help']],
    [['--version']],
    [['serve', '--help']],
    [['import', '--help']],
    [['servr']],
    [['token', 'create']],
    [['export', 'a b']],
    [['import', 'missing.ndjson']],
  ])('dms %j loads neither the server nor the database client', async (args) => {
    const loaded = await packagesLoadedBy(args);
    expect(loaded).toContain('commander');
    expect([...SERVER, ...DATABASE].filter((name) => loaded.has(name))).toEqual([]);
  });

  test.each<[string[]]>([[['watch', 'list']], [['token', 'list']], [['forget', 'example.invalid', '--yes']]])(
    'dms %j loads the database client, but not the server',
    async (args) => {
      const loaded = await packagesLoadedBy(args, UNREACHABLE);
      expect(loaded).toContain('@prisma/client');
      expect(SERVER.filter((name) => loaded.has(name))).toEqual([]);
    },
  );

  test.each<[string[]]>([[['import', '/dev/null']], [['export']], [['migrate']]])(
    'dms %j loads pg, but neither Prisma nor the server',
    async (args) => {
      const loaded = await packagesLoadedBy(args, UNREACHABLE);
      expect(loaded).toContain('pg');
      expect([...SERVER, '@prisma/client', '@prisma/adapter-pg'].filter((name) => loaded.has(name))).toEqual(
        [],
      );
    },
  );
});
