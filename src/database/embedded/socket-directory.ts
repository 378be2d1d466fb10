import { lstatSync, mkdirSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperationError } from '../../model/errors.js';

/** The longest path of a Unix socket, in bytes, that every system takes (sun_path: 104 with its NUL). */
const LONGEST_PATH = 103;
const LONGEST_NAME = 'owner-0123456789abcdef';

/** A folder of sockets under a path that is short enough to bind and to connect to. */
export interface SocketDirectory {
  readonly path: string;
  /**
   * Makes the short path again if it is gone: folders for temporary files are cleaned.
   *
   * @throws Error if it cannot be made, or belongs to another user by now; its message is one of those that
   *   isDatabaseFailure() knows.
   */
  ensure(): void;
  /** Removes the short path; the folder itself stays. */
  remove(): void;
}

/**
 * The folder itself or, if its path is too long for a Unix socket, a symbolic link to it in a new temporary folder
 * that only its owner may enter. The link is removed when the process exits.
 *
 * @throws OperationError if no folder for temporary files is short enough or can be written.
 */
export async function shortSocketDirectory(directory: string): Promise<SocketDirectory> {
  if (fits(directory)) return { path: directory, ensure: () => {}, remove: () => {} };
  for (const temporary of [tmpdir(), '/tmp']) {
    if (!fits(join(temporary, 'dms-XXXXXX', 'run'))) continue;
    const parent = await mkdtemp(join(temporary, 'dms-')).catch(() => null);
    if (parent === null) continue;
    try {
      return linkTo(directory, parent);
    } catch {
      await rmdir(parent);
    }
  }
  throw new OperationError(
    `The path ${directory} is too long for a socket, and no folder for temporary files can be used instead. Set DATA_DIR to a shorter path, or TMPDIR to a folder that can be written.`,
  );
}

function fits(directory: string): boolean {
  return Buffer.byteLength(join(directory, LONGEST_NAME)) <= LONGEST_PATH;
}

/** @throws the system's error if the link cannot be made. */
function linkTo(directory: string, parent: string): SocketDirectory {
  const path = join(parent, 'run');
  symlinkSync(directory, path);
  const remove = () => {
    process.off('exit', remove);
    try {
      unlinkSync(path);
      rmdirSync(parent);
    } catch {
      // The folder for temporary files was cleaned.
    }
  };
  process.on('exit', remove);
  const ensure = () => {
    try {
      const found = lstatSync(parent, { throwIfNoEntry: false });
      if (found === undefined) mkdirSync(parent, { mode: 0o700 });
      else if (found.uid !== process.getuid?.()) throw new Error(`${parent} belongs to another user.`);
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) symlinkSync(directory, path);
    } catch (cause) {
      throw new Error(`The embedded database cannot be reached by ${path}.`, { cause });
    }
  };
  return { path, ensure, remove };
}
