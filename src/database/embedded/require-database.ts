import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { NoDatabaseError } from '../../model/errors.js';
import { answers } from './answers.js';
import { claimName, highestClaim } from './claim.js';
import { codeOf, hasDatabase } from './data-folder.js';
import { unusable } from './run-directory.js';
import { shortSocketDirectory } from './short-path.js';

/**
 * Makes sure that there is a database in the data folder, or that a process is about to make one. It
 * writes nothing.
 *
 * @param dataDirectory absolute path.
 * @throws NoDatabaseError where there is none, OperationError where this user may not look.
 */
export async function requireDatabase(dataDirectory: string): Promise<void> {
  try {
    if ((await hasDatabase(dataDirectory)) || (await hasOwner(dataDirectory))) return;
  } catch (error) {
    if (!isAbsence(error)) throw unusable(dataDirectory, error);
  }
  throw new NoDatabaseError(
    `There is no database in ${dataDirectory}: run the command in the folder of the service's data, or set DATA_DIR.`,
  );
}

/** Whether a process has the database of a data folder open, or is about to make one. */
export async function hasOwner(dataDirectory: string): Promise<boolean> {
  const runDirectory = join(dataDirectory, 'run');
  if (!(await readdir(dataDirectory)).includes('run')) return false;
  const latest = await highestClaim(runDirectory);
  if (latest === 0) return false;
  const sockets = await shortSocketDirectory(runDirectory);
  try {
    return await answers(join(sockets.path, claimName(latest)));
  } finally {
    sockets.remove();
  }
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(String(codeOf(error)));
}
