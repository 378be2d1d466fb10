import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { OperationError } from '../model/errors.js';
import { codeOf, DATABASE_FOLDER, hasDatabase, markFilled } from './embedded/data-folder.js';
import { hasOwner } from './embedded/require-database.js';
import { prepareRunDirectory } from './embedded/run-directory.js';
import { unpackBackup } from './unpack-backup.js';

/** What an unfinished restore of a process is named. */
const UNFINISHED = /^restoring-(\d+)$/;

/**
 * Puts a backup into a data folder without a database. It gets its place when it is complete and checked,
 * and not before: a restore that is killed leaves no database, and one that fails no data folder that was not there.
 *
 * @param dataDirectory absolute path; it is made if it is missing, for its owner only.
 * @param name Of the source, for errors.
 * @returns how many files and folders were restored.
 * @throws OperationError where there is a database, or the backup cannot be used; what writing throws.
 */
export async function restoreEmbedded(
  dataDirectory: string,
  source: Readable,
  name: string,
): Promise<number> {
  const missing = [join(dataDirectory, 'run'), dataDirectory].filter((path) => !existsSync(path));
  try {
    await prepareRunDirectory(dataDirectory);
    return await restoreInto(dataDirectory, source, name);
  } catch (error) {
    // A folder that another process has begun to use is not empty, and stays.
    for (const path of missing) await rmdir(path).catch(() => {});
    throw error;
  }
}

async function restoreInto(dataDirectory: string, source: Readable, name: string): Promise<number> {
  await requireNoDatabase(dataDirectory);
  await removeUnfinished(dataDirectory);
  const unfinished = join(dataDirectory, `restoring-${process.pid}`);
  await mkdir(unfinished, { mode: 0o700 });
  try {
    const files = await unpackBackup(source, unfinished, name);
    if (!existsSync(join(unfinished, DATABASE_FOLDER, 'PG_VERSION'))) {
      throw new OperationError(`${name} holds no database.`);
    }
    // The samples are for a database that a start has made.
    await markFilled(dataDirectory);
    await putInPlace(join(unfinished, DATABASE_FOLDER), dataDirectory);
    return files;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function requireNoDatabase(dataDirectory: string): Promise<void> {
  if ((await hasDatabase(dataDirectory)) || (await hasOwner(dataDirectory))) throw occupied(dataDirectory);
}

/** No other process can be between the check and this: a folder that is not empty is never replaced. */
async function putInPlace(restored: string, dataDirectory: string): Promise<void> {
  try {
    await rename(restored, join(dataDirectory, DATABASE_FOLDER));
  } catch (error) {
    throw ['ENOTEMPTY', 'EEXIST'].includes(String(codeOf(error))) ? occupied(dataDirectory) : error;
  }
}

function occupied(dataDirectory: string): OperationError {
  return new OperationError(
    `There is a database in ${dataDirectory}, and nothing is restored over one: set DATA_DIR to a new folder, or stop the service and move ${join(dataDirectory, DATABASE_FOLDER)} away.`,
  );
}

/** What restores that were killed have left. */
async function removeUnfinished(dataDirectory: string): Promise<void> {
  for (const name of await readdir(dataDirectory)) {
    const processId = Number(UNFINISHED.exec(name)?.[1] ?? Number.NaN);
    if (processId === process.pid || (processId > 0 && !isRunning(processId))) {
      await rm(join(dataDirectory, name), { recursive: true, force: true });
    }
  }
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
