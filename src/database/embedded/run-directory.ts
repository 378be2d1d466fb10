import { existsSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperationError } from '../../model/errors.js';
import { codeOf } from './data-folder.js';

/**
 * Makes sure of the data folder and of the folder `run` in it, which holds the sockets and which only
 * its owner may enter, and gives the path of `run`.
 *
 * @param dataDirectory absolute path.
 * @throws OperationError where they cannot be made or belong to another user.
 */
export async function prepareRunDirectory(dataDirectory: string): Promise<string> {
  const runDirectory = join(dataDirectory, 'run');
  try {
    await makeFolder(runDirectory);
    const { mode } = await stat(runDirectory);
    if ((mode & 0o077) !== 0) await chmod(runDirectory, 0o700);
  } catch (error) {
    throw unusable(dataDirectory, error);
  }
  return runDirectory;
}

/**
 * Makes a folder and those above it that are missing. Node.js' own recursive mkdir never ends where a
 * folder that exists says that it does not (`ENOENT`), as those of /proc do.
 */
async function makeFolder(path: string): Promise<void> {
  if (existsSync(path)) return;
  await makeFolder(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** What to do, by the code of the system's error. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'Run as the user that owns it, or set DATA_DIR to another folder',
  EPERM: 'Run as the user that owns it, or set DATA_DIR to another folder',
  ENOTDIR: 'It, or what it should be in, is a file: set DATA_DIR to a folder',
  ENOENT: 'It is gone or cannot be made: bring it back, or set DATA_DIR to another folder',
  ENOSPC: 'Make room on its disk, or set DATA_DIR to another folder',
};

/** What to tell the user of a data folder that this user may not use, or that cannot hold a database. */
export function unusable(dataDirectory: string, error: unknown): OperationError {
  const reason = error instanceof Error ? error.message : String(error);
  const advice = ADVICE[String(codeOf(error))] ?? 'Set DATA_DIR to another folder';
  return new OperationError(`The data folder ${dataDirectory} cannot be used: ${reason}. ${advice}.`, {
    cause: error,
  });
}
