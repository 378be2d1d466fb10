import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openDatabase } from '../../src/database/client.js';
import { DATABASE_FOLDER } from '../../src/database/embedded/data-folder.js';
import { migrate } from '../../src/database/migrate.js';
import { ownerOf } from './data-directory.js';
import { ended } from './processes.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/dms-test');

/**
 * Makes the template unless there is one. It is kept from one run to the next, under a name that tells
 * what is in it.
 */
export async function prepareTemplate(): Promise<void> {
  const template = await templatePath();
  if (!existsSync(join(template, 'PG_VERSION'))) await makeTemplate(template);
}

/** Gives a data folder a migrated, empty database: a copy, since making one takes seconds. */
export async function copyTemplate(dataDirectory: string): Promise<void> {
  // A thousand files: cp of Node.js takes three times as long.
  await promisify(execFile)('cp', ['-R', await templatePath(), join(dataDirectory, DATABASE_FOLDER)]);
}

async function makeTemplate(template: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const dataDirectory = await mkdtemp(join(CACHE, 'new-'));
  const database = await openDatabase({ dataDirectory, graceMilliseconds: 0 });
  await migrate(database.pool);
  const owner = await ownerOf(dataDirectory);
  await database.close();
  if (owner !== null) await ended(owner);
  // Another run may have been faster: its template is as good.
  await rename(join(dataDirectory, DATABASE_FOLDER), template).catch(() => {});
  await rm(dataDirectory, { recursive: true });
}

/** Named by a digest of all that decides what is in the template. */
async function templatePath(): Promise<string> {
  const migrations = await filesIn('prisma/migrations');
  const code = (await filesIn('src/database')).filter((file) => /\/migrat[^/]+$/.test(file));
  const hash = createHash('sha256');
  for (const file of [...migrations, ...code, 'node_modules/@electric-sql/pglite/package.json']) {
    hash.update(`${file}\0`).update(await readFile(join(ROOT, file)));
  }
  return join(CACHE, hash.digest('hex').slice(0, 16));
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .sort();
}
