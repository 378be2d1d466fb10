import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { errorCode, OperationError } from '../model/errors.js';
import { hasOwner } from './embedded/claim.js';
import { DATABASE_FOLDER, hasDatabase, markSeeded, unusable } from './embedded/data-folder.js';
import { unpackBackup } from './unpack-backup.js';

/** The folder that a process unpacks into. */
const UNFINISHED = /^restoring-(\d+)$/;

/**
 * Puts a backup into a data folder without a database. It is renamed to its place once all of it is unpacked and
 * checked: a restore that fails, or is killed, leaves no database.
 *
 * @param name of the source, for errors.
 * @returns the number of files and folders that were restored.
 * @throws OperationError if there is a database, or the backup cannot be used; what writing throws.
 */
export async function restoreEmbedded(
  dataDirectory: string,
  source: Readable,
  name: string,
): Promise<number> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 }).catch((error) => {
    throw unusable(dataDirectory, error);
  });
  if ((await hasDatabase(dataDirectory)) || (await hasOwner(dataDirectory))) throw occupied(dataDirectory);
  await removeUnfinished(dataDirectory);
  const unfinished = join(dataDirectory, `restoring-${process.pid}`);
  const restored = join(unfinished, DATABASE_FOLDER);
  await mkdir(unfinished, { mode: 0o700 });
  try {
    const files = await unpackBackup(source, unfinished, name);
    if (!existsSync(join(restored, 'PG_VERSION'))) {
      throw new OperationError(`${name} does not contain a database.`);
    }
    // Samples are only for a new database.
    await markSeeded(dataDirectory);
    await rename(restored, join(dataDirectory, DATABASE_FOLDER)).catch((error) => {
      // Another process has made a database since the check: rename() never replaces a folder that is not empty.
      throw ['ENOTEMPTY', 'EEXIST'].includes(errorCode(error)) ? occupied(dataDirectory) : error;
    });
    return files;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

function occupied(dataDirectory: string): OperationError {
  return new OperationError(
    `${dataDirectory} already has a database, which is never overwritten: set DATA_DIR to a new folder, or stop the service and move ${join(dataDirectory, DATABASE_FOLDER)} away.`,
  );
}

/** Removes what restores that were killed have left. */
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
    return errorCode(error) === 'EPERM';
  }
}
